/* backends/reference/attention/attention.c - softmax(q kᵀ * scale + bias + relative) v over the
 * visible keys of each query, in two passes; scratch has the probabilities of one query.
 *
 * source  Vaswani et al. 2017, arXiv:1706.03762; Ainslie et al. 2023, arXiv:2305.13245
 *         (grouped queries) */
#include "backends/reference/reference.h"

#include "tensor/operands.h"
#include "tensor/shape.h"

#include <math.h>

typedef struct attention {
    tsri_reference_view q, k, v, past, len, slot, source, bias, relative, sinks, pages, y, lse;
    tsr_attention_attrs attrs;
    const tsr_op *op;
    double *p; /* [S] */
} attention;

int64_t tsri_reference_attention_scratch(const tsr_op *op, const int64_t *sizes) {
    return tsri_tensor_value(tsri_tensor_positions(op, "S"), sizes);
}

/* The sequence or page of k and v that has key s of sequence b. */
static int64_t home(const attention *a, int64_t b, int64_t s) {
    if (a->source.data)
        return tsri_reference_load_int(&a->source,
                                       b * a->source.stride[0] + s * a->source.stride[1]);
    return tsri_reference_home(&a->slot, &a->pages, a->k.dim[1], b, s);
}

static tsr_status one_query(const attention *a, int64_t b, int64_t t, int64_t h) {
    const int64_t run = a->k.dim[1], S = a->pages.data ? run * a->pages.dim[1] : run,
                  g = h / (a->q.dim[2] / a->k.dim[2]), D = a->q.dim[3], Dv = a->v.dim[3];
    int64_t first, end;
    tsri_reference_visible(&a->past, &a->len, a->attrs.causal, a->attrs.window, b, t, S, &first,
                           &end);
    const double sink =
        a->sinks.data ? tsri_reference_load(&a->sinks, h * a->sinks.stride[0]) : -INFINITY;
    double top = sink, sum = 0;
    for (int64_t s = first; s < end; s++) {
        const int64_t j = home(a, b, s);
        if (j < 0 || j >= a->k.dim[0])
            return tsri_reference_check_index(a->op, "the sequence of keys", j, a->k.dim[0]);
        const int64_t q_at = b * a->q.stride[0] + t * a->q.stride[1] + h * a->q.stride[2];
        const int64_t k_at = j * a->k.stride[0] + s % run * a->k.stride[1] + g * a->k.stride[2];
        a->p[s] = a->attrs.scale *
                  tsri_reference_dot(&a->q, q_at, a->q.stride[3], &a->k, k_at, a->k.stride[3], D);
        if (a->attrs.soft_cap > 0)
            a->p[s] = a->attrs.soft_cap * tanh(a->p[s] / a->attrs.soft_cap);
        if (a->bias.data)
            a->p[s] +=
                tsri_reference_load(&a->bias, b * a->bias.stride[0] + h * a->bias.stride[1] +
                                                  t * a->bias.stride[2] + s * a->bias.stride[3]);
        a->p[s] += tsri_reference_relative(&a->relative, &a->past, b, t, h, s);
        top = fmax(top, a->p[s]);
    }
    for (int64_t s = first; s < end; s++) {
        a->p[s] = tsri_reference_exp(a->p[s], top);
        sum += a->p[s];
    }
    sum += tsri_reference_exp(sink, top);
    for (int64_t d = 0; d < Dv; d++) {
        double value = 0;
        for (int64_t s = first; s < end && sum != 0; s++)
            if (a->p[s] != 0) /* values of masked keys may be anything, even NaN */
                value += a->p[s] / sum *
                         tsri_reference_load(&a->v, home(a, b, s) * a->v.stride[0] +
                                                        s % run * a->v.stride[1] +
                                                        g * a->v.stride[2] + d * a->v.stride[3]);
        tsri_reference_store(&a->y,
                             b * a->y.stride[0] + t * a->y.stride[1] + h * a->y.stride[2] +
                                 d * a->y.stride[3],
                             value);
    }
    if (a->lse.data)
        tsri_reference_store(&a->lse,
                             b * a->lse.stride[0] + h * a->lse.stride[1] + t * a->lse.stride[2],
                             sum != 0 ? top + log(sum) : -INFINITY);
    return TSR_OK;
}

tsr_status tsri_reference_attention(const tsri_reference_call *call) {
    attention a = {.q = tsri_reference_in(call, 0),
                   .k = tsri_reference_in(call, 1),
                   .v = tsri_reference_in(call, 2),
                   .past = tsri_reference_in(call, 3),
                   .len = tsri_reference_in(call, 4),
                   .slot = tsri_reference_in(call, 5),
                   .source = tsri_reference_in(call, 6),
                   .bias = tsri_reference_in(call, 7),
                   .relative = tsri_reference_in(call, 8),
                   .sinks = tsri_reference_in(call, 9),
                   .pages = tsri_reference_in(call, 10),
                   .y = tsri_reference_out(call, 0),
                   .lse = tsri_reference_out(call, 1),
                   .op = call->op,
                   .p = call->scratch};
    tsri_reference_attrs(call->op, &a.attrs, sizeof a.attrs);
    tsri_reference_repeat(&a.bias);
    tsr_status status = TSR_OK;
    for (int64_t b = 0; b < a.q.dim[0]; b++)
        for (int64_t t = 0; t < a.q.dim[1]; t++)
            for (int64_t h = 0; h < a.q.dim[2] && status == TSR_OK; h++)
                status = one_query(&a, b, t, h);
    return status;
}
