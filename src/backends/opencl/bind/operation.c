/* backends/opencl/bind/operation.c - copies of the seam's structs, made by the rule of
 * struct_size. */
#include "backends/opencl/bind/operation.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { ATTRS_ROOM = 64 };

/* The sizes of the attribute structs that this backend knows. */
static const size_t attrs_sizes[TSR_OP_COUNT] = {
#define SIZE(id, name, attributes) [TSR_OP_##id] = sizeof(attributes),
    TSR_OP_LIST(SIZE)
#undef SIZE
};

tsr_status tsri_opencl_take(const void *given, size_t known, void *copy, const char *what) {
    uint32_t size = 0;
    memset(copy, 0, known);
    if (!given)
        return TSR_OK;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size)
        return tsri_base_fail(TSR_E_ARGUMENT, "%s: struct_size is %u, less than its own size", what,
                              size);
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)given)[i])
            return tsri_base_fail(
                TSR_E_UNSUPPORTED,
                "%s: a newer field, at byte %zu, is set; this backend does not know it", what, i);
    memcpy(copy, given, size < known ? size : known);
    return TSR_OK;
}

static tsr_status copy_tensors(const tsr_tensor *const *from, uint32_t n, tsr_tensor **to,
                               tsr_tensor **next) {
    for (uint32_t i = 0; i < n; i++) {
        if (!from[i])
            continue;
        TRY(tsri_opencl_take(from[i], sizeof **to, *next, "an operand"));
        if ((*next)->rank > TSR_MAX_RANK)
            return tsri_base_fail(TSR_E_ARGUMENT, "an operand has rank %u; the highest rank is %d",
                                  (*next)->rank, TSR_MAX_RANK);
        to[i] = (*next)++;
    }
    return TSR_OK;
}

tsr_status tsri_opencl_operation_copy(const tsr_op *op, tsri_opencl_operation *out) {
    tsr_op given;
    const size_t known = op->id < TSR_OP_COUNT ? attrs_sizes[op->id] : 0;
    *out = (tsri_opencl_operation){0};
    TRY(tsri_opencl_take(op, sizeof given, &given, "an op"));
    const uint32_t n = given.n_in + given.n_out;
    if (n > 64 || given.n_in > 64)
        return tsri_base_fail(TSR_E_ARGUMENT, "an op has %u inputs and %u outputs, more than 64",
                              given.n_in, given.n_out);
    tsr_status status = tsri_base_new(n + 1, sizeof *out->tensors, &out->tensors);
    if (status == TSR_OK)
        status = tsri_base_new(n + 1, sizeof *out->in, &out->in);
    if (status == TSR_OK)
        status = tsri_base_new(1, ATTRS_ROOM, &out->attrs);
    if (status == TSR_OK)
        status = tsri_opencl_take(given.bounds, sizeof out->bounds, &out->bounds, "bounds");
    if (status == TSR_OK && known)
        status = tsri_opencl_take(given.attrs, known, out->attrs, "an op's attributes");
    if (status == TSR_OK && !given.attrs) /* so that a copy of this copy finds zeros */
        memcpy(out->attrs, &(uint32_t){(uint32_t)known}, sizeof(uint32_t));
    tsr_tensor *next = out->tensors;
    if (status == TSR_OK) {
        out->out = out->in + given.n_in;
        status = copy_tensors(given.in, given.n_in, out->in, &next);
    }
    if (status == TSR_OK)
        status = copy_tensors(given.out, given.n_out, out->out, &next);
    if (status != TSR_OK) {
        tsri_opencl_operation_clear(out);
        return status;
    }
    out->op = given;
    out->op.in = (const tsr_tensor *const *)out->in;
    out->op.out = (const tsr_tensor *const *)out->out;
    out->op.attrs = out->attrs;
    out->op.bounds = &out->bounds;
    out->op.label = NULL; /* borrowed for the call only */
    return TSR_OK;
}

void tsri_opencl_operation_clear(tsri_opencl_operation *operation) {
    free(operation->tensors);
    free(operation->in);
    free(operation->attrs);
    *operation = (tsri_opencl_operation){0};
}
