/* backends/reference/attention/distance_scores_grad.c - the gradient of distance_scores. */
#include "backends/reference/attention/place.h"

/* Adds what row i of side `by` has of dy; side 0 is by_query, 1 by_key. */
static tsr_status add_row(const tsri_reference_call *call, int side, int64_t b, int64_t h,
                          int64_t i) {
    const tsri_reference_view place = tsri_reference_in(call, 2), dy = tsri_reference_in(call, 3),
                              d = tsri_reference_out(call, side);
    for (int64_t p = 0; p < d.dim[3]; p++)
        tsri_reference_store(&d, tsri_reference_at4(&d, b, h, i, p), 0);
    for (int64_t j = 0; j < dy.dim[3 - side]; j++) {
        int64_t p;
        TRY(tsri_reference_place(call->op, &place, side ? i - j : j - i, d.dim[3], &p));
        const int64_t from = side ? tsri_reference_at4(&dy, b, h, j, i)
                                  : tsri_reference_at4(&dy, b, h, i, j),
                      to = tsri_reference_at4(&d, b, h, i, p);
        tsri_reference_store(&d, to, tsri_reference_load(&d, to) + tsri_reference_load(&dy, from));
    }
    return TSR_OK;
}

tsr_status tsri_reference_distance_scores_grad(const tsri_reference_call *call) {
    for (int side = 0; side < 2; side++) {
        const tsri_reference_view d = tsri_reference_out(call, side);
        for (int64_t row = 0; row < d.dim[0] * d.dim[1] * d.dim[2]; row++)
            TRY(add_row(call, side, row / d.dim[2] / d.dim[1], row / d.dim[2] % d.dim[1],
                        row % d.dim[2]));
    }
    return TSR_OK;
}
