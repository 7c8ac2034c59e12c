/* backends/opencl/program/probe.c - gives the helper a risky program and keeps its answer. */
#include "backends/opencl/program/probe.h"
#include "backends/opencl/driver/helper.h"
#include "backends/opencl/driver/helper/not_tried.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/driver/tiles.h"
#include "backends/opencl/program/compile.h"
#include "backends/opencl/source/source.h"
#include "base/error.h"
#include "base/memory.h"

#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { SECONDS = 20, SENTENCE = 160 };

/* Why this machine can't run AVX-512 code; NULL where the CPU and the system have AVX512F. */
static const char *avx512_missing(const tsri_opencl_facts *facts) {
    if (!facts->cpu)
        return "its instructions are for CPUs";
#if defined(__x86_64__)
    unsigned a, b, c, d, features, low = 0, high = 0;
    if (!__get_cpuid(1, &a, &b, &features, &d) || !(features & 1u << 27))
        return "the CPU has no XSAVE";
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (low & 0xe6) == 0xe6 && (b & 1u << 16)
               ? NULL
               : "the CPU or the system has no AVX-512";
#else
    return "made for x86-64";
#endif
}

/* The same for AVX512-VNNI, with AVX512BW, and for AVX512-BF16. */
static const char *vnni_missing(const tsri_opencl_facts *facts) {
    const char *missing = avx512_missing(facts);
#if defined(__x86_64__)
    unsigned a, b = 0, c = 0, d;
    if (!missing &&
        (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & 1u << 30) || !(c & 1u << 11)))
        return "the CPU has no AVX512-VNNI";
#endif
    return missing;
}

static const char *bf16_missing(const tsri_opencl_facts *facts) {
    const char *missing = avx512_missing(facts);
#if defined(__x86_64__)
    unsigned a = 0, b, c, d;
    if (!missing && (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & 1u << 5)))
        return "the CPU has no AVX512-BF16";
#endif
    return missing;
}

static const char *amx_missing(const tsri_opencl_facts *facts) {
    const char *missing = bf16_missing(facts);
#if defined(__x86_64__)
    enum { AMX_BF16 = 1u << 22, AMX_TILE = 1u << 24 };
    unsigned a, b, c, d = 0;
    if (!missing &&
        (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & AMX_BF16) || !(d & AMX_TILE)))
        return "the CPU has no AMX-BF16";
#endif
    return missing;
}

/* From now on this process may use tiles. */
static const char *amx_refused(void) {
    return tsri_opencl_allow_tiles()
               ? NULL
               : "the system does not let a process use the tiles of AMX (Linux does from 5.16 on)";
}

/* GPUs are asked by a trial, because not every driver with such instructions lists the extension. */
static const char *dot_missing(const tsri_opencl_facts *facts) {
    return facts->common.type == TSR_DEVICE_GPU || facts->common.int_dot
               ? NULL
               : "needs cl_khr_integer_dot_product, which the device does not have";
}

static const char *unit_missing(const tsri_opencl_facts *facts) {
    return facts->common.type == TSR_DEVICE_GPU ? NULL : "needs the matrix unit of a GPU";
}

static const struct {
    const char *file;                                       /* under cl/ */
    const char *(*missing)(const tsri_opencl_facts *facts); /* why no trial is needed, or NULL */
    bool newest_c;                                          /* as the field of the variants */
    const char *
        vendor; /* a pattern; other vendors' devices are spared the trial, which takes a process. NULL: all */
    bool
        has_plain; /* where the trial fails, a second one with UNIT_PLAIN tells whether that is right */
    const char *(*refused)(
        void); /* asks the system before the trial; NULL: there is nothing to ask */
} table[TSRI_OPENCL_PROBES] = {
/* clang-format off */
#define UNIT(name, whose) \
    .file = "probe/" name ".cl", .missing = unit_missing, .newest_c = true, .vendor = whose
    /* clang-format on */
    [TSRI_OPENCL_PROBE_VNNI] = {.file = "probe/vnni.cl", .missing = vnni_missing},
    [TSRI_OPENCL_PROBE_BF16] = {.file = "probe/bf16.cl", .missing = bf16_missing},
    [TSRI_OPENCL_PROBE_AMX] = {.file = "probe/amx.cl",
                               .missing = amx_missing,
                               .refused = amx_refused},
    [TSRI_OPENCL_PROBE_DOT] = {.file = "probe/dot.cl", .missing = dot_missing, .newest_c = true},
    [TSRI_OPENCL_PROBE_MMA] = {UNIT("mma", "*NVIDIA*"), .has_plain = true},
    [TSRI_OPENCL_PROBE_MFMA] = {UNIT("mfma", "A*M*D*")},
    [TSRI_OPENCL_PROBE_WMMA11] = {UNIT("wmma11", "A*M*D*")},
    [TSRI_OPENCL_PROBE_WMMA12] = {UNIT("wmma12", "A*M*D*")},
    [TSRI_OPENCL_PROBE_DPAS8] = {UNIT("dpas8", "*Intel*")},
    [TSRI_OPENCL_PROBE_DPAS16] = {UNIT("dpas16", "*Intel*")},
};

