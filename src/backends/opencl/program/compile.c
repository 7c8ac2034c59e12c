/* backends/opencl/program/compile.c - makes a program of the driver from a source: compiled, or
 * from the cache of binaries. */
#include "backends/opencl/program/compile.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/driver/host.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Adds what a CPU device's code depends on and the driver does not report. */
static void add_cpu(tsri_hash *hash) {
    char line[4096];
    FILE *file = fopen("/proc/cpuinfo", "re");
    bool model = false, flags = false;
    while (file && (!model || !flags) && fgets(line, sizeof line, file)) {
        const bool is_model = !strncmp(line, "model name", 10),
                   is_flags = !strncmp(line, "flags", 5);
        if ((is_model && !model) || (is_flags && !flags))
            tsri_base_hash_text(hash, line);
        model |= is_model;
        flags |= is_flags;
    }
    if (file)
        fclose(file);
}

const char *tsri_opencl_options_of(const tsri_opencl_programs *programs,
                                   const tsri_opencl_instance *instance) {
    return programs->options[tsri_opencl_instance_newest_c(instance)];
}

tsr_status tsri_opencl_make_key(const tsri_opencl_programs *programs, const char *options,
                                const char *kind, const char *text, size_t n,
                                tsri_opencl_key *key) {
    const tsri_opencl_found *found = programs->dev->found;
    const tsr_facts *facts = &found->facts.common;
    const char *const parts[] = {"tessera-opencl-1",
                                 kind,
                                 programs->dev->state->host->version,
                                 options,
                                 facts->platform,
                                 found->platform_version,
                                 facts->name,
                                 facts->vendor,
                                 facts->driver,
                                 facts->version,
                                 facts->c_version,
                                 found->extensions};
    tsri_hash *hash = NULL;
    TRY(tsri_base_hash_begin(&hash));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        tsri_base_hash_text(hash, parts[i] ? parts[i] : "");
    tsri_base_hash_add(hash, &found->vendor_id, sizeof found->vendor_id);
    if (facts->type == TSR_DEVICE_CPU || facts->emulator)
        add_cpu(hash);
    tsri_base_hash_add(hash, programs->variables.data, programs->variables.size);
    tsri_base_hash_add(hash, text, n);
    tsri_base_hash_end(&hash, key->digest);
    return TSR_OK;
}

tsr_status tsri_opencl_key_of(const tsr_dev *dev, const char *kind, const char *text, size_t n,
                              tsri_opencl_key *key) {
    return tsri_opencl_make_key(dev->programs, dev->programs->options[0], kind, text, n, key);
}

const char *tsri_opencl_kernel_folder(const tsr_dev *dev) {
    return dev->programs->folder;
}

const char *tsri_opencl_program_options(const tsr_dev *dev, bool newest_c) {
    return dev->programs->options[newest_c];
}

/* The beginning of the build log, for the message that refuses a variant; new memory. */
static char *build_log(cl_program program, cl_device_id id) {
    size_t size = 0;
    char *log = NULL;
    if (clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS ||
        tsri_base_new(size + 1, 1, &log) != TSR_OK)
        return NULL;
    if (size &&
        clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, log, NULL) != CL_SUCCESS)
        log[0] = 0;
    if (size > TSRI_OPENCL_LOG_LIMIT)
        log[TSRI_OPENCL_LOG_LIMIT] = 0;
    size_t n = strlen(log);
    while (n && isspace((unsigned char)log[n - 1]))
        log[--n] = 0;
    return log;
}

/* Creates the kernel of every instance; some drivers find a kernel's faults only then. */
static cl_int try_kernels(cl_program program, tsri_opencl_instance *const *instances, size_t n,
                          const char **culprit) {
    cl_int code = CL_SUCCESS;
    for (size_t i = 0; i < n && code == CL_SUCCESS; i++) {
        cl_kernel kernel = clCreateKernel(program, instances[i]->kernel, &code);
        if (kernel)
            clReleaseKernel(kernel);
        else
            *culprit = instances[i]->kernel;
    }
    return code;
}

static bool keeps_binaries(const tsri_opencl_programs *programs) {
    return !programs->folder && !(programs->dev->found->effects & TSRI_OPENCL_NO_BINARIES);
}

