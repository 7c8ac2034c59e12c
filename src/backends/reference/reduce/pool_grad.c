/* backends/reference/reduce/pool_grad.c - the gradient of pool. */
#include "backends/reference/reference.h"

#include <math.h>

/* The step whose element c is taken; for max it is the first of the largest, and NaN counts as
 * smallest. */
static int64_t chosen(const tsri_reference_view *x, int64_t at, uint32_t kind, int64_t n) {
    int64_t best = 0;
    if (kind == TSR_POOL_LAST)
        return n - 1;
    for (int64_t t = 1; t < n && kind == TSR_POOL_MAX; t++) {
        const double now = tsri_reference_load(x, at + t * x->stride[1]),
                     before = tsri_reference_load(x, at + best * x->stride[1]);
        if (now > before || (isnan(before) && !isnan(now)))
            best = t;
    }
    return best;
}

tsr_status tsri_reference_pool_grad(const tsri_reference_call *call) {
    tsr_pool_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), len = tsri_reference_in(call, 1),
                              dy = tsri_reference_in(call, 2), dx = tsri_reference_out(call, 0);
    for (int64_t b = 0; b < x.dim[0]; b++) {
        const int64_t limit =
            len.data ? tsri_reference_load_int(&len, b * len.stride[0]) : x.dim[1];
        const int64_t n = limit < x.dim[1] ? limit : x.dim[1];
        for (int64_t c = 0; c < x.dim[2]; c++) {
            const bool mean = attrs.kind == TSR_POOL_MEAN;
            const int64_t taker = chosen(&x, b * x.stride[0] + c * x.stride[2], attrs.kind, n);
            const double d = tsri_reference_load(&dy, b * dy.stride[0] + c * dy.stride[1]);
            for (int64_t t = 0; t < x.dim[1]; t++)
                tsri_reference_store(&dx, b * dx.stride[0] + t * dx.stride[1] + c * dx.stride[2],
                                     t >= n       ? 0
                                     : mean       ? d / (double)n
                                     : t == taker ? d
                                                  : 0);
        }
    }
    return TSR_OK;
}
