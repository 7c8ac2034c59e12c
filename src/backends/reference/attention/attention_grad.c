/* backends/reference/attention/attention_grad.c - the gradients of attention. For each query of a
 * head it forms the probabilities from the scores and the lse, then adds its share to dq, dk, dv
 * and drelative; sums are in double.
 *
 * source  Dao et al. 2022, arXiv:2205.14135, appendix B */
#include "backends/reference/reference.h"

#include "base/error.h"
#include "tensor/shape.h"

#include <math.h>
#include <string.h>

typedef struct gradient {
    tsri_reference_view q, k, v, y, lse, dy, past, len, bias, relative, dq, dk, dv, drelative;
    tsr_attention_attrs attrs;
    /* [S,D] and [S,Dv] of a key head, [D] of a query, [H,2R+1] */
    double *dk_sum, *dv_sum, *dq_sum, *relative_sum;
} gradient;

int64_t tsri_reference_attention_grad_scratch(const tsr_op *op, const int64_t *sizes) {
    const int64_t S = tsri_tensor_value(op->in[1]->dim[1], sizes);
    const tsr_tensor *relative = op->n_in > 9 ? op->in[9] : NULL;
    return S * (op->in[1]->dim[3].factor + op->in[2]->dim[3].factor) + op->in[0]->dim[3].factor +
           (relative ? relative->dim[0].factor * relative->dim[1].factor : 0);
}

/* The place of element 0 of [b,t,h,:]. */
static int64_t at(const tsri_reference_view *x, int64_t b, int64_t t, int64_t h) {
    return b * x->stride[0] + t * x->stride[1] + h * x->stride[2];
}

/* The keys that query t of sequence b gives gradients to. None where t is past the end of a causal
 * sequence, because attention may write anything there. */
static void visible(const gradient *a, int64_t b, int64_t t, int64_t *first, int64_t *end) {
    tsri_reference_visible(&a->past, &a->len, a->attrs.causal, a->attrs.window, b, t, a->k.dim[1],
                           first, end);
    if (!a->attrs.causal || !a->len.data)
        return;
    const int64_t position =
        t + (a->past.data ? tsri_reference_load_int(&a->past, b * a->past.stride[0]) : 0);
    if (position >= tsri_reference_load_int(&a->len, b * a->len.stride[0]))
        *end = *first;
}

/* The score of a pair, and what a change of <q, k> changes it by. */
static double score(const gradient *a, int64_t b, int64_t t, int64_t h, int64_t s, int64_t g,
                    double *slope) {
    double sum =
        a->attrs.scale * tsri_reference_dot(&a->q, at(&a->q, b, t, h), a->q.stride[3], &a->k,
                                            at(&a->k, b, s, g), a->k.stride[3], a->q.dim[3]);
    *slope = a->attrs.scale;
    if (a->attrs.soft_cap > 0) {
        const double bent = tanh(sum / a->attrs.soft_cap);
        *slope *= 1 - bent * bent;
        sum = a->attrs.soft_cap * bent;
    }
    if (a->bias.data)
        sum += tsri_reference_load(&a->bias, b * a->bias.stride[0] + h * a->bias.stride[1] +
                                                 t * a->bias.stride[2] + s * a->bias.stride[3]);
    return sum + tsri_reference_relative(&a->relative, &a->past, b, t, h, s);
}

static void add_relative(const gradient *a, int64_t b, int64_t t, int64_t h, int64_t s, double ds) {
    const int64_t R = a->relative.dim[1] / 2;
    int64_t distance =
        s - t - (a->past.data ? tsri_reference_load_int(&a->past, b * a->past.stride[0]) : 0);
    distance = distance < -R ? -R : distance > R ? R : distance;
    a->relative_sum[h * a->relative.dim[1] + distance + R] += ds;
}

