/* backends/opencl/program/constants.c - the build constants of a variant for an op, and the name
 * that they make. */
#include "backends/opencl/program/constants.h"
#include "backends/opencl/program/bundle.h"
#include "backends/opencl/variants/variants.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

tsr_status tsri_opencl_defines_before(const tsri_opencl_variant *variant, const tsr_op *op,
                                      const tsri_opencl_values *values,
                                      tsri_opencl_defines *defines) {
    *defines = (tsri_opencl_defines){.variant = variant, .values = *values};
    if (variant->before->define)
        variant->before->define(variant, op, defines);
    return defines->status;
}

static const char *text_of(const tsri_bytes *bytes) {
    return bytes->data ? bytes->data : "";
}

static bool forces(const tsri_opencl_wish *wish, const tsri_opencl_variant *variant, int t) {
    return wish && wish->variant == variant && wish->set[t];
}

/* The tunables' values of a kernel of the bundle, if it is this variant's and has the constants
 * that this op needs. */
static tsr_status bundled_values(const tsri_opencl_bundled *kernel,
                                 const tsri_opencl_variant *variant, const tsr_op *op,
                                 const tsri_opencl_wish *wish, tsri_opencl_values *values,
                                 bool *found) {
    tsri_opencl_values own = *values;
    tsri_opencl_defines whole = {.variant = variant};
    tsri_bytes name = {0};
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && variant->tunables[t].name; t++) {
        own.value[t] = kernel->values.value[t];
        own.from[t] = forces(wish, variant, t) ? own.from[t] : "bundle";
        own.line[t] = false;
        tsri_opencl_define_int(&whole, variant->tunables[t].name, own.value[t]);
    }
    whole.values = own;
    if (variant->define)
        variant->define(variant, op, &whole);
    tsr_status status = whole.status;
    if (status == TSR_OK)
        status = tsri_opencl_defines_name(variant, NULL, &whole, &name);
    *found = status == TSR_OK && !strcmp(text_of(&name), kernel->instance);
    if (*found)
        *values = own;
    tsri_opencl_defines_clear(&whole);
    tsri_base_bytes_clear(&name);
    return status;
}

/* Whether the device has sub-groups of the size that a kernel asks for. */
static bool has_sub_size(const tsri_opencl_facts *facts, int size, const char **why) {
    static _Thread_local char text[160];
    size_t n = (size_t)snprintf(text, sizeof text,
                                "its kernel asks for sub-groups of %d; the device has", size);
    for (int i = 0; i < 8 && facts->common.subgroup_sizes[i]; i++) {
        if ((int)facts->common.subgroup_sizes[i] == size)
            return true;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %u", i ? "," : "",
                              facts->common.subgroup_sizes[i]);
    }
    *why = text;
    return false;
}

static bool fits_with(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                      const tsr_op *op, const tsri_opencl_values *values, const char **why) {
    tsri_opencl_variant tuned = *variant;
    *why = "";
    for (int t = 0; values && t < TSRI_OPENCL_TUNABLES && variant->tunables[t].name; t++) {
        const int value = tuned.tunables[t].value = values->value[t];
        if (value && facts->sub_sizes && !strcmp(variant->tunables[t].name, TSRI_OPENCL_SUB_SIZE) &&
            !has_sub_size(facts, value, why))
            return false;
    }
    if (!variant->fits || variant->fits(&tuned, facts, op, why))
        return true;
    if (!*why || !**why)
        *why = "does not fit";
    return false;
}

/* How well a kernel of the bundle suits an op; the highest is taken. */
enum { ABSENT, UNFIT, FITS, WANTED };

static int suits(const tsr_dev *dev, const tsri_opencl_variant *variant, const tsr_op *op,
                 const tsri_opencl_values *wanted, const tsri_opencl_values *own) {
    const char *why;
    if (!fits_with(variant, &dev->facts, op, own, &why))
        return UNFIT;
    return memcmp(own->value, wanted->value, sizeof own->value) ? FITS : WANTED;
}

