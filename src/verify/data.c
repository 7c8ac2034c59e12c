/* What the operands of a case hold. */
#include "verify/verify.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "tensor/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 20170612 };

void tsri_verify_leaf_dims(const tsri_verify_operand *operand, tsr_dim dims[TSR_MAX_RANK]) {
    const uint32_t rank = operand->rank, a = rank > 2 ? rank - 3 : 0, b = a + 1;
    memcpy(dims, operand->dim, sizeof operand->dim);
    if (operand->view == TSRI_VERIFY_SLICED)
        dims[rank - 1].factor += 2 * TSRI_VERIFY_MARGIN;
    if (operand->view == TSRI_VERIFY_SWAPPED) {
        dims[a] = operand->dim[b];
        dims[b] = operand->dim[a];
    }
}

static double element(const tsri_verify_operand *operand, int number, size_t i, size_t n) {
    const double extremes[] = {operand->low, operand->high, 0x1p-100, -0x1p-100, 1, -1, 0.0, -0.0};
    const double u = tsri_base_uniform(SEED, (uint64_t)number, i);
    switch (operand->fill) {
    case TSRI_VERIFY_INTEGER:
        return operand->low + floor(u * (operand->high - operand->low + 1));
    case TSRI_VERIFY_EQUAL:
        return operand->low;
    case TSRI_VERIFY_ZEROS:
        return i % 2 ? -0.0 : 0.0;
    case TSRI_VERIFY_EXTREME:
        return extremes[i % (sizeof extremes / sizeof *extremes)];
    case TSRI_VERIFY_POWERS:
        return pow(operand->high, -(double)i / (double)n);
    case TSRI_VERIFY_LIST:
        return operand->list[i % (size_t)operand->n_list];
    case TSRI_VERIFY_MASK:
        return u < operand->low ? -INFINITY : 0;
    case TSRI_VERIFY_SOME_NAN:
        return u < operand->low ? NAN : 2 * (u - operand->low) / (1 - operand->low) - 1;
    default:
        return operand->low + u * (operand->high - operand->low);
    }
}

static tsr_status fill_operand(const tsri_verify_case *c, int number, bool magnitude, void **out,
                               size_t *bytes) {
    const tsri_verify_operand *operand = &c->in[number];
    tsr_tensor leaf = {.rank = operand->rank, .dtype = operand->dtype};
    tsri_verify_leaf_dims(operand, leaf.dim);
    size_t count = 1;
    for (uint32_t i = 0; i < leaf.rank; i++)
        count *= (size_t)tsri_tensor_value(leaf.dim[i], c->sizes);
    const size_t size = (size_t)tsri_tensor_dtype_info(operand->dtype)->bytes;
    *bytes = count * size;
    TRY(tsri_base_new_aligned(*bytes + size, out));
    for (size_t i = 0; i < count; i++) {
        const double value = element(operand, number, i, count);
        const float rounded = (float)(magnitude && operand->absolute ? fabs(value) : value);
        TRY(tsri_tensor_convert(operand->dtype, (char *)*out + i * size, TSR_F32, &rounded, 1));
    }
    return TSR_OK;
}

tsr_status tsri_verify_fill_values(const tsri_verify_case *c, bool magnitude,
                                   tsri_verify_values *values) {
    *values = (tsri_verify_values){0};
    for (int i = 0; i < TSRI_VERIFY_MAX_IN; i++)
        if (c->in[i].present)
            TRY(fill_operand(c, i, magnitude, &values->in[i], &values->in_bytes[i]));
    return TSR_OK;
}

void tsri_verify_poison(const tsri_verify_case *c, tsri_verify_values *values) {
    for (int i = 0; i < TSRI_VERIFY_MAX_IN; i++)
        if (c->in[i].present && c->in[i].kind == TSR_KIND_INPUT && c->in[i].dtype == TSR_F32)
            memset(values->in[i], 0xff, values->in_bytes[i]); /* a NaN */
}

void tsri_verify_clear_values(tsri_verify_values *values) {
    for (int i = 0; i < TSRI_VERIFY_MAX_IN; i++)
        free(values->in[i]);
    for (int i = 0; i < TSRI_VERIFY_MAX_OUT; i++)
        free(values->out[i]);
    *values = (tsri_verify_values){0};
}
