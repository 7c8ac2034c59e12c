/* backends/opencl/bind/defines.c - the calls by which a kernel variant states its build
 * constants. */
#include "backends/opencl/bind/defines.h"
#include "base/error.h"
#include "tensor/dtype.h"

#include <stdio.h>
#include <string.h>

void tsri_opencl_define_text(tsri_opencl_defines *defines, const char *name, const char *value) {
    const char *shown = !strncmp(value, "TSR_DTYPE_", 10) ? value + 10 : value;
    tsr_status status = defines->status;
    if (status == TSR_OK)
        status = tsri_base_bytes_printf(&defines->define, "#define %s %s\n", name, value);
    if (status == TSR_OK)
        status = tsri_base_bytes_printf(&defines->undefine, "#undef %s\n", name);
    if (status == TSR_OK)
        status = tsri_base_bytes_printf(&defines->name, "%s%s=%s", defines->name.size ? "," : "",
                                        name, shown);
    defines->status = status;
}

void tsri_opencl_define_int(tsri_opencl_defines *defines, const char *name, int value) {
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    tsri_opencl_define_text(defines, name, text);
}

void tsri_opencl_define_dtype(tsri_opencl_defines *defines, const char *name,
                              const tsr_tensor *tensor) {
    const tsri_tensor_dtype *info = tsri_tensor_dtype_info((tsr_dtype)tensor->dtype);
    char constant[64], value[32] = "0";
    if (info) /* "q4_K" is TSR_DTYPE_Q4_K */
        snprintf(value, sizeof value, "TSR_DTYPE_%s", info->name);
    for (char *c = value; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    snprintf(constant, sizeof constant, "%s_DTYPE", name);
    tsri_opencl_define_text(defines, constant, value);
}

void tsri_opencl_defines_clear(tsri_opencl_defines *defines) {
    tsri_base_bytes_clear(&defines->define);
    tsri_base_bytes_clear(&defines->undefine);
    tsri_base_bytes_clear(&defines->name);
}

int tsri_opencl_find_tunable(const tsri_opencl_variant *variant, const char *name) {
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && variant->tunables[t].name; t++)
        if (!strcmp(variant->tunables[t].name, name))
            return t;
    return -1;
}

int tsri_opencl_define_value(const tsri_opencl_defines *defines, const char *name) {
    const int t = tsri_opencl_find_tunable(defines->variant, name);
    return t < 0 ? 0 : defines->values.value[t];
}

void tsri_opencl_define_tunable(tsri_opencl_defines *defines, const char *name) {
    const int t = tsri_opencl_find_tunable(defines->variant, name);
    if (t >= 0)
        tsri_opencl_define_int(defines, name, defines->values.value[t]);
    else if (defines->status == TSR_OK)
        defines->status = tsri_base_fail(TSR_E_INTERNAL, "kernel variant %s has no tunable %s",
                                         defines->variant->name, name);
}