static cl_program from_binary(const tsri_opencl_programs *programs, const char *options,
                              const tsri_bytes *binary) {
    const tsr_dev *dev = programs->dev;
    const unsigned char *data = (const unsigned char *)binary->data;
    cl_int code = CL_SUCCESS, status = CL_SUCCESS;
    cl_program program =
        clCreateProgramWithBinary(dev->context, 1, &dev->id, &binary->size, &data, &status, &code);
    if (program && (code != CL_SUCCESS || status != CL_SUCCESS ||
                    clBuildProgram(program, 1, &dev->id, options, NULL, NULL) != CL_SUCCESS)) {
        clReleaseProgram(program);
        program = NULL;
    }
    return program;
}

static void save_binary(const tsri_opencl_programs *programs, const tsri_opencl_key *key,
                        cl_program program) {
    size_t size = 0;
    unsigned char *binary = NULL;
    if (!keeps_binaries(programs)) {
        /* Stores the key only, by which a later run is told from a first one. */
        if (!programs->folder)
            tsri_opencl_cache_save(programs->dev->state, key, "bin", "", 0);
        return;
    }
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) !=
            CL_SUCCESS ||
        !size || tsri_base_new(size, 1, &binary) != TSR_OK)
        return;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
        tsri_opencl_cache_save(programs->dev->state, key, "bin", binary, size);
    free(binary);
}

/* The program of a cached binary; NULL where there is none or its driver does not take it any
 * more. */
static cl_program reuse(const tsri_opencl_programs *programs, const tsri_bytes *binary,
                        tsri_opencl_instance *const *instances, size_t n) {
    cl_program program =
        binary->size ? from_binary(programs, tsri_opencl_options_of(programs, instances[0]), binary)
                     : NULL;
    const char *culprit;
    if (program && try_kernels(program, instances, n, &culprit) == CL_SUCCESS)
        return program;
    if (program)
        clReleaseProgram(program);
    if (binary->size)
        tsri_opencl_log(programs->dev->state, TSR_LOG_WARNING,
                        "%s/%s refuses the cached program that it gave; it is built again",
                        programs->dev->facts.common.platform, programs->dev->facts.common.name);
    return NULL;
}

/* *wrong: the compiler refuses the source. */
static tsr_status compile(tsr_dev *dev, const tsri_bytes *source, const char *options,
                          tsri_opencl_instance *const *instances, size_t n, cl_program *out,
                          char **log, bool *wrong) {
    const char *text = source->data, *culprit = "clBuildProgram";
    cl_int code = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(dev->context, 1, &text, &source->size, &code);
    if (!program)
        return tsri_opencl_fail_create(dev, code, "clCreateProgramWithSource");
    code = clBuildProgram(program, 1, &dev->id, options, NULL, NULL);
    *wrong = code == CL_BUILD_PROGRAM_FAILURE;
    if (code == CL_SUCCESS)
        code = try_kernels(program, instances, n, &culprit);
    else
        *log = build_log(program, dev->id);
    if (code == CL_SUCCESS) {
        *out = program;
        return TSR_OK;
    }
    clReleaseProgram(program);
    /* LLVM catches a signal before we do and removes what it was writing: no kernel
     * caused this failure. */
    if (tsri_opencl_stops(dev->state))
        return tsri_base_fail(TSR_E_CANCELLED, "stopped while building kernels");
    /* Whatever the code: drivers say CL_OUT_OF_RESOURCES of a kernel that is too much for them. Where
     * the device was lost, its next call fails. */
    if (!*log || !**log) {
        char line[160];
        snprintf(line, sizeof line, "%s: %s (%d)", culprit, tsri_opencl_code_name(code), code);
        free(*log);
        *log = tsri_base_copy_text(line, strlen(line));
    }
    return *log ? TSR_OK : TSR_E_HOST_MEMORY;
}

tsr_status tsri_opencl_compile(tsr_dev *dev, const tsri_bytes *source, const char *options,
                               tsri_opencl_instance *const *instances, size_t n, cl_program *out,
                               char **log) {
    bool wrong;
    return compile(dev, source, options, instances, n, out, log, &wrong);
}

/* *log: why the program of this key does not build, where an earlier start found that out. */
static tsr_status recall_failure(const tsr_dev *dev, const tsri_opencl_key *key, char **log) {
    tsri_bytes text = {0};
    bool found = false;
    char *why = NULL;
    tsr_status status = tsri_opencl_cache_load(dev->state, key, "fail", &text, &found);
    if (status == TSR_OK && found && text.data &&
        strtoll(text.data, &why, 10) > (long long)time(NULL) && *why == '\n') {
        *log = tsri_base_copy_text(why + 1, strlen(why + 1));
        status = *log ? TSR_OK : TSR_E_HOST_MEMORY;
    }
    tsri_base_bytes_clear(&text);
    return status;
}

