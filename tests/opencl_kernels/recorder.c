/* opencl_kernels/recorder.c - the calls of variant.h, recorded in place of a driver. */
#include "recorder.h"
#include "backends/opencl/device/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void append(tsri_opencl_defines *defines, const char *name, const char *value) {
    const size_t used = strlen(defines->text), undone = strlen(defines->undefine);
    snprintf(defines->text + used, sizeof defines->text - used, "#define %s %s\n", name, value);
    snprintf(defines->undefine + undone, sizeof defines->undefine - undone, "#undef %s\n", name);
}

void tsri_opencl_define_int(tsri_opencl_defines *defines, const char *name, int value) {
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    append(defines, name, text);
}

void tsri_opencl_define_text(tsri_opencl_defines *defines, const char *name, const char *value) {
    append(defines, name, value);
}

void tsri_opencl_define_dtype(tsri_opencl_defines *defines, const char *name,
                              const tsr_tensor *tensor) {
    char full[64], value[16];
    snprintf(full, sizeof full, "%s_DTYPE", name);
    snprintf(value, sizeof value, "%u", tensor->dtype);
    append(defines, full, value);
}

int tsri_opencl_define_value(const tsri_opencl_defines *defines, const char *name) {
    for (int i = 0; i < TSRI_OPENCL_TUNABLES && defines->variant->tunables[i].name; i++)
        if (!strcmp(defines->variant->tunables[i].name, name))
            return defines->variant->tunables[i].value;
    return 0;
}

void tsri_opencl_define_tunable(tsri_opencl_defines *defines, const char *name) {
    for (int i = 0; i < TSRI_OPENCL_TUNABLES && defines->variant->tunables[i].name; i++)
        if (!strcmp(defines->variant->tunables[i].name, name))
            tsri_opencl_define_int(defines, name, defines->variant->tunables[i].value);
}

/* Records the name of the parameter that takes the next argument, in two parts. */
static void add(tsri_opencl_launch *launch, const char *name, const char *ending) {
    if (launch->arguments == RECORDED)
        abort(); /* more arguments than a chain can take */
    snprintf(launch->names[launch->arguments], sizeof launch->names[0], "%s%s", name, ending);
    launch->arguments++;
}

static void add_two(tsri_opencl_launch *launch, const char *name, const char *first,
                    const char *second) {
    add(launch, name, first);
    add(launch, name, second);
}

void tsri_opencl_arg_tensor(tsri_opencl_launch *launch, const char *name,
                            const tsr_tensor *tensor) {
    (void)tensor;
    add_two(launch, name, "", "0");
}

void tsri_opencl_arg_dims(tsri_opencl_launch *launch) {
    add(launch, "dims", "");
}

void tsri_opencl_arg_int(tsri_opencl_launch *launch, const char *name, int64_t value) {
    (void)value;
    add(launch, name, "");
}

void tsri_opencl_arg_float(tsri_opencl_launch *launch, const char *name, float value) {
    (void)value;
    add(launch, name, "");
}

void tsri_opencl_arg_dim(tsri_opencl_launch *launch, const char *name, tsr_dim dim) {
    (void)dim;
    add_two(launch, name, "", "_set");
}

void tsri_opencl_arg_strides(tsri_opencl_launch *launch, const char *name,
                             const tsr_tensor *tensor) {
    (void)tensor;
    add_two(launch, name, "_step", "_set");
}

void tsri_opencl_arg_sizes(tsri_opencl_launch *launch, const tsr_tensor *tensor) {
    (void)tensor;
    add_two(launch, "size", "", "_set");
}

void tsri_opencl_arg_dim_list(tsri_opencl_launch *launch, const char *name, const tsr_dim *dims,
                              uint32_t n) {
    (void)dims, (void)n;
    add_two(launch, name, "", "_set");
}

void tsri_opencl_arg_scratch(tsri_opencl_launch *launch, const char *name, tsr_dim bytes) {
    (void)bytes;
    add(launch, name, "");
}

void tsri_opencl_grid(tsri_opencl_launch *launch, int axis, tsr_dim n, int per_item) {
    (void)axis, (void)n;
    launch->grid = per_item > 0;
}

void tsri_opencl_group(tsri_opencl_launch *launch, int x, int y, int z) {
    (void)launch, (void)x, (void)y, (void)z;
}

void tsri_opencl_work(tsri_opencl_launch *launch, tsr_dim per_item) {
    (void)launch, (void)per_item;
}

int tsri_opencl_tuned(const tsri_opencl_launch *launch, const char *name) {
    for (int i = 0; i < TSRI_OPENCL_TUNABLES && launch->variant->tunables[i].name; i++)
        if (!strcmp(launch->variant->tunables[i].name, name))
            return launch->variant->tunables[i].value;
    abort(); /* the variant asks for a tunable that it does not declare */
}

/* CLBlast's variants report a driver's failure; nothing is enqueued here. */
tsr_status tsri_opencl_fail(tsr_dev *dev, cl_int code, const char *call) {
    (void)dev, (void)code, (void)call;
    return TSR_E_INTERNAL;
}
