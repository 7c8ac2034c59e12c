/* backends/reference/attention/additive_attention.c - additive_attention: scores of a tanh, softmax
 * and the sum of values.
 *
 * source  Bahdanau, Cho, Bengio 2015, arXiv:1409.0473 */
#include "backends/reference/reference.h"

#include "base/error.h"
#include "tensor/shape.h"

#include <math.h>

typedef struct additive {
    tsri_reference_view q, k, v, values, y, probabilities;
    double *p; /* [S] */
} additive;

int64_t tsri_reference_additive_attention_scratch(const tsr_op *op, const int64_t *sizes) {
    return tsri_tensor_value(op->in[1]->dim[1], sizes);
}

/* Query t of sequence b, over the first n keys of slot j. */
static void one_query(const additive *a, int64_t b, int64_t t, int64_t j, int64_t n) {
    double top = -INFINITY, sum = 0;
    for (int64_t s = 0; s < n; s++) {
        a->p[s] = 0;
        for (int64_t i = 0; i < a->q.dim[2]; i++)
            a->p[s] += tsri_reference_load(&a->v, i * a->v.stride[0]) *
                       tanh(tsri_reference_load(&a->q, b * a->q.stride[0] + t * a->q.stride[1] +
                                                           i * a->q.stride[2]) +
                            tsri_reference_load(&a->k, j * a->k.stride[0] + s * a->k.stride[1] +
                                                           i * a->k.stride[2]));
        top = fmax(top, a->p[s]);
    }
    for (int64_t s = 0; s < n; s++) {
        a->p[s] = exp(a->p[s] - top);
        sum += a->p[s];
    }
    for (int64_t e = 0; e < a->values.dim[2]; e++) {
        double value = 0;
        for (int64_t s = 0; s < n; s++)
            value +=
                a->p[s] / sum *
                tsri_reference_load(&a->values, j * a->values.stride[0] + s * a->values.stride[1] +
                                                    e * a->values.stride[2]);
        tsri_reference_store(&a->y, b * a->y.stride[0] + t * a->y.stride[1] + e * a->y.stride[2],
                             value);
    }
    for (int64_t s = 0; a->probabilities.data && s < a->k.dim[1]; s++)
        tsri_reference_store(&a->probabilities,
                             b * a->probabilities.stride[0] + t * a->probabilities.stride[1] +
                                 s * a->probabilities.stride[2],
                             s < n ? a->p[s] / sum : 0);
}

tsr_status tsri_reference_additive_attention(const tsri_reference_call *call) {
    const additive a = {.q = tsri_reference_in(call, 0),
                        .k = tsri_reference_in(call, 1),
                        .v = tsri_reference_in(call, 2),
                        .values = tsri_reference_in(call, 3),
                        .y = tsri_reference_out(call, 0),
                        .probabilities = tsri_reference_out(call, 1),
                        .p = call->scratch};
    const tsri_reference_view len = tsri_reference_in(call, 4), slot = tsri_reference_in(call, 5);
    for (int64_t b = 0; b < a.q.dim[0]; b++) {
        const int64_t limit =
            len.data ? tsri_reference_load_int(&len, b * len.stride[0]) : a.k.dim[1];
        const int64_t n = limit < a.k.dim[1] ? limit : a.k.dim[1];
        const int64_t j = slot.data ? tsri_reference_load_int(&slot, b * slot.stride[0]) : b;
        TRY(tsri_reference_check_index(call->op, "the sequence of keys", j, a.k.dim[0]));
        for (int64_t t = 0; t < a.q.dim[1]; t++)
            one_query(&a, b, t, j, n > 0 ? n : 0);
    }
    return TSR_OK;
}
