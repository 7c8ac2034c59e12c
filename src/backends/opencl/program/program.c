/* backends/opencl/program/program.c - the instances that a device has so far, assembled into one
 * source and built as one program. */
#include "backends/opencl/program/program.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/program/constants.h"
#include "backends/opencl/source/source.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_LIMIT = 1500 };

struct tsri_opencl_programs {
    tsr_dev *dev;
    const char *options[2]; /* of OpenCL C 1.2, and of the newest that the device has */
    const char *folder;     /* TESSERA_KERNEL_PATH, or NULL: the embedded files */
    bool announced;         /* the user was told that kernels are being built; once is enough */
    size_t n, capacity, n_programs, programs_capacity;
    tsri_opencl_instance **instances;
    cl_program *programs;
};

tsr_status tsri_opencl_programs_create(tsr_dev *dev, tsri_opencl_programs **out) {
    const char *folder = getenv("TESSERA_KERNEL_PATH");
    TRY(tsri_base_new(1, sizeof **out, out));
    (*out)->dev = dev;
    /* Correctly rounded, a quotient is the same in a lane of a vector and in what is left over. */
    static const char *const options[][2] = {
        {"-cl-std=CL1.2", "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"},
        {"-cl-std=CL2.0", "-cl-std=CL2.0 -cl-fp32-correctly-rounded-divide-sqrt"},
        {"-cl-std=CL3.0", "-cl-std=CL3.0 -cl-fp32-correctly-rounded-divide-sqrt"}};
    const int version = dev->found->version, newest = version < 200 ? 0 : version < 300 ? 1 : 2;
    (*out)->options[0] = version < 102 ? "" : options[0][dev->found->exact_division];
    (*out)->options[1] = version < 102 ? "" : options[newest][dev->found->exact_division];
    (*out)->folder = folder && *folder ? folder : NULL;
    return TSR_OK;
}

void tsri_opencl_programs_destroy(tsri_opencl_programs *programs) {
    if (!programs)
        return;
    for (size_t i = 0; i < programs->n; i++)
        tsri_opencl_instance_free(programs->instances[i]);
    for (size_t i = 0; i < programs->n_programs; i++)
        clReleaseProgram(programs->programs[i]);
    free(programs->instances);
    free(programs->programs);
    free(programs);
}

/* The listed instance of that name, of the row or, where not NULL, of the stage; NULL: none yet. */
static tsri_opencl_instance *find_instance(const tsri_opencl_programs *programs,
                                           const tsri_opencl_row *row,
                                           const tsri_opencl_stage *stage, const char *name) {
    for (size_t i = 0; i < programs->n; i++) {
        tsri_opencl_instance *instance = programs->instances[i];
        if (instance->stage == stage && (stage || instance->row == row) &&
            !strcmp(instance->name, name))
            return instance;
    }
    return NULL;
}

/* The listed instance with these constants, or a new one. Clears them. */
static tsr_status instance_with(tsri_opencl_programs *programs, const tsri_opencl_row *row,
                                const tsri_opencl_stage *stage, tsr_status status,
                                tsri_opencl_defines *defines, const tsri_bytes *tunables,
                                tsri_opencl_instance **out) {
    tsri_bytes name = {0};
    if (status == TSR_OK)
        status = tsri_opencl_defines_name(row, stage, defines, &name);
    *out = status == TSR_OK ? find_instance(programs, row, stage, name.data) : NULL;
    if (status == TSR_OK && !*out)
        status = tsri_base_grow(&programs->instances, &programs->capacity, programs->n + 1,
                                sizeof *programs->instances);
    if (status == TSR_OK && !*out) {
        status = tsri_opencl_instance_new(programs->dev->bundle, row, stage, defines, tunables,
                                          name.data, out);
        if (status == TSR_OK)
            programs->instances[programs->n++] = *out;
    }
    tsri_opencl_defines_clear(defines);
    tsri_base_bytes_clear(&name);
    return status;
}