/* Starts the helper with the drivers that this process has, and gives it the source. */
static bool start(const tsr_dev *dev, tsri_opencl_probe probe, const char *path,
                  const tsri_bytes *source, tsri_opencl_helper *helper) {
    const tsr_facts *facts = &dev->facts.common;
    const char *const argv[] = {"probe", facts->platform, facts->name,
                                tsri_opencl_program_options(dev, table[probe].newest_c), NULL};
    tsri_bytes text = {0};
    const char **env = NULL;
    const bool started =
        tsri_opencl_helper_environment(dev->state->vendors, NULL, &text, &env) == TSR_OK &&
        tsri_opencl_helper_start(helper, path, argv, env, source->data, source->size);
    free(env);
    tsri_base_bytes_clear(&text);
    return started;
}

/* Puts what the helper found into `line`; false where another trial may end otherwise. The system
 * kills processes where memory runs out. */
static bool conclude(const tsri_opencl_helper *helper, char *line, size_t size) {
    const char *said = helper->said.data ? helper->said.data : "";
    const bool crashed = !helper->late && helper->child.signal,
               killed = crashed && helper->child.signal == SIGKILL;
    if (helper->late)
        snprintf(line, size, "its instructions were tried for %d s without an answer", SECONDS);
    else if (*said)
        snprintf(line, size, "%.*s", (int)strcspn(said, "\n"), said);
    else
        snprintf(line, size, "its instructions were tried in a process of their own, which %s",
                 killed    ? "was killed"
                 : crashed ? "crashed"
                           : "gave no answer");
    return !helper->late && !killed && (crashed || helper->child.code != TSRI_OPENCL_NOT_TRIED);
}

/* Puts the helper's answer into `line`; false where it gave none, and `line` says why. */
static bool ask(const tsr_dev *dev, tsri_opencl_probe probe, const tsri_bytes *source, char *line,
                size_t size) {
    const tsr_facts *facts = &dev->facts.common;
    char path[PATH_MAX];
    tsri_opencl_helper helper;
    const char *found = tsri_opencl_helper_find(path);
    if (!found || !start(dev, probe, path, source, &helper)) {
        snprintf(line, size, "%s",
                 found
                     ? "the helper that tries its instructions can't be started"
                     : "the helper that tries its instructions, libexec/tessera/probe, is missing");
        return false;
    }
    const bool stopped = tsri_opencl_helper_finish(&helper, dev->state, SECONDS) != TSR_OK;
    const bool answered = !stopped && conclude(&helper, line, size);
    if (stopped)
        snprintf(line, size, "this run was stopped while its instructions were tried");
    else if (!answered)
        tsri_opencl_log(dev->state, TSR_LOG_WARNING,
                        "%s on %s/%s gave no answer (%s), so slower kernels are used; the next "
                        "start tries again",
                        table[probe].file, facts->platform, facts->name, line);
    tsri_opencl_helper_clear(&helper);
    return answered;
}

static const char plain_defines[] = "#define UNIT_PLAIN 1\n";

