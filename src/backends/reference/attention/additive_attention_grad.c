/* backends/reference/attention/additive_attention_grad.c - the gradients of additive_attention.
 *
 * source  Bahdanau, Cho, Bengio 2015, arXiv:1409.0473, differentiated */
#include "backends/reference/reference.h"

#include "tensor/shape.h"

#include <math.h>
#include <string.h>

typedef struct additive {
    tsri_reference_view q, k, v, values, probabilities, dy, dq, dk, dv, dvalues;
    double *ds, *dq_sum, *dk_sum, *dv_sum; /* [T,S], [T,A], [S,A], [A] of a sequence */
} additive;

int64_t tsri_reference_additive_attention_grad_scratch(const tsr_op *op, const int64_t *sizes) {
    const int64_t T = tsri_tensor_value(op->in[0]->dim[1], sizes),
                  S = tsri_tensor_value(op->in[1]->dim[1], sizes), A = op->in[0]->dim[2].factor;
    return T * S + (T + S + 1) * A;
}

static int64_t at(const tsri_reference_view *x, int64_t b, int64_t row, int64_t i) {
    return b * x->stride[0] + row * x->stride[1] + i * x->stride[2];
}

/* The gradients of the scores of query t, for the n keys that it sees. */
static void one_query(const additive *a, int64_t b, int64_t t, int64_t n, double *ds) {
    double mean = 0;
    for (int64_t s = 0; s < n; s++) {
        ds[s] = tsri_reference_dot(&a->dy, at(&a->dy, b, t, 0), a->dy.stride[2], &a->values,
                                   at(&a->values, b, s, 0), a->values.stride[2], a->dy.dim[2]);
        mean += tsri_reference_load(&a->probabilities, at(&a->probabilities, b, t, s)) * ds[s];
    }
    for (int64_t s = 0; s < n; s++)
        ds[s] =
            tsri_reference_load(&a->probabilities, at(&a->probabilities, b, t, s)) * (ds[s] - mean);
}

static void add_pair(const additive *a, int64_t b, int64_t t, int64_t s, double ds) {
    const int64_t A = a->q.dim[2];
    for (int64_t i = 0; i < A; i++) {
        const double bent = tanh(tsri_reference_load(&a->q, at(&a->q, b, t, i)) +
                                 tsri_reference_load(&a->k, at(&a->k, b, s, i)));
        const double dx = ds * tsri_reference_load(&a->v, i * a->v.stride[0]) * (1 - bent * bent);
        a->dq_sum[t * A + i] += dx;
        a->dk_sum[s * A + i] += dx;
        a->dv_sum[i] += ds * bent;
    }
}

static void one_sequence(const additive *a, int64_t b, int64_t n) {
    const int64_t T = a->q.dim[1], S = a->k.dim[1], A = a->q.dim[2];
    memset(a->dq_sum, 0, (size_t)((T + S + 1) * A) * sizeof(double));
    for (int64_t t = 0; t < T; t++) {
        one_query(a, b, t, n, a->ds + t * S);
        for (int64_t s = 0; s < n; s++)
            add_pair(a, b, t, s, a->ds[t * S + s]);
    }
    for (int64_t i = 0; i < A; i++) {
        for (int64_t t = 0; t < T; t++)
            tsri_reference_store(&a->dq, at(&a->dq, b, t, i), a->dq_sum[t * A + i]);
        for (int64_t s = 0; s < S; s++)
            tsri_reference_store(&a->dk, at(&a->dk, b, s, i), a->dk_sum[s * A + i]);
        tsri_reference_store(&a->dv, b * a->dv.stride[0] + i * a->dv.stride[1], a->dv_sum[i]);
    }
    for (int64_t s = 0; s < S; s++)
        for (int64_t e = 0; e < a->values.dim[2]; e++) {
            double sum = 0;
            for (int64_t t = 0; t < T && s < n; t++)
                sum += tsri_reference_load(&a->probabilities, at(&a->probabilities, b, t, s)) *
                       tsri_reference_load(&a->dy, at(&a->dy, b, t, e));
            tsri_reference_store(&a->dvalues, at(&a->dvalues, b, s, e), sum);
        }
}

tsr_status tsri_reference_additive_attention_grad(const tsri_reference_call *call) {
    additive a = {.q = tsri_reference_in(call, 0),
                  .k = tsri_reference_in(call, 1),
                  .v = tsri_reference_in(call, 2),
                  .values = tsri_reference_in(call, 3),
                  .probabilities = tsri_reference_in(call, 4),
                  .dy = tsri_reference_in(call, 5),
                  .dq = tsri_reference_out(call, 0),
                  .dk = tsri_reference_out(call, 1),
                  .dv = tsri_reference_out(call, 2),
                  .dvalues = tsri_reference_out(call, 3)};
    const tsri_reference_view len = tsri_reference_in(call, 6);
    const int64_t T = a.q.dim[1], S = a.k.dim[1], A = a.q.dim[2];
    a.ds = call->scratch;
    a.dq_sum = a.ds + T * S;
    a.dk_sum = a.dq_sum + T * A;
    a.dv_sum = a.dk_sum + S * A;
    for (int64_t b = 0; b < a.q.dim[0]; b++) {
        const int64_t limit = len.data ? tsri_reference_load_int(&len, b * len.stride[0]) : S;
        one_sequence(&a, b, limit < 0 ? 0 : limit < S ? limit : S);
    }
    return TSR_OK;
}
