/* backends/opencl/bind/arguments.c - the calls by which a kernel variant binds its operands, its
 * sizes and its grid. */
#include "backends/opencl/bind/arguments.h"
#include "backends/opencl/device/failure.h"
#include "base/error.h"
#include "tensor/convert.h"
#include "tensor/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void keep(tsri_opencl_launch *launch, tsr_status status) {
    if (launch->status == TSR_OK)
        launch->status = status;
}

static void push_traced(tsri_opencl_launch *launch, char kind, size_t size, const void *value) {
    tsri_opencl_trace *trace = launch->trace;
    if (launch->n_args < TSRI_OPENCL_TRACED) {
        trace->kinds[launch->n_args] = kind;
        if (value)
            memcpy(&trace->values[launch->n_args], value, size);
    } else
        keep(launch,
             tsri_base_fail(TSR_E_INTERNAL,
                            "%s: a kernel takes at most %d arguments; its variant binds more",
                            launch->file, TSRI_OPENCL_TRACED));
    launch->n_args++;
}

/* Compares the name under which the next argument is bound with the kernel's. Each device of OpenCL
 * 1.2 tells it if the program was built with -cl-kernel-arg-info, but some drivers do not. A driver
 * whose name of the first parameter is another one makes up names, so it is not believed. */
static void compare(tsri_opencl_launch *launch, const char *name, const char *ending) {
    char own[64], given[64] = "";
    if (!launch->named || launch->status != TSR_OK)
        return;
    if (clGetKernelArgInfo(launch->named, launch->n_args, CL_KERNEL_ARG_NAME, sizeof given, given,
                           NULL) != CL_SUCCESS) {
        launch->named = NULL;
        return;
    }
    snprintf(own, sizeof own, "%s%s", name, ending);
    if (!strcmp(own, given))
        return;
    if (!launch->n_args)
        launch->named = NULL;
    else
        keep(launch, tsri_base_fail(TSR_E_INTERNAL,
                                    "%s: parameter %u of the kernel is \"%s\", and its variant "
                                    "binds \"%s\" there",
                                    launch->file, launch->n_args, given, own));
}

/* Binds the next argument, for the parameter whose name is these two parts. */
static void push(tsri_opencl_launch *launch, const char *name, const char *ending, char kind,
                 size_t size, const void *value) {
    compare(launch, name, ending);
    if (launch->trace) {
        push_traced(launch, kind, size, value);
        return;
    }
    const cl_int code = launch->dev->record
                            ? CL_SUCCESS
                            : clSetKernelArg(launch->kernel, launch->n_args, size, value);
    if (code == CL_INVALID_ARG_INDEX || code == CL_INVALID_ARG_VALUE ||
        code == CL_INVALID_ARG_SIZE || code == CL_INVALID_MEM_OBJECT)
        keep(launch,
             tsri_base_fail(TSR_E_UNSUPPORTED,
                            "%s: the driver refuses argument %u of %zu bytes: %s (%d)",
                            launch->file, launch->n_args, size, tsri_opencl_code_name(code), code));
    else if (code != CL_SUCCESS)
        keep(launch, tsri_opencl_fail(launch->dev, code, launch->file));
    launch->n_args++;
}

static bool fits_int(int64_t value) {
    return value >= INT32_MIN && value <= INT32_MAX;
}

static void push_int(tsri_opencl_launch *launch, const char *name, const char *ending,
                     int64_t value, const char *what) {
    const cl_int narrow = (cl_int)value;
    if (!fits_int(value))
        keep(launch,
             tsri_base_fail(TSR_E_UNSUPPORTED,
                            "%s: %s %" PRId64 " does not fit into the kernels' 32-bit indices",
                            launch->file, what, value));
    push(launch, name, ending, 'i', sizeof narrow, &narrow);
}

void tsri_opencl_arg_tensor(tsri_opencl_launch *launch, const char *name,
                            const tsr_tensor *tensor) {
    if (!tensor) {
        push(launch, name, "", 'p', sizeof launch->dims, &launch->dims);
        push_int(launch, name, "0", 0, "an offset of");
        return;
    }
    const tsri_tensor_dtype *dtype = tsri_tensor_dtype_info((tsr_dtype)tensor->dtype);
    if (!tensor->buf || tensor->buf->dev != launch->dev) {
        keep(launch, tsri_base_fail(TSR_E_ARGUMENT, "an operand of %s has no buffer on this device",
                                    launch->file));
        return;
    }
    if (!dtype || tensor->origin % (uint64_t)dtype->bytes || tensor->offset % dtype->block) {
        keep(launch, tsri_base_fail(TSR_E_ARGUMENT,
                                    "an operand of %s (%s) begins at byte %" PRIu64
                                    ", in the middle of an element",
                                    launch->file, tsri_tensor_dtype_name((tsr_dtype)tensor->dtype),
                                    tensor->origin));
        return;
    }
    push(launch, name, "", 'p', sizeof tensor->buf->mem, &tensor->buf->mem);
    push_int(launch, name, "0",
             (int64_t)(tensor->origin / (uint64_t)dtype->bytes) * dtype->block + tensor->offset,
             "the first element's index");
}