static tsr_status assemble(const tsr_dev *dev, const char *file, bool plain, tsri_bytes *source) {
    const char *folder = tsri_opencl_kernel_folder(dev);
    TRY(tsri_opencl_source_common(folder, source));
    TRY(tsri_base_bytes_printf(source, "#define INSTANCE probe\n#define KERNEL probe\n%s",
                               plain ? plain_defines : ""));
    return tsri_opencl_source_file(folder, file, source);
}

/* Gets the answer, from the cache or from the helper: "pass", or a sentence. */
static tsr_status settle(const tsr_dev *dev, tsri_opencl_probe probe, bool plain, char *line,
                         size_t size) {
    const char *given = getenv("TESSERA_PROBE");
    const bool cached = !(given && *given) && !tsri_opencl_kernel_folder(dev);
    tsri_bytes source = {0}, known = {0};
    tsri_opencl_key key;
    bool found = false;
    tsr_status status = assemble(dev, table[probe].file, plain, &source);
    if (status == TSR_OK)
        status = tsri_opencl_key_of(dev, "probe", source.data, source.size, &key);
    if (status == TSR_OK && cached)
        status = tsri_opencl_cache_load(dev->state, &key, "test", &known, &found);
    if (status == TSR_OK && found)
        snprintf(line, size, "%.*s", (int)known.size, known.data ? known.data : "");
    else if (status == TSR_OK && ask(dev, probe, &source, line, size) && cached)
        tsri_opencl_cache_save(dev->state, &key, "test", line, strlen(line));
    tsri_base_bytes_clear(&source);
    tsri_base_bytes_clear(&known);
    return status;
}

/* Tries the probe and, where it fails, its plain form; the reason that counts is the first one's. */
static bool try_forms(const tsr_dev *dev, tsri_opencl_probe probe, char *line) {
    char plain[SENTENCE] = "";
    if (settle(dev, probe, false, line, SENTENCE) != TSR_OK)
        return false;
    if (!strcmp(line, "pass") || !table[probe].has_plain)
        return true;
    if (settle(dev, probe, true, plain, sizeof plain) == TSR_OK && !strcmp(plain, "pass")) {
        dev->probes->plain[probe] = true;
        snprintf(line, SENTENCE, "%s", plain);
    }
    return true;
}

/* Notes the answer: NULL or "pass", or why the probe did not pass. */
static void note(const tsr_dev *dev, tsri_opencl_probe probe, const char *answer) {
    tsri_opencl_probes *probes = dev->probes;
    char *line = probes->why[probe];
    const bool passed = !answer || !strcmp(answer, "pass");
    probes->asked[probe] = true;
    snprintf(line, SENTENCE, "%s", passed ? "" : answer);
    tsri_opencl_log(dev->state, TSR_LOG_DEBUG, "%s on %s/%s: %s%s", table[probe].file,
                    dev->facts.common.platform, dev->facts.common.name, *line ? line : "passed",
                    probes->plain[probe] ? ", without those that read operands" : "");
}

bool tsri_opencl_probe_refused(const tsr_dev *dev, tsri_opencl_probe probe, const char **why) {
    tsri_opencl_probes *probes = dev->probes;
    if (!probes->looked[probe]) {
        const char *missing = table[probe].missing(&dev->facts);
        probes->looked[probe] = true;
        if (!missing && table[probe].vendor &&
            fnmatch(table[probe].vendor, dev->facts.common.vendor, 0))
            missing = "its instructions are another vendor's";
        if (missing)
            note(dev, probe, missing);
    }
    if (*probes->why[probe])
        *why = probes->why[probe];
    return *probes->why[probe];
}

bool tsri_opencl_probe_passed(const tsr_dev *dev, tsri_opencl_probe probe, const char **why) {
    char answer[SENTENCE] = "";
    if (tsri_opencl_probe_refused(dev, probe, why))
        return false;
    if (!dev->probes->asked[probe]) {
        const char *refused = table[probe].refused ? table[probe].refused() : NULL;
        const bool tried = !refused && try_forms(dev, probe, answer);
        note(dev, probe,
             refused ? refused
             : tried ? answer
                     : "its instructions could not be tried");
    }
    return !tsri_opencl_probe_refused(dev, probe, why);
}

const char *tsri_opencl_probe_defines(const tsr_dev *dev, tsri_opencl_probe probe) {
    return dev->probes->plain[probe] ? plain_defines : "";
}