static bool has_forced(const tsri_opencl_bundled *kernel, const tsri_opencl_variant *variant,
                       const tsri_opencl_wish *wish) {
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && variant->tunables[t].name; t++)
        if (forces(wish, variant, t) && kernel->values.value[t] != wish->value[t])
            return false;
    return true;
}

/* Appends "MR=4:NV=2": the values that are set. */
static tsr_status append_set(const tsri_opencl_wish *values, tsri_bytes *out) {
    const tsri_opencl_tunable *tunables = values->variant->tunables;
    const char *between = "";
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && tunables[t].name; t++)
        if (values->set[t]) {
            TRY(tsri_base_bytes_printf(out, "%s%s=%d", between, tunables[t].name,
                                       values->value[t]));
            between = ":";
        }
    return TSR_OK;
}

static tsr_status fail_forced(const tsri_opencl_wish *wish, const tsri_bytes *others) {
    tsri_bytes forced = {0};
    tsr_status status = append_set(wish, &forced);
    if (status == TSR_OK)
        status = tsri_base_fail(TSR_E_ARGUMENT, "%s is not in the bundle; it has %s",
                                text_of(&forced), text_of(others));
    tsri_base_bytes_clear(&forced);
    return status;
}

/* Of the bundle's kernels for this op, takes the one with the values in force; else one that fits. Where
 * each has another value than a forced one, that is a failure. */
static tsr_status take_bundled(const tsr_dev *dev, const tsri_opencl_variant *variant,
                               const tsr_op *op, const tsri_opencl_wish *wish,
                               tsri_opencl_values *values) {
    const tsri_opencl_values wanted = *values;
    tsri_bytes others = {0};
    tsr_status status = TSR_OK;
    int best = ABSENT;
    for (size_t i = 0; i < dev->bundle->n && best < WANTED && status == TSR_OK; i++) {
        const tsri_opencl_bundled *kernel = &dev->bundle->kernels[i];
        tsri_opencl_values own = wanted;
        bool found = false;
        if (kernel->variant == variant)
            status = bundled_values(kernel, variant, op, wish, &own, &found);
        if (status != TSR_OK || !found)
            continue;
        if (!has_forced(kernel, variant, wish)) {
            status = others.size ? tsri_base_bytes_append(&others, ", ", 2) : TSR_OK;
            status = status == TSR_OK ? append_set(&kernel->values, &others) : status;
            continue;
        }
        const int how = suits(dev, variant, op, &wanted, &own);
        if (how > best) {
            best = how;
            *values = own;
        }
    }
    if (status == TSR_OK && best == ABSENT && others.size)
        status = fail_forced(wish, &others);
    tsri_base_bytes_clear(&others);
    return status;
}

bool tsri_opencl_settle_for_defaults(const tsri_opencl_variant *variant, const char *why,
                                     tsri_opencl_values *values) {
    char text[sizeof values->unfit] = "";
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && variant->tunables[t].name; t++) {
        const size_t n = strlen(text);
        if (!values->line[t])
            continue;
        snprintf(text + n, sizeof text - n, "%s%s=%d (%.80s)", n ? ", " : "",
                 variant->tunables[t].name, values->value[t], values->from[t]);
        values->value[t] = variant->tunables[t].value;
        values->from[t] = "default";
        values->line[t] = false;
    }
    if (!*text)
        return false;
    const size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, ": %.*s", (int)strcspn(why, "\n"), why);
    memcpy(values->unfit, text, sizeof text);
    return true;
}

static bool has_line(const tsri_opencl_values *values) {
    bool any = false;
    for (int t = 0; t < TSRI_OPENCL_TUNABLES; t++)
        any |= values->line[t];
    return any;
}

