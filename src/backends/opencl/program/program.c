/* backends/opencl/program/program.c - the instances that a device has so far; it assembles new ones
 * into one source and builds it as one program. */
#include "backends/opencl/program/program.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/driver/variables.h"
#include "backends/opencl/program/compile.h"
#include "backends/opencl/program/constants.h"
#include "backends/opencl/program/probe.h"
#include "backends/opencl/source/source.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tsr_status tsri_opencl_programs_create(tsr_dev *dev, tsri_opencl_programs **out) {
    const char *folder = getenv("TESSERA_KERNEL_PATH");
    TRY(tsri_base_new(1, sizeof **out, out));
    (*out)->dev = dev;
    /* With correct rounding, a quotient is the same in a lane of a vector and in the scalar tail.
     * The names of parameters are kept for launches, which compare them with what they bind. Some
     * drivers print how many warnings there were: clang, in pocl, has one for each vector that is
     * wider than the processor's registers. */
#define EXACT " -cl-fp32-correctly-rounded-divide-sqrt"
#define OPTIONS(version) "-cl-std=CL" version " -cl-kernel-arg-info -w"
    static const char *const options[][2] = {{OPTIONS("1.2"), OPTIONS("1.2") EXACT},
                                             {OPTIONS("2.0"), OPTIONS("2.0") EXACT},
                                             {OPTIONS("3.0"), OPTIONS("3.0") EXACT}};
#undef OPTIONS
#undef EXACT
    const int version = dev->found->version, newest = version < 200 ? 0 : version < 300 ? 1 : 2;
    (*out)->options[0] = version < 102 ? "" : options[0][dev->found->exact_division];
    (*out)->options[1] = version < 102 ? "" : options[newest][dev->found->exact_division];
    (*out)->folder = folder && *folder ? folder : NULL;
    return tsri_opencl_variables(true, &(*out)->variables);
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
    tsri_base_bytes_clear(&programs->variables);
    free(programs);
}

/* The listed instance of that name, of the variant or, where not NULL, of the stage; NULL where
 * there is none yet. */
static tsri_opencl_instance *find_instance(const tsri_opencl_programs *programs,
                                           const tsri_opencl_variant *variant,
                                           const tsri_opencl_stage *stage, const char *name) {
    for (size_t i = 0; i < programs->n; i++) {
        tsri_opencl_instance *instance = programs->instances[i];
        if (instance->stage == stage && (stage || instance->variant == variant) &&
            !strcmp(instance->name, name))
            return instance;
    }
    return NULL;
}

/* The listed instance with these constants, or a new one. Clears the constants. */
static tsr_status instance_with(tsri_opencl_programs *programs, const tsri_opencl_variant *variant,
                                const tsri_opencl_stage *stage, tsr_status status,
                                tsri_opencl_defines *defines, tsri_opencl_instance **out) {
    tsri_bytes name = {0};
    if (status == TSR_OK)
        status = tsri_opencl_defines_name(variant, stage, defines, &name);
    *out = status == TSR_OK ? find_instance(programs, variant, stage, name.data) : NULL;
    if (status == TSR_OK && !*out)
        status = tsri_base_grow(&programs->instances, &programs->capacity, programs->n + 1,
                                sizeof *programs->instances);
    if (status == TSR_OK && !*out) {
        status = tsri_opencl_instance_new(programs->dev->bundle, variant, stage, defines, name.data,
                                          out);
        if (status == TSR_OK)
            programs->instances[programs->n++] = *out;
    }
    tsri_opencl_defines_clear(defines);
    tsri_base_bytes_clear(&name);
    return status;
}

/* The instance with these values, with its stage. An instance has one stage, that of the op that asked
 * for it first: another op with the same constants must have the same. */
static tsr_status instance_for(tsri_opencl_programs *programs, const tsri_opencl_variant *variant,
                               const tsr_op *op, const tsri_opencl_values *values,
                               tsri_opencl_instance **out) {
    const tsri_opencl_stage *stage = tsri_opencl_stage_of(variant, op);
    tsri_opencl_instance *before = NULL;
    tsri_opencl_defines defines;
    tsr_status status = TSR_OK;
    if (stage) {
        status = tsri_opencl_defines_before(variant, op, values, &defines);
        status = instance_with(programs, variant, stage, status, &defines, &before);
    }
    TRY(status);
    const size_t known = programs->n;
    status = tsri_opencl_defines_of(variant, op, values, &defines);
    TRY(instance_with(programs, variant, NULL, status, &defines, out));
    if (programs->n > known)
        (*out)->before = before;
    return (*out)->before == before
               ? TSR_OK
               : tsri_base_fail(TSR_E_INTERNAL,
                                "%s has the stage %s, but another op with the same constants needs "
                                "%s: the constants must include all that the stage depends on",
                                (*out)->name, (*out)->before ? (*out)->before->name : "none",
                                before ? before->name : "none");
}

tsr_status tsri_opencl_instance_of(tsr_dev *dev, const tsri_opencl_variant *variant,
                                   const tsr_op *op, const tsri_opencl_wish *wish,
                                   tsri_opencl_values *values, tsri_opencl_instance **out) {
    tsri_opencl_values own;
    values = values ? values : &own;
    TRY(tsri_opencl_settle(dev, variant, op, wish, values));
    TRY(instance_for(dev->programs, variant, op, values, out));
    /* What lines say may turn out too much for the device only when the kernel is built. */
    return (*out)->state == TSRI_OPENCL_REFUSED &&
                   tsri_opencl_settle_for_defaults(variant, (*out)->why, values)
               ? instance_for(dev->programs, variant, op, values, out)
               : TSR_OK;
}