tsr_status tsri_opencl_instance_of(tsr_dev *dev, const tsri_opencl_row *row, const tsr_op *op,
                                   const tsri_opencl_wish *wish, tsri_opencl_instance **out) {
    tsri_opencl_defines defines;
    tsri_bytes tunables = {0};
    tsr_status status = tsri_opencl_defines_of(dev, row, op, wish, &defines, &tunables);
    status = instance_with(dev->programs, row, NULL, status, &defines, &tunables, out);
    if (status == TSR_OK && row->before && !(*out)->before) {
        status = tsri_opencl_defines_before(row, op, &(*out)->values, &defines);
        status = instance_with(dev->programs, row, row->before, status, &defines, &(tsri_bytes){0},
                               &(*out)->before);
    }
    tsri_base_bytes_clear(&tunables);
    return status;
}

/* --- building --- */

tsr_status tsri_opencl_instance_source(const tsr_dev *dev, const tsri_opencl_instance *instance,
                                       tsri_bytes *source) {
    TRY(tsri_base_bytes_printf(source, "#define INSTANCE %s\n#define KERNEL %s\n%s",
                               instance->kernel, instance->kernel, instance->define));
    TRY(tsri_opencl_source_file(dev->programs->folder, tsri_opencl_instance_file(instance),
                                source));
    return tsri_base_bytes_printf(source, "#undef INSTANCE\n#undef KERNEL\n%s", instance->undefine);
}

static tsr_status assemble(const tsri_opencl_programs *programs,
                           tsri_opencl_instance *const *instances, size_t n, tsri_bytes *source) {
    TRY(tsri_opencl_source_common(programs->folder, source));
    for (size_t i = 0; i < n; i++)
        TRY(tsri_opencl_instance_source(programs->dev, instances[i], source));
    return TSR_OK;
}

/* What a CPU device's code depends on beyond what the driver says. */
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

/* Stages, which rows of both kinds share, are OpenCL C 1.2. */
static bool newest_c(const tsri_opencl_instance *instance) {
    return instance->row->newest_c && !instance->stage;
}

static const char *options_of(const tsri_opencl_programs *programs,
                              const tsri_opencl_instance *instance) {
    return programs->options[newest_c(instance)];
}

static tsr_status make_key(const tsri_opencl_programs *programs, const char *options,
                           const char *kind, const char *text, size_t n, tsri_opencl_key *key) {
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
    tsri_base_hash_add(hash, text, n);
    tsri_base_hash_end(&hash, key->digest);
    return TSR_OK;
}

tsr_status tsri_opencl_key_of(const tsr_dev *dev, const char *kind, const char *text, size_t n,
                              tsri_opencl_key *key) {
    return make_key(dev->programs, dev->programs->options[0], kind, text, n, key);
}

const char *tsri_opencl_kernel_folder(const tsr_dev *dev) {
    return dev->programs->folder;
}

/* The build log's beginning, for the sentence that refuses a row. New memory. */
static char *build_log(cl_program program, cl_device_id id) {
    size_t size = 0;
    char *log = NULL;
    if (clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS ||
        tsri_base_new(size + 1, 1, &log) != TSR_OK)
        return NULL;
    if (size &&
        clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, log, NULL) != CL_SUCCESS)
        log[0] = 0;
    if (size > LOG_LIMIT)
        log[LOG_LIMIT] = 0;
    size_t n = strlen(log);
    while (n && isspace((unsigned char)log[n - 1]))
        log[--n] = 0;
    return log;
}

/* Every instance's kernel can be made; some drivers find a kernel's faults only then. */
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

/* pocl and NVIDIA keep caches of their own. Measured on pocl 3.1, a decoder's 15 kernels: asking
 * for its binary compiles every kernel once more for any work-group (3.8 against 2.0 s of CPU at
 * the first run), and a later start takes 31 instead of 65 ms. */
