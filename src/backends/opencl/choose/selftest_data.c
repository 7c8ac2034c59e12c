/* backends/opencl/choose/selftest_data.c - the contents of the operands of a kernel's trial. */
#include "backends/opencl/choose/selftest.h"
#include "base/error.h"
#include "base/memory.h"
#include "tensor/convert.h"
#include "tensor/shape.h"

#include <stdlib.h>

static uint32_t scramble(uint32_t n, uint32_t stream) {
    n = n * 2654435761u + stream * 0x9e3779b9u;
    n = (n ^ n >> 15) * 0x2c1b3c6du;
    return n ^ n >> 12;
}

/* One of 0 .. n - 1: first the last, then the first, then any. */
static int32_t place_of(int64_t i, int64_t n) {
    if (n < 1)
        return 0;
    return (int32_t)(i == 0 ? n - 1 : i == 1 ? 0 : (int64_t)scramble((uint32_t)i, 7) % n);
}

static int64_t size_of(const tsri_opencl_trial *t, uint32_t operand, uint32_t axis) {
    const tsr_tensor *tensor = t->operation.in[operand];
    return tsri_tensor_value(tensor->dim[axis], t->sizes);
}

static int64_t width_of(const tsri_opencl_trial *t) {
    return size_of(t, 0, t->operation.in[0]->rank - 1);
}

/* The position where sequence i begins among `keys` key positions: the first sequence fills them to
 * the end. */
static int64_t past_of(const tsri_opencl_trial *t, int64_t i, int64_t keys) {
    const int64_t T = t->sizes[1];
    return keys > T ? place_of(i, keys - T + 1) : 0;
}

/* A fact of a sequence that attends: past (0), len (1), slot or source (2). */
static int32_t fact_of(const tsri_opencl_trial *t, uint32_t fact, int64_t i, int64_t keys,
                       int64_t slots) {
    const int64_t past = past_of(t, i, keys), end = past + t->sizes[1];
    return (int32_t)(fact == 0   ? past
                     : fact == 1 ? (end < keys ? end : keys)
                                 : i % (slots > 0 ? slots : 1));
}

/* Positions, lengths, slots and ids that are valid for the op. */
static int32_t index_of(const tsri_opencl_trial *t, uint32_t operand, int64_t i) {
    const int64_t T = t->sizes[1];
    switch (t->operation.op.id) {
    case TSR_OP_EMBED:
    case TSR_OP_GATHER:
        return place_of(i, size_of(t, 0, 0));
    case TSR_OP_EMBED_ADD:
    case TSR_OP_SCATTER: /* some occur more than once */
        return i % 3 == 2 ? (int32_t)(i * i % 11 % size_of(t, 0, 0))
                          : place_of(i, size_of(t, 0, 0));
    case TSR_OP_ATTENTION:
        return fact_of(t, operand - 3, i, size_of(t, 1, 1), size_of(t, 1, 0));
    case TSR_OP_KV_APPEND:
        return fact_of(t, operand - 2, i, size_of(t, 0, 2), size_of(t, 0, 0));
    case TSR_OP_QKV_APPEND:
        return operand < 8 ? fact_of(t, operand - 4, i, size_of(t, 0, 2), size_of(t, 0, 0))
                           : (int32_t)(i * 37 % 2048);
    case TSR_OP_ROPE:
        return (int32_t)(i * 37 % 2048);
    case TSR_OP_ADDITIVE_ATTENTION: {
        const int64_t S = size_of(t, 1, 1), slots = size_of(t, 1, 0);
        return (int32_t)(operand == 4 ? S - i % (S > 0 ? S : 1) : i % (slots > 0 ? slots : 1));
    }
    case TSR_OP_ATTENTION_GRAD: {
        const int64_t S = size_of(t, 1, 1), past = S > T ? S - T : 0;
        return (int32_t)(operand == 6 ? past : past + T - i % 3);
    }
    case TSR_OP_ADDITIVE_ATTENTION_GRAD: {
        const int64_t S = size_of(t, 1, 1);
        return (int32_t)(S - i % (S > 0 ? S : 1));
    }
    case TSR_OP_GRU_CELL:
    case TSR_OP_GRU_CELL_GRAD:
    case TSR_OP_POOL:
    case TSR_OP_POOL_GRAD: {
        const int64_t steps = size_of(t, 0, 1);
        return (int32_t)(steps - i % (steps > 0 ? steps : 1));
    }
    case TSR_OP_CROSS_ENTROPY:
    case TSR_OP_CROSS_ENTROPY_GRAD:
    case TSR_OP_KL_DIVERGENCE:
    case TSR_OP_KL_DIVERGENCE_GRAD:
        return place_of(i, width_of(t));
    case TSR_OP_SOFTMAX: {
        const int64_t S = width_of(t);
        return (int32_t)(operand == 1 ? (S > T ? S - T : 0) : S);
    }
    default:
        return (int32_t)i;
    }
}

/* Multiples of 1/8 in [-1, 1]: they are exact in every float dtype, so that sums of products are
 * exact in f32. */
static float number_of(const tsri_opencl_trial *t, uint32_t operand, size_t i) {
    const int eighths = (int)(scramble((uint32_t)i, operand) % 17) - 8;
    const float value = (float)eighths / 8.0f;
    if (t->operation.op.id != TSR_OP_ADAMW || (operand != 2 && operand != 4))
        return value;
    return 0.125f + (value < 0 ? -value : value); /* the op takes their roots and divides by them */
}

tsr_status tsri_opencl_trial_fill(const tsri_opencl_trial *t, uint32_t operand, void **out) {
    const tsr_tensor *tensor = t->operation.in[operand];
    const size_t n = tsri_opencl_trial_count(t, operand);
    uint64_t bytes = 0;
    float *values = NULL;
    if (!tsri_tensor_bytes((tsr_dtype)tensor->dtype, n, &bytes))
        return tsri_base_fail(TSR_E_INTERNAL,
                              "the bytes of a self-test's %zu elements can't be counted", n);
    TRY(tsri_base_new_aligned(bytes ? (size_t)bytes : 1, out));
    if (tensor->dtype == TSR_I32) {
        for (size_t i = 0; i < n; i++)
            ((int32_t *)*out)[i] = index_of(t, operand, (int64_t)i);
        return TSR_OK;
    }
    const bool f32 = tensor->dtype == TSR_F32;
    if (f32)
        values = *out;
    else
        TRY(tsri_base_new(n ? n : 1, sizeof *values, &values));
    for (size_t i = 0; i < n; i++)
        values[i] = number_of(t, operand, i);
    if (f32)
        return TSR_OK;
    const tsr_status status =
        tsri_tensor_convert((tsr_dtype)tensor->dtype, *out, TSR_F32, values, n);
    free(values);
    return status;
}

bool tsri_opencl_trial_writes(const tsri_opencl_trial *t, uint32_t place) {
    uint32_t written = 0; /* bit i: input i */
    switch (t->operation.op.id) {
    case TSR_OP_KV_APPEND:
    case TSR_OP_ACCUMULATE:
    case TSR_OP_MATMUL_ADD:
    case TSR_OP_EMBED_ADD:
    case TSR_OP_SUMSQ:
        written = 1;
        break;
    case TSR_OP_QKV_APPEND:
        written = 1 | 2;
        break;
    case TSR_OP_ADAMW:
        written = 1 | 2 | 4 | 32;
        break;
    case TSR_OP_SGD:
        written = 1 | 2 | 16;
        break;
    default:
        break;
    }
    return place >= t->operation.op.n_in || written >> place & 1;
}
