/* backends/opencl/program/constants.c - the build constants of a variant for an op, and the name
 * that they make. */
#include "backends/opencl/program/constants.h"
#include "backends/opencl/program/bundle.h"
#include "backends/opencl/variants/variants.h"
#include "base/error.h"

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

/* The tunables' values of a kernel of the bundle, if it is this variant's and has the constants
 * that this op needs. */
static tsr_status bundled_values(const tsri_opencl_bundled *kernel,
                                 const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_values *values, bool *found) {
    tsri_opencl_values own = *values;
    tsri_opencl_defines whole = {.variant = variant};
    tsri_bytes name = {0};
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && variant->tunables[t].name; t++) {
        own.value[t] = kernel->values.value[t];
        own.from[t] = "bundle";
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

/* Finds the values in force. What the op decides is asked only where a line of tuning may depend on
 * it. */
static tsr_status settle_values(const tsr_dev *dev, const tsri_opencl_variant *variant,
                                const tsr_op *op, const tsri_opencl_wish *wish,
                                tsri_opencl_values *values) {
    tsri_opencl_defines decided = {.variant = variant};
    bool found = false;
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && variant->tunables[t].name; t++)
        decided.values.value[t] = variant->tunables[t].value;
    if (variant->define && tsri_opencl_is_tuned(dev, variant))
        variant->define(variant, op, &decided);
    tsr_status status = decided.status;
    if (status == TSR_OK)
        tsri_opencl_values_of(dev, variant, op, wish, text_of(&decided.name), values);
    tsri_opencl_defines_clear(&decided);
    for (size_t i = 0; dev->bundle && i < dev->bundle->n && !found && status == TSR_OK; i++)
        if (dev->bundle->kernels[i].variant == variant)
            status = bundled_values(&dev->bundle->kernels[i], variant, op, values, &found);
    return status;
}

tsr_status tsri_opencl_defines_of(const tsr_dev *dev, const tsri_opencl_variant *variant,
                                  const tsr_op *op, const tsri_opencl_wish *wish,
                                  tsri_opencl_defines *defines, tsri_bytes *tunables) {
    *defines = (tsri_opencl_defines){.variant = variant};
    TRY(settle_values(dev, variant, op, wish, &defines->values));
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && variant->tunables[t].name; t++) {
        const tsri_opencl_tunable *tunable = &variant->tunables[t];
        tsri_opencl_define_int(defines, tunable->name, defines->values.value[t]);
        if (tunables)
            TRY(tsri_base_bytes_printf(tunables, "%s%s=%d (%s; %d to %d)",
                                       tunables->size ? ", " : "", tunable->name,
                                       defines->values.value[t], defines->values.from[t],
                                       tunable->lowest, tunable->highest));
    }
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