/* What the op decides is asked only where a line of tuning may depend on it. */
tsr_status tsri_opencl_settle(const tsr_dev *dev, const tsri_opencl_variant *variant,
                              const tsr_op *op, const tsri_opencl_wish *wish,
                              tsri_opencl_values *values) {
    tsri_opencl_defines decided = {.variant = variant};
    const char *why;
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && variant->tunables[t].name; t++)
        decided.values.value[t] = variant->tunables[t].value;
    if (variant->define && tsri_opencl_is_tuned(dev, variant))
        variant->define(variant, op, &decided);
    tsr_status status = decided.status;
    if (status == TSR_OK)
        tsri_opencl_values_of(dev, variant, op, wish, text_of(&decided.name), values);
    tsri_opencl_defines_clear(&decided);
    if (status == TSR_OK && has_line(values) && !fits_with(variant, &dev->facts, op, values, &why))
        tsri_opencl_settle_for_defaults(variant, why, values);
    return status == TSR_OK && dev->bundle ? take_bundled(dev, variant, op, wish, values) : status;
}

bool tsri_opencl_gives_way(const tsr_dev *dev, const tsri_opencl_variant *variant, const tsr_op *op,
                           const tsri_opencl_wish *wish, const tsri_opencl_values *own) {
    tsri_opencl_values values;
    bool same = true, others = false;
    if (dev->bundle || tsri_opencl_settle(dev, variant, op, wish, &values) != TSR_OK)
        return false;
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && variant->tunables[t].name; t++) {
        same &= values.value[t] == own->value[t];
        others |= values.line[t] && values.value[t] != variant->tunables[t].value;
    }
    return same && others;
}

bool tsri_opencl_fits_tuned(const tsr_dev *dev, const tsri_opencl_variant *variant,
                            const tsr_op *op, const tsri_opencl_wish *wish, const char **why) {
    tsri_opencl_facts any = dev->facts;
    tsri_opencl_values values;
    const bool forced = wish && wish->variant == variant;
    if (!forced && !dev->bundle && !tsri_opencl_is_tuned(dev, variant))
        return fits_with(variant, &dev->facts, op, NULL, why);
    /* Lines of tuning depend on constants of the op, which are defined for ops that suit the
     * variant: those that would fit some device. */
    any.common.max_work_group = INT32_MAX;
    any.common.local_memory = INT32_MAX;
    if (!fits_with(variant, &any, op, NULL, why))
        return false;
    if (tsri_opencl_settle(dev, variant, op, wish, &values) != TSR_OK) {
        *why = tsri_base_reported();
        return false;
    }
    return fits_with(variant, &dev->facts, op, &values, why);
}

tsr_status tsri_opencl_describe_values(const tsri_opencl_variant *variant,
                                       const tsri_opencl_values *values, tsri_bytes *out) {
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && variant->tunables[t].name; t++) {
        const tsri_opencl_tunable *tunable = &variant->tunables[t];
        TRY(tsri_base_bytes_printf(out, "%s%s=%d (%s; %d to %d)", out->size ? ", " : "",
                                   tunable->name, values->value[t], values->from[t],
                                   tunable->lowest, tunable->highest));
    }
    return *values->unfit ? tsri_base_bytes_printf(out, "; not %s", values->unfit) : TSR_OK;
}

tsr_status tsri_opencl_defines_of(const tsri_opencl_variant *variant, const tsr_op *op,
                                  const tsri_opencl_values *values, tsri_opencl_defines *defines) {
    *defines = (tsri_opencl_defines){.variant = variant, .values = *values};
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && variant->tunables[t].name; t++)
        tsri_opencl_define_int(defines, variant->tunables[t].name, values->value[t]);
    if (variant->define)
        variant->define(variant, op, defines);
    return defines->status;
}

tsr_status tsri_opencl_defines_name(const tsri_opencl_variant *variant,
                                    const tsri_opencl_stage *stage,
                                    const tsri_opencl_defines *defines, tsri_bytes *name) {
    return tsri_base_bytes_printf(name, "%s%s%s%s%s", stage ? "" : tsri_opencl_op_name(variant->op),
                                  stage ? "" : "/", stage ? stage->name : variant->name,
                                  defines->name.size ? ":" : "",
                                  defines->name.data ? defines->name.data : "");
}
