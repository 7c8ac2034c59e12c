/* backends/opencl/defines.c - the build constants of a row for an op, and the name they make. */
#include "backends/opencl/launch.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
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
    static const char *const names[] = {
        [TSR_F32] = "TSR_DTYPE_F32",  [TSR_F16] = "TSR_DTYPE_F16", [TSR_BF16] = "TSR_DTYPE_BF16",
        [TSR_F64] = "TSR_DTYPE_F64",  [TSR_I32] = "TSR_DTYPE_I32", [TSR_I64] = "TSR_DTYPE_I64",
        [TSR_I16] = "TSR_DTYPE_I16",  [TSR_I8] = "TSR_DTYPE_I8",   [TSR_U8] = "TSR_DTYPE_U8",
        [TSR_BOOL] = "TSR_DTYPE_BOOL"};
    char constant[64];
    const char *value = tensor->dtype < sizeof names / sizeof *names ? names[tensor->dtype] : NULL;
    snprintf(constant, sizeof constant, "%s_DTYPE", name);
    tsri_opencl_define_text(defines, constant, value ? value : "0");
}

void tsri_opencl_defines_clear(tsri_opencl_defines *defines) {
    tsri_base_bytes_clear(&defines->define);
    tsri_base_bytes_clear(&defines->undefine);
    tsri_base_bytes_clear(&defines->name);
}

static const tsri_opencl_tunable *find_tunable(const tsri_opencl_row *row, const char *name) {
    for (const tsri_opencl_tunable *t = row->tunables; t < row->tunables + 6 && t->name; t++)
        if (!strcmp(t->name, name))
            return t;
    return NULL;
}

void tsri_opencl_define_tunable(tsri_opencl_defines *defines, const char *name) {
    const tsri_opencl_tunable *tunable = find_tunable(defines->row, name);
    if (tunable)
        tsri_opencl_define_int(defines, name, tunable->value);
    else if (defines->status == TSR_OK)
        defines->status =
            tsri_base_fail(TSR_E_INTERNAL, "row %s has no tunable %s", defines->row->name, name);
}

int tsri_opencl_tuned(const tsri_opencl_launch *launch, const char *name) {
    const tsri_opencl_tunable *tunable = find_tunable(launch->row, name);
    return tunable ? tunable->value : 0;
}

tsr_status tsri_opencl_defines_before(const tsri_opencl_row *row, const tsr_op *op,
                                      tsri_opencl_defines *defines) {
    *defines = (tsri_opencl_defines){.row = row};
    if (row->before->define)
        row->before->define(row, op, defines);
    return defines->status;
}

tsr_status tsri_opencl_defines_of(const tsri_opencl_row *row, const tsr_op *op,
                                  tsri_opencl_defines *defines, tsri_bytes *tunables) {
    *defines = (tsri_opencl_defines){.row = row};
    for (const tsri_opencl_tunable *t = row->tunables; t < row->tunables + 6 && t->name; t++) {
        tsri_opencl_define_int(defines, t->name, t->value);
        if (tunables)
            TRY(tsri_base_bytes_printf(tunables, "%s%s=%d (default; %d to %d)",
                                       tunables->size ? ", " : "", t->name, t->value, t->lowest,
                                       t->highest));
    }
    if (row->define)
        row->define(row, op, defines);
    return defines->status;
}

tsr_status tsri_opencl_defines_name(const tsri_opencl_row *row, const tsri_opencl_stage *stage,
                                    const tsri_opencl_defines *defines, tsri_bytes *name) {
    return tsri_base_bytes_printf(name, "%s%s%s%s%s", stage ? "" : tsri_opencl_op_name(row->op),
                                  stage ? "" : "/", stage ? stage->name : row->name,
                                  defines->name.size ? ":" : "",
                                  defines->name.data ? defines->name.data : "");
}

tsr_status tsri_opencl_instance_name(const tsri_opencl_row *row, const tsr_op *op, char **name,
                                     char **tunables) {
    tsri_opencl_defines defines;
    tsri_bytes text = {0}, tuned = {0};
    tsr_status status = tsri_opencl_defines_of(row, op, &defines, &tuned);
    if (status == TSR_OK)
        status = tsri_opencl_defines_name(row, NULL, &defines, &text);
    if (status == TSR_OK && !tuned.data)
        status = tsri_base_bytes_append(&tuned, "", 0);
    tsri_opencl_defines_clear(&defines);
    *name = text.data;
    *tunables = tuned.data;
    return status;
}