static bool keeps_binaries(const tsri_opencl_programs *programs) {
    const tsri_opencl_found *found = programs->dev->found;
    return !programs->folder && !found->nvidia && !found->oclgrind && !found->pocl;
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
        /* The key alone: a first run is told from a later one. */
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

/* The program of a cached binary, or NULL: none, or its driver doesn't take it any more. */
static cl_program reuse(const tsri_opencl_programs *programs, const tsri_bytes *binary,
                        tsri_opencl_instance *const *instances, size_t n) {
    cl_program program =
        binary->size ? from_binary(programs, options_of(programs, instances[0]), binary) : NULL;
    const char *culprit;
    if (program && try_kernels(program, instances, n, &culprit) == CL_SUCCESS)
        return program;
    if (program)
        clReleaseProgram(program);
    if (binary->size)
        tsri_opencl_log(programs->dev->state, TSR_LOG_WARNING,
                        "%s/%s refuses its own cached program; it is built again",
                        programs->dev->facts.common.platform, programs->dev->facts.common.name);
    return NULL;
}

tsr_status tsri_opencl_compile(tsr_dev *dev, const tsri_bytes *source, const char *options,
                               tsri_opencl_instance *const *instances, size_t n, cl_program *out,
                               char **log) {
    const char *text = source->data, *culprit = "clBuildProgram";
    cl_int code = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(dev->context, 1, &text, &source->size, &code);
    if (!program)
        return tsri_opencl_fail_create(dev, code, "clCreateProgramWithSource");
    code = clBuildProgram(program, 1, &dev->id, options, NULL, NULL);
    if (code == CL_SUCCESS)
        code = try_kernels(program, instances, n, &culprit);
    else
        *log = build_log(program, dev->id);
    if (code == CL_SUCCESS) {
        *out = program;
        return TSR_OK;
    }
    clReleaseProgram(program);
    /* LLVM catches a signal before us, and removes what it was writing: no kernel is to blame. */
    if (tsri_opencl_stops(dev->state))
        return tsri_base_fail(TSR_E_CANCELLED, "stopped while building kernels");
    if (code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES)
        return tsri_opencl_fail(dev, code, culprit);
    if (!*log || !**log) {
        char line[160];
        snprintf(line, sizeof line, "%s: %s (%d)", culprit, tsri_opencl_code_name(code),
                 code);
        free(*log);
        *log = tsri_base_copy_text(line, strlen(line));
    }
    return *log ? TSR_OK : TSR_E_HOST_MEMORY;
}

static void announce(tsri_opencl_programs *programs, tsri_opencl_instance *const *instances,
                     size_t n) {
    const tsr_dev *dev = programs->dev;
    tsri_opencl_log(dev->state, programs->announced ? TSR_LOG_DEBUG : TSR_LOG_INFO,
                    "building %zu kernel%s for %s/%s (first run; cached afterwards)", n,
                    n == 1 ? "" : "s", dev->facts.common.platform, dev->facts.common.name);
    programs->announced = true;
    for (size_t i = 0; i < n; i++)
        tsri_opencl_log(dev->state, TSR_LOG_DEBUG, "building %s", instances[i]->name);
}

/* A source's program, from the cache or built. TSR_OK with *out NULL: as tsri_opencl_compile. */
static tsr_status make_program(tsri_opencl_programs *programs, const tsri_bytes *source,
                               tsri_opencl_instance *const *instances, size_t n, cl_program *out,
                               char **log) {
    tsri_bytes binary = {0};
    tsri_opencl_key key;
    bool found = false;
    const char *options = options_of(programs, instances[0]);
    tsr_status status = make_key(programs, options, "program", source->data, source->size, &key);
    if (status == TSR_OK && !programs->folder)
        status = tsri_opencl_cache_load(programs->dev->state, &key, "bin", &binary, &found);
    *out = status == TSR_OK && found ? reuse(programs, &binary, instances, n) : NULL;
    if (status == TSR_OK && !*out) {
        if (!found)
            announce(programs, instances, n);
        status = tsri_opencl_compile(programs->dev, source, options, instances, n, out, log);
        if (status == TSR_OK && *out && (!found || binary.size))
            save_binary(programs, &key, *out);
    }
    tsri_base_bytes_clear(&binary);
    return status;
}

/* One program of the instances. */
static tsr_status assemble_program(tsri_opencl_programs *programs,
                                   tsri_opencl_instance *const *instances, size_t n,
                                   cl_program *out, char **log) {
    tsri_bytes source = {0};
    tsr_status status = assemble(programs, instances, n, &source);
    if (status == TSR_OK)
        status = make_program(programs, &source, instances, n, out, log);
    tsri_base_bytes_clear(&source);
    return status;
}

tsr_status tsri_opencl_build_text(tsr_dev *dev, const tsri_bytes *source, const char *kernel,
                                  cl_program *out) {
    static const tsri_opencl_row row = {.name = "chain"};
    tsri_opencl_instance whole = {.row = &row, .name = (char *)kernel}, *only = &whole;
    char *log = NULL;
    snprintf(whole.kernel, sizeof whole.kernel, "%s", kernel);
    *out = NULL;
    const tsr_status status = make_program(dev->programs, source, &only, 1, out, &log);
    if (status == TSR_OK && !*out)
        tsri_opencl_log(dev->state, TSR_LOG_WARNING,
                        "%s/%s does not build many kernels as one; each is launched: %s",
                        dev->facts.common.platform, dev->facts.common.name, log ? log : "");
    free(log);
    return status;
}

static tsr_status adopt(tsri_opencl_programs *programs, cl_program program,
                        tsri_opencl_instance *const *instances, size_t n) {
    const tsr_status status = tsri_base_grow(&programs->programs, &programs->programs_capacity,
                                             programs->n_programs + 1, sizeof *programs->programs);
    if (status != TSR_OK) {
        clReleaseProgram(program);
        return status;
    }
    programs->programs[programs->n_programs++] = program;
    for (size_t i = 0; i < n; i++) {
        instances[i]->program = program;
        instances[i]->state = TSRI_OPENCL_BUILT;
    }
    return TSR_OK;
}

static tsr_status build_alone(tsri_opencl_programs *programs, tsri_opencl_instance *instance) {
    cl_program program = NULL;
    char *log = NULL, why[LOG_LIMIT + 64];
    tsr_status status = assemble_program(programs, &instance, 1, &program, &log);
    if (status == TSR_OK && program)
        status = adopt(programs, program, &instance, 1);
    else if (status == TSR_OK) {
        snprintf(why, sizeof why, "does not build: %s", log ? log : "");
        status = tsri_opencl_instance_refuse(instance, why);
        tsri_opencl_log(programs->dev->state, TSR_LOG_WARNING,
                        "%s does not build on %s/%s; another row is used", instance->name,
                        programs->dev->facts.common.platform, programs->dev->facts.common.name);
        tsri_opencl_log(programs->dev->state, TSR_LOG_DEBUG, "%s: %s", instance->name, why);
    }
    free(log);
    return status;
}

static int by_name(const void *a, const void *b) {
    const tsri_opencl_instance *x = *(tsri_opencl_instance *const *)a,
                               *y = *(tsri_opencl_instance *const *)b;
    const int newer = newest_c(x) - newest_c(y);
    return newer ? newer : strcmp(x->name, y->name);
}

/* On a device that doesn't compile: recorded for later, or refused for not being in the bundle. */
static tsr_status do_without(const tsr_dev *dev, tsri_opencl_instance *instance) {
    if (!dev->record)
        return tsri_opencl_instance_refuse(instance, "not in the bundle");
    instance->state = TSRI_OPENCL_BUILT;
    return TSR_OK;
}

/* One program; where that fails, each alone. */
static tsr_status build_together(tsri_opencl_programs *programs, tsri_opencl_instance **fresh,
                                 size_t count) {
    cl_program program = NULL;
    char *log = NULL;
    const tsr_dev *dev = programs->dev;
    const bool compiles = !dev->record && !dev->bundle;
    tsr_status status =
        compiles && count > 1 ? assemble_program(programs, fresh, count, &program, &log) : TSR_OK;
    if (log && status == TSR_OK)
        tsri_opencl_log(dev->state, TSR_LOG_WARNING,
                        "%zu kernels do not build as one program on %s/%s, so each is built alone, "
                        "which takes longer: %.*s",
                        count, dev->facts.common.platform, dev->facts.common.name,
                        (int)strcspn(log, "\n"), log);
    if (status == TSR_OK && program)
        status = adopt(programs, program, fresh, count);
    else
        for (size_t i = 0; i < count && status == TSR_OK; i++)
            status = compiles ? build_alone(programs, fresh[i]) : do_without(dev, fresh[i]);
    free(log);
    return status;
}

/* Appends an instance that is not built yet, once. */
static void add_fresh(tsri_opencl_instance *instance, tsri_opencl_instance **fresh, size_t *n) {
    bool listed = !instance || instance->state != TSRI_OPENCL_NEW;
    for (size_t i = 0; i < *n && !listed; i++)
        listed = fresh[i] == instance;
    if (!listed)
        fresh[(*n)++] = instance;
}

/* A row is of no use without its stage. */
static tsr_status refuse_without_stage(tsri_opencl_instance *instance) {
    const tsri_opencl_instance *before = instance->before;
    if (!before || before->state != TSRI_OPENCL_REFUSED || instance->state == TSRI_OPENCL_REFUSED)
        return TSR_OK;
    char why[LOG_LIMIT + 128];
    snprintf(why, sizeof why, "its stage %s %s", before->name, before->why);
    return tsri_opencl_instance_refuse(instance, why);
}

tsr_status tsri_opencl_build(tsr_dev *dev, tsri_opencl_instance *const *instances, size_t n) {
    tsri_opencl_programs *programs = dev->programs;
    tsri_opencl_instance **fresh = NULL;
    size_t count = 0, older = 0;
    TRY(tsri_base_new(n ? 2 * n : 1, sizeof *fresh, &fresh));
    for (size_t i = 0; i < n; i++) {
        add_fresh(instances[i], fresh, &count);
        add_fresh(instances[i]->before, fresh, &count);
    }
    /* Whichever plan asks first, the same instances are the same program. */
    qsort(fresh, count, sizeof *fresh, by_name);
    while (older < count && !newest_c(fresh[older]))
        older++;
    tsr_status status = build_together(programs, fresh, older);
    if (status == TSR_OK)
        status = build_together(programs, fresh + older, count - older);
    for (size_t i = 0; i < n && status == TSR_OK; i++)
        status = refuse_without_stage(instances[i]);
    free(fresh);
    return status;
}

const char *tsri_opencl_program_options(const tsr_dev *dev) {
    return dev->programs->options[0];
}

tsr_status tsri_opencl_recorded(tsr_dev *dev, tsri_opencl_instance ***out, size_t *n,
                                tsri_bytes *source) {
    const tsri_opencl_programs *programs = dev->programs;
    TRY(tsri_base_new(programs->n ? programs->n : 1, sizeof **out, out));
    *n = 0;
    for (size_t i = 0; i < programs->n; i++)
        if (programs->instances[i]->n_args)
            (*out)[(*n)++] = programs->instances[i];
    qsort(*out, *n, sizeof **out, by_name);
    return assemble(programs, *out, *n, source);
}

/* --- verdicts --- */

static tsr_status verdict_key(tsr_dev *dev, const tsri_opencl_instance *instance,
                              const tsri_opencl_key *within, tsri_opencl_key *key) {
    tsri_bytes text = {0};
    tsri_opencl_instance *const both[] = {(tsri_opencl_instance *)instance, instance->before};
    tsr_status status =
        within ? tsri_base_bytes_append(&text, (const char *)within->digest, sizeof within->digest)
        : instance->row->file ? assemble(dev->programs, both, instance->before ? 2 : 1, &text)
                              : TSR_OK;
    if (status == TSR_OK)
        status = tsri_base_bytes_printf(&text, "%s", instance->name);
    if (status == TSR_OK)
        status = make_key(dev->programs, options_of(dev->programs, instance), "self-test",
                          text.data, text.size, key);
    tsri_base_bytes_clear(&text);
    return status;
}

tsr_status tsri_opencl_verdict_load(tsr_dev *dev, const tsri_opencl_instance *instance,
                                    const tsri_opencl_key *within, tsri_bytes *text, bool *found) {
    tsri_opencl_key key;
    *found = false;
    if (dev->programs->folder)
        return TSR_OK;
    TRY(verdict_key(dev, instance, within, &key));
    return tsri_opencl_cache_load(dev->state, &key, "test", text, found);
}

void tsri_opencl_verdict_save(tsr_dev *dev, const tsri_opencl_instance *instance,
                              const tsri_opencl_key *within, const char *text) {
    tsri_opencl_key key;
    if (!dev->programs->folder && verdict_key(dev, instance, within, &key) == TSR_OK)
        tsri_opencl_cache_save(dev->state, &key, "test", text, strlen(text));
}