/* --- building --- */

tsr_status tsri_opencl_instance_source(const tsr_dev *dev, const tsri_opencl_instance *instance,
                                       tsri_bytes *source) {
    const bool unit = strstr(instance->define, "#define UNIT_"); /* of a matrix unit, not a stage */
    TRY(tsri_base_bytes_printf(
        source, "#define INSTANCE %s\n#define KERNEL %s\n%s%s", instance->kernel, instance->kernel,
        unit ? tsri_opencl_probe_defines(dev, instance->variant->probe) : "", instance->define));
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

/* Builds one program of the instances. *known: that it does not build was known before. */
static tsr_status assemble_program(tsri_opencl_programs *programs,
                                   tsri_opencl_instance *const *instances, size_t n,
                                   cl_program *out, char **log, bool *known) {
    tsri_bytes source = {0};
    tsr_status status = assemble(programs, instances, n, &source);
    if (status == TSR_OK)
        status = tsri_opencl_make_program(programs, &source, instances, n, out, log, known);
    tsri_base_bytes_clear(&source);
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
    char *log = NULL, why[TSRI_OPENCL_LOG_LIMIT + 64];
    bool known;
    tsr_status status = assemble_program(programs, &instance, 1, &program, &log, &known);
    if (status == TSR_OK && program)
        status = adopt(programs, program, &instance, 1);
    else if (status == TSR_OK) {
        snprintf(why, sizeof why, "does not build: %s", log ? log : "");
        status = tsri_opencl_instance_refuse(instance, why);
        tsri_opencl_log(programs->dev->state, TSR_LOG_WARNING,
                        "%s does not build on %s/%s; another variant is used", instance->name,
                        programs->dev->facts.common.platform, programs->dev->facts.common.name);
        tsri_opencl_log(programs->dev->state, TSR_LOG_DEBUG, "%s: %s", instance->name, why);
    }
    free(log);
    return status;
}

static int by_name(const void *a, const void *b) {
    const tsri_opencl_instance *x = *(tsri_opencl_instance *const *)a,
                               *y = *(tsri_opencl_instance *const *)b;
    const int newer = tsri_opencl_instance_newest_c(x) - tsri_opencl_instance_newest_c(y);
    return newer ? newer : strcmp(x->name, y->name);
}

/* On a device that does not compile, an instance is recorded for later, or refused because it is
 * not in the bundle. */
static tsr_status do_without(const tsr_dev *dev, tsri_opencl_instance *instance) {
    if (!dev->record)
        return tsri_opencl_instance_refuse(instance, "not in the bundle");
    instance->state = TSRI_OPENCL_BUILT;
    return TSR_OK;
}

/* Builds all as one program; where that fails, each by itself. */
static tsr_status build_together(tsri_opencl_programs *programs, tsri_opencl_instance **fresh,
                                 size_t count) {
    cl_program program = NULL;
    char *log = NULL;
    const tsr_dev *dev = programs->dev;
    const bool compiles = !dev->record && !dev->bundle;
    bool known = false;
    tsr_status status = compiles && count > 1
                            ? assemble_program(programs, fresh, count, &program, &log, &known)
                            : TSR_OK;
    if (log && status == TSR_OK && !known)
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

/* Appends an instance that is not built yet and not listed here. */
static void add_fresh(tsri_opencl_instance *instance, tsri_opencl_instance **fresh, size_t *n) {
    bool listed = !instance || instance->state != TSRI_OPENCL_NEW;
    for (size_t i = 0; i < *n && !listed; i++)
        listed = fresh[i] == instance;
    if (!listed)
        fresh[(*n)++] = instance;
}

/* A variant can't be used without its stage. */
static tsr_status refuse_without_stage(tsri_opencl_instance *instance) {
    const tsri_opencl_instance *before = instance->before;
    if (!before || before->state != TSRI_OPENCL_REFUSED || instance->state == TSRI_OPENCL_REFUSED)
        return TSR_OK;
    char why[TSRI_OPENCL_LOG_LIMIT + 128];
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
    /* Sorted, so that the same instances make the same program, whichever plan asks first. */
    qsort(fresh, count, sizeof *fresh, by_name);
    while (older < count && !tsri_opencl_instance_newest_c(fresh[older]))
        older++;
    tsr_status status = build_together(programs, fresh, older);
    if (status == TSR_OK)
        status = build_together(programs, fresh + older, count - older);
    for (size_t i = 0; i < n && status == TSR_OK; i++)
        status = refuse_without_stage(instances[i]);
    free(fresh);
    return status;
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

/* The number after "self-test" counts up when the trials' operands change: verdicts that older ones
 * gave are not found again. */
static tsr_status verdict_key(tsr_dev *dev, const tsri_opencl_instance *instance,
                              const tsri_opencl_key *within, tsri_opencl_key *key) {
    tsri_bytes text = {0};
    tsri_opencl_instance *const both[] = {(tsri_opencl_instance *)instance, instance->before};
    tsr_status status =
        within ? tsri_base_bytes_append(&text, (const char *)within->digest, sizeof within->digest)
        : instance->variant->file ? assemble(dev->programs, both, instance->before ? 2 : 1, &text)
                                  : TSR_OK;
    if (status == TSR_OK)
        status = tsri_base_bytes_printf(&text, "%s", instance->name);
    if (status == TSR_OK)
        status =
            tsri_opencl_make_key(dev->programs, tsri_opencl_options_of(dev->programs, instance),
                                 "self-test 2", text.data, text.size, key);
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
