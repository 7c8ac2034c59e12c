/* backends/reference/attention/distance_scores.c - scores by the distance of two tokens. */
#include "backends/reference/attention/place.h"

tsr_status tsri_reference_distance_scores(const tsri_reference_call *call) {
    const tsri_reference_view by_query = tsri_reference_in(call, 0),
                              by_key = tsri_reference_in(call, 1),
                              place = tsri_reference_in(call, 2), y = tsri_reference_out(call, 0);
    for (int64_t row = 0; row < y.dim[0] * y.dim[1] * y.dim[2]; row++) {
        const int64_t t = row % y.dim[2], h = row / y.dim[2] % y.dim[1],
                      b = row / y.dim[2] / y.dim[1];
        for (int64_t s = 0; s < y.dim[3]; s++) {
            int64_t p;
            TRY(tsri_reference_place(call->op, &place, s - t, by_query.dim[3], &p));
            tsri_reference_store(
                &y, tsri_reference_at4(&y, b, h, t, s),
                tsri_reference_load(&by_query, tsri_reference_at4(&by_query, b, h, t, p)) +
                    tsri_reference_load(&by_key, tsri_reference_at4(&by_key, b, h, s, p)));
        }
    }
    return TSR_OK;
}