/* For a day: a full disk, say, may have been the reason. */
static void keep_failure(const tsr_dev *dev, const tsri_opencl_key *key, const char *log) {
    tsri_bytes text = {0};
    const long long until = (long long)time(NULL) + TSRI_OPENCL_TRIED_AGAIN;
    if (tsri_base_bytes_printf(&text, "%lld\n%s", until, log) == TSR_OK)
        tsri_opencl_cache_save(dev->state, key, "fail", text.data, text.size);
    tsri_base_bytes_clear(&text);
}

void tsri_opencl_announce(tsr_dev *dev, tsri_opencl_instance *const *instances, size_t n) {
    tsri_opencl_programs *programs = dev->programs;
    tsri_opencl_log(dev->state, programs->announced ? TSR_LOG_DEBUG : TSR_LOG_INFO,
                    "building %zu kernel%s for %s/%s (first run; cached afterwards)", n,
                    n == 1 ? "" : "s", dev->facts.common.platform, dev->facts.common.name);
    programs->announced = true;
    for (size_t i = 0; i < n; i++)
        tsri_opencl_log(dev->state, TSR_LOG_DEBUG, "building %s", instances[i]->name);
}

/* A program with the kernels of the n instances; users are told of them where `tells`. *known: that
 * it does not build was known before. */
static tsr_status make(tsri_opencl_programs *programs, const tsri_bytes *source, bool tells,
                       tsri_opencl_instance *const *instances, size_t n, cl_program *out,
                       char **log, bool *known) {
    tsr_dev *dev = programs->dev;
    tsri_bytes binary = {0};
    tsri_opencl_key key;
    bool found = false, wrong = false;
    const char *options = tsri_opencl_options_of(programs, instances[0]);
    tsr_status status =
        tsri_opencl_make_key(programs, options, "program", source->data, source->size, &key);
    if (status == TSR_OK && !programs->folder)
        status = tsri_opencl_cache_load(dev->state, &key, "bin", &binary, &found);
    *out = status == TSR_OK && found ? reuse(programs, &binary, instances, n) : NULL;
    if (status == TSR_OK && !*out && !programs->folder)
        status = recall_failure(dev, &key, log);
    *known = *log != NULL;
    if (status == TSR_OK && !*out && !*known) {
        if (!found && tells)
            tsri_opencl_announce(dev, instances, n);
        status = compile(dev, source, options, instances, n, out, log, &wrong);
        if (status == TSR_OK && *out && (!found || binary.size))
            save_binary(programs, &key, *out);
        if (status == TSR_OK && wrong && !programs->folder)
            keep_failure(dev, &key, *log);
    }
    tsri_base_bytes_clear(&binary);
    return status;
}

tsr_status tsri_opencl_make_program(tsri_opencl_programs *programs, const tsri_bytes *source,
                                    tsri_opencl_instance *const *instances, size_t n,
                                    cl_program *out, char **log, bool *known) {
    return make(programs, source, true, instances, n, out, log, known);
}

tsr_status tsri_opencl_is_cached(const tsr_dev *dev, const tsri_bytes *source, bool *cached) {
    tsri_bytes binary = {0};
    tsri_opencl_key key;
    char *log = NULL;
    TRY(tsri_opencl_key_of(dev, "program", source->data, source->size, &key));
    tsr_status status = tsri_opencl_cache_load(dev->state, &key, "bin", &binary, cached);
    if (status == TSR_OK && !*cached)
        status = recall_failure(dev, &key, &log);
    *cached |= log != NULL;
    free(log);
    tsri_base_bytes_clear(&binary);
    return status;
}

tsr_status tsri_opencl_build_text(tsr_dev *dev, const tsri_bytes *source, const char *kernel,
                                  cl_program *out) {
    static const tsri_opencl_variant variant = {.name = "chain"};
    tsri_opencl_instance whole = {.variant = &variant, .name = (char *)kernel}, *only = &whole;
    char *log = NULL;
    bool known;
    snprintf(whole.kernel, sizeof whole.kernel, "%s", kernel);
    *out = NULL;
    const tsr_status status = make(dev->programs, source, false, &only, 1, out, &log, &known);
    if (status == TSR_OK && !*out)
        tsri_opencl_log(
            dev->state, TSR_LOG_WARNING,
            "%s/%s does not build many kernels as one; each kernel is launched by itself: %s",
            dev->facts.common.platform, dev->facts.common.name, log ? log : "");
    free(log);
    return status;
}
