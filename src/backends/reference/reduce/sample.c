/* backends/reference/reduce/sample.c - the op sample. */
#include "backends/reference/reference.h"
#include "tensor/draw.h"
#include "tensor/operands.h"

TSRI_OPERANDS(sample);

static int32_t setting(const tsri_reference_view *settings, int64_t row, int64_t i) {
    return (int32_t)tsri_reference_load_int(settings, tsri_reference_row_at(settings, row) +
                                                          i * tsri_reference_step(settings));
}

tsr_status tsri_reference_sample(const tsri_reference_call *call) {
    const tsri_reference_view values = tsri_reference_in(call, VALUES),
                              indices = tsri_reference_in(call, INDICES),
                              rate = tsri_reference_in(call, RATE),
                              settings = tsri_reference_in(call, SETTINGS),
                              y = tsri_reference_out(call, Y);
    for (int64_t r = 0, R = tsri_reference_rows(&values); r < R; r++) {
        const tsri_tensor_draw draw = {
            .rate = (float)tsri_reference_load(&rate, tsri_reference_element_at(&rate, r)),
            .top_k = setting(&settings, r, 0),
            .top_p = (uint32_t)setting(&settings, r, 1),
            .min_p = (uint32_t)setting(&settings, r, 2),
            .random = (uint32_t)setting(&settings, r, 3)};
        const int64_t drawn = tsri_tensor_draw_one(
            &draw, (const float *)(const void *)values.data + tsri_reference_row_at(&values, r),
            tsri_reference_step(&values), tsri_reference_columns(&values));
        tsri_reference_store_int(
            &y, tsri_reference_element_at(&y, r),
            drawn < 0
                ? drawn
                : tsri_reference_load_int(&indices, tsri_reference_row_at(&indices, r) +
                                                        drawn * tsri_reference_step(&indices)));
    }
    return TSR_OK;
}