static void one_query(const gradient *a, int64_t b, int64_t t, int64_t h, int64_t g) {
    const int64_t D = a->q.dim[3], Dv = a->v.dim[3], dy_at = at(&a->dy, b, t, h);
    const double lse = tsri_reference_load(&a->lse, b * a->lse.stride[0] + h * a->lse.stride[1] +
                                                        t * a->lse.stride[2]);
    int64_t first, end;
    visible(a, b, t, &first, &end);
    memset(a->dq_sum, 0, (size_t)D * sizeof(double));
    const double own = first < end ? tsri_reference_dot(&a->dy, dy_at, a->dy.stride[3], &a->y,
                                                        at(&a->y, b, t, h), a->y.stride[3], Dv)
                                   : 0;
    for (int64_t s = first; s < end && lse != -INFINITY; s++) {
        const int64_t v_at = at(&a->v, b, s, g), k_at = at(&a->k, b, s, g);
        double slope;
        const double p = exp(score(a, b, t, h, s, g, &slope) - lse);
        if (p == 0) /* masked keys may be anything, even NaN */
            continue;
        const double ds = p * (tsri_reference_dot(&a->dy, dy_at, a->dy.stride[3], &a->v, v_at,
                                                  a->v.stride[3], Dv) -
                               own);
        for (int64_t d = 0; d < Dv; d++)
            a->dv_sum[s * Dv + d] += p * tsri_reference_load(&a->dy, dy_at + d * a->dy.stride[3]);
        for (int64_t d = 0; d < D; d++) {
            a->dq_sum[d] += slope * ds * tsri_reference_load(&a->k, k_at + d * a->k.stride[3]);
            a->dk_sum[s * D + d] +=
                slope * ds * tsri_reference_load(&a->q, at(&a->q, b, t, h) + d * a->q.stride[3]);
        }
        if (a->drelative.data)
            add_relative(a, b, t, h, s, ds);
    }
    for (int64_t d = 0; d < D; d++)
        tsri_reference_store(&a->dq, at(&a->dq, b, t, h) + d * a->dq.stride[3], a->dq_sum[d]);
}

/* All queries of a key head, and their shares of its keys' gradients. */
static void one_head(const gradient *a, int64_t b, int64_t g) {
    const int64_t S = a->k.dim[1], D = a->k.dim[3], Dv = a->v.dim[3],
                  group = a->q.dim[2] / a->k.dim[2];
    memset(a->dk_sum, 0, (size_t)(S * D) * sizeof(double));
    memset(a->dv_sum, 0, (size_t)(S * Dv) * sizeof(double));
    for (int64_t h = g * group; h < (g + 1) * group; h++)
        for (int64_t t = 0; t < a->q.dim[1]; t++)
            one_query(a, b, t, h, g);
    for (int64_t s = 0; s < S; s++) {
        for (int64_t d = 0; d < D; d++)
            tsri_reference_store(&a->dk, at(&a->dk, b, s, g) + d * a->dk.stride[3],
                                 a->dk_sum[s * D + d]);
        for (int64_t d = 0; d < Dv; d++)
            tsri_reference_store(&a->dv, at(&a->dv, b, s, g) + d * a->dv.stride[3],
                                 a->dv_sum[s * Dv + d]);
    }
}

tsr_status tsri_reference_attention_grad(const tsri_reference_call *call) {
    gradient a = {.q = tsri_reference_in(call, 0),
                  .k = tsri_reference_in(call, 1),
                  .v = tsri_reference_in(call, 2),
                  .y = tsri_reference_in(call, 3),
                  .lse = tsri_reference_in(call, 4),
                  .dy = tsri_reference_in(call, 5),
                  .past = tsri_reference_in(call, 6),
                  .len = tsri_reference_in(call, 7),
                  .bias = tsri_reference_in(call, 8),
                  .relative = tsri_reference_in(call, 9),
                  .dq = tsri_reference_out(call, 0),
                  .dk = tsri_reference_out(call, 1),
                  .dv = tsri_reference_out(call, 2),
                  .drelative = tsri_reference_out(call, 3)};
    tsri_reference_attrs(call->op, &a.attrs, sizeof a.attrs);
    tsri_reference_repeat(&a.bias);
    a.dk_sum = call->scratch;
    a.dv_sum = a.dk_sum + a.k.dim[1] * a.k.dim[3];
    a.dq_sum = a.dv_sum + a.k.dim[1] * a.v.dim[3];
    a.relative_sum = a.dq_sum + a.q.dim[3];
    const int64_t distances = a.relative.data ? a.relative.dim[0] * a.relative.dim[1] : 0;
    memset(a.relative_sum, 0, (size_t)distances * sizeof(double));
    for (int64_t b = 0; b < a.q.dim[0]; b++)
        for (int64_t g = 0; g < a.k.dim[2]; g++)
            one_head(&a, b, g);
    for (int64_t i = 0; a.drelative.data && i < distances; i++)
        tsri_reference_store(&a.drelative, tsri_reference_element_at(&a.drelative, i),
                             a.relative_sum[i]);
    return TSR_OK;
}
