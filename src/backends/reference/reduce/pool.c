/* backends/reference/reduce/pool.c - pool: one vector for each sequence.
 *
 * source  Reimers, Gurevych 2019, arXiv:1908.10084 */
#include "backends/reference/reference.h"

#include <math.h>

static double pooled(const tsri_reference_view *x, int64_t at, uint32_t kind, int64_t n) {
    double value = kind == TSR_POOL_MAX ? NAN : 0;
    if (n <= 0)
        return 0;
    if (kind == TSR_POOL_FIRST || kind == TSR_POOL_LAST)
        return tsri_reference_load(x, at + (kind == TSR_POOL_LAST ? n - 1 : 0) * x->stride[1]);
    for (int64_t t = 0; t < n; t++) {
        const double element = tsri_reference_load(x, at + t * x->stride[1]);
        value = kind == TSR_POOL_MAX ? fmax(value, element) : value + element;
    }
    return kind == TSR_POOL_MAX ? value : value / (double)n;
}

tsr_status tsri_reference_pool(const tsri_reference_call *call) {
    tsr_pool_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), len = tsri_reference_in(call, 1),
                              y = tsri_reference_out(call, 0);
    for (int64_t b = 0; b < x.dim[0]; b++) {
        const int64_t limit =
            len.data ? tsri_reference_load_int(&len, b * len.stride[0]) : x.dim[1];
        const int64_t n = limit < x.dim[1] ? limit : x.dim[1];
        for (int64_t c = 0; c < x.dim[2]; c++)
            tsri_reference_store(&y, b * y.stride[0] + c * y.stride[1],
                                 pooled(&x, b * x.stride[0] + c * x.stride[2], attrs.kind, n));
    }
    return TSR_OK;
}
