/* model/weights/taps.h - which tokens a convolution over tokens reads. */
#ifndef TSRI_MODEL_WEIGHTS_TAPS_H
#define TSRI_MODEL_WEIGHTS_TAPS_H

#include "model/spec/spec.h"

#include <stddef.h>

/* Of each token of a run, and of each tap around it: the row of [B * T] that the tap reads, and 1; where
 * that token is not in the sequence, some row, and 0. The arrays grow; without a convolution there are 0. */
typedef struct tsri_model_tap_inputs {
    int32_t *rows;
    float *mask;
    size_t count, rows_room, mask_room;
} tsri_model_tap_inputs;

/* Fills in the inputs of B sequences of at most T tokens, whose lengths are `len`. */
tsr_status tsri_model_tap_inputs_fill(const tsri_model_stack *stack, const int32_t *len, int64_t B,
                                      int64_t T, tsri_model_tap_inputs *out);
void tsri_model_tap_inputs_clear(tsri_model_tap_inputs *inputs);

#endif