void tsri_opencl_arg_dims(tsri_opencl_launch *launch) {
    push(launch, "dims", "", 'p', sizeof launch->dims, &launch->dims);
}

void tsri_opencl_arg_int(tsri_opencl_launch *launch, const char *name, int64_t value) {
    push_int(launch, name, "", value, "the argument");
}

void tsri_opencl_arg_float(tsri_opencl_launch *launch, const char *name, float value) {
    push(launch, name, "", 'f', sizeof value, &value);
}

void tsri_opencl_arg_dim(tsri_opencl_launch *launch, const char *name, tsr_dim dim) {
    push_int(launch, name, "", dim.factor, "the size");
    push_int(launch, name, "_set", dim.symbols, "the set of sizes");
}

/* Pushes the last 8 of `dims` as two vectors, <name><ending> and <name>_set, right-aligned; missing
 * leading ones get `missing`. */
static void push_dims(tsri_opencl_launch *launch, const char *name, const char *ending,
                      const tsr_dim *dims, uint32_t rank, int64_t missing, const char *what) {
    cl_int8 factors, symbols;
    for (uint32_t i = 0; i < 8; i++) {
        const bool present = i + rank >= 8;
        const tsr_dim dim = present ? dims[i + rank - 8] : (tsr_dim){.factor = missing};
        if (!fits_int(dim.factor))
            keep(launch,
                 tsri_base_fail(TSR_E_UNSUPPORTED,
                                "%s: %s %" PRId64 " does not fit into the kernels' 32-bit indices",
                                launch->file, what, dim.factor));
        factors.s[i] = (cl_int)dim.factor;
        symbols.s[i] = (cl_int)dim.symbols;
    }
    push(launch, name, ending, '8', sizeof factors, &factors);
    push(launch, name, "_set", '8', sizeof symbols, &symbols);
}

void tsri_opencl_arg_strides(tsri_opencl_launch *launch, const char *name,
                             const tsr_tensor *tensor) {
    push_dims(launch, name, "_step", tensor ? tensor->stride : NULL, tensor ? tensor->rank : 0, 0,
              "the stride");
}

void tsri_opencl_arg_sizes(tsri_opencl_launch *launch, const tsr_tensor *tensor) {
    push_dims(launch, "size", "", tensor ? tensor->dim : NULL, tensor ? tensor->rank : 0, 1,
              "the size");
}

void tsri_opencl_arg_dim_list(tsri_opencl_launch *launch, const char *name, const tsr_dim *dims,
                              uint32_t n) {
    cl_int16 factors = {{0}}, symbols = {{0}};
    for (uint32_t i = 0; i < n; i++) {
        if (!fits_int(dims[i].factor))
            keep(launch, tsri_base_fail(TSR_E_UNSUPPORTED,
                                        "%s: the size or stride %" PRId64
                                        " does not fit into the kernels' 32-bit indices",
                                        launch->variant->file, dims[i].factor));
        factors.s[i] = (cl_int)dims[i].factor;
        symbols.s[i] = (cl_int)dims[i].symbols;
    }
    push(launch, name, "", 'g', sizeof factors, &factors);
    push(launch, name, "_set", 'g', sizeof symbols, &symbols);
}

void tsri_opencl_arg_scratch(tsri_opencl_launch *launch, const char *name, tsr_dim bytes) {
    const int64_t wanted = tsri_tensor_value(bytes, launch->bounds->highest);
    if (launch->n_scratch == TSRI_OPENCL_SCRATCH_ARGS || wanted < 0) {
        keep(launch,
             tsri_base_fail(TSR_E_INTERNAL, "%s: scratch of %" PRId64 " bytes can't be bound",
                            launch->file, wanted));
        return;
    }
    if ((uint64_t)wanted > launch->scratch_bytes)
        launch->scratch_bytes = (uint64_t)wanted;
    if (launch->trace) {
        push(launch, name, "", 'p', 0, NULL);
        return;
    }
    compare(launch, name, "");
    launch->scratch_args[launch->n_scratch++] = launch->n_args++;
}

void tsri_opencl_grid(tsri_opencl_launch *launch, int axis, tsr_dim n, int per_item) {
    if (axis < 0 || axis > 2 || per_item <= 0) {
        keep(launch,
             tsri_base_fail(TSR_E_INTERNAL, "%s: grid axis %d with %d elements for each work-item",
                            launch->file, axis, per_item));
        return;
    }
    launch->grid[axis] = n;
    launch->per_item[axis] = per_item;
}

void tsri_opencl_group(tsri_opencl_launch *launch, int x, int y, int z) {
    launch->group[0] = (size_t)x;
    launch->group[1] = (size_t)y;
    launch->group[2] = (size_t)z;
}

void tsri_opencl_work(tsri_opencl_launch *launch, tsr_dim per_item) {
    launch->work = per_item;
}

int tsri_opencl_tuned(const tsri_opencl_launch *launch, const char *name) {
    const int t = tsri_opencl_find_tunable(launch->variant, name);
    return t < 0 ? 0 : launch->values->value[t];
}
