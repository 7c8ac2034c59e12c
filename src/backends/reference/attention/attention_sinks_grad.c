/* backends/reference/attention/attention_sinks_grad.c - what each query adds to the gradient of attention's
 * sinks. */
#include "backends/reference/reference.h"

#include <math.h>

typedef struct gradient {
    tsri_reference_view sinks, y, lse, dy, past, len, dsinks;
    bool causal;
} gradient;

/* Whether query t of sequence b lies past the end of a causal sequence. */
static bool is_past_end(const gradient *a, int64_t b, int64_t t) {
    const int64_t before =
        a->past.data ? tsri_reference_load_int(&a->past, b * a->past.stride[0]) : 0;
    return a->causal && a->len.data &&
           before + t >= tsri_reference_load_int(&a->len, b * a->len.stride[0]);
}

static double share_of(const gradient *a, int64_t b, int64_t t, int64_t h) {
    if (is_past_end(a, b, t))
        return 0;
    const double own = tsri_reference_dot(
        &a->dy, b * a->dy.stride[0] + t * a->dy.stride[1] + h * a->dy.stride[2], a->dy.stride[3],
        &a->y, b * a->y.stride[0] + t * a->y.stride[1] + h * a->y.stride[2], a->y.stride[3],
        a->y.dim[3]);
    const double lse = tsri_reference_load(&a->lse, b * a->lse.stride[0] + h * a->lse.stride[1] +
                                                        t * a->lse.stride[2]);
    return -exp(tsri_reference_load(&a->sinks, h * a->sinks.stride[0]) - lse) * own;
}

tsr_status tsri_reference_attention_sinks_grad(const tsri_reference_call *call) {
    tsr_attention_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const gradient a = {.sinks = tsri_reference_in(call, 0),
                        .y = tsri_reference_in(call, 1),
                        .lse = tsri_reference_in(call, 2),
                        .dy = tsri_reference_in(call, 3),
                        .past = tsri_reference_in(call, 4),
                        .len = tsri_reference_in(call, 5),
                        .dsinks = tsri_reference_out(call, 0),
                        .causal = attrs.causal != 0};
    const int64_t B = a.y.dim[0], T = a.y.dim[1], H = a.y.dim[2];
    for (int64_t i = 0; i < B * T * H; i++)
        tsri_reference_store(&a.dsinks, tsri_reference_element_at(&a.dsinks, i),
                             share_of(&a, i / H / T, i / H % T, i % H));
    return TSR_OK;
}
