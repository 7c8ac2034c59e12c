/* model/weights/taps.c - which tokens a convolution over tokens reads. */
#include "model/weights/taps.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

tsr_status tsri_model_tap_inputs_fill(const tsri_model_stack *stack, const int32_t *len, int64_t B,
                                      int64_t T, tsri_model_tap_inputs *out) {
    const int64_t taps = stack->conv_taps;
    size_t i = 0;
    out->count = (size_t)(B * T * taps);
    if (!taps)
        return TSR_OK;
    TRY(tsri_base_grow(&out->rows, &out->rows_room, out->count, sizeof *out->rows));
    TRY(tsri_base_grow(&out->mask, &out->mask_room, out->count, sizeof *out->mask));
    for (int64_t b = 0; b < B; b++)
        for (int64_t t = 0; t < T; t++)
            for (int64_t tap = 0; tap < taps; tap++, i++) {
                const int64_t from = t + tap - (taps - 1) / 2;
                const bool seen = from >= 0 && from < len[b];
                out->rows[i] = (int32_t)(b * T + (seen ? from : t));
                out->mask[i] = seen ? 1 : 0;
            }
    return TSR_OK;
}

void tsri_model_tap_inputs_clear(tsri_model_tap_inputs *inputs) {
    free(inputs->rows);
    free(inputs->mask);
    *inputs = (tsri_model_tap_inputs){0};
}
