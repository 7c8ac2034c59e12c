/* opencl_kernels/samples.h - what the files of samples share: sizes, and short forms for
 * operands. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include "recorder.h"

enum { B = 2, T = 3, H = 4, G = 2, D = 16, S = 24, C = 64, N = 128, F = 64, MANY = 5 };

/* The sample's next operand, packed. */
const tsr_tensor *sample_tensor(sample *s, tsr_kind kind, tsr_dtype dtype, uint32_t rank,
                                const int *sizes);
/* For the ops that training needs. */
void make_training_sample(sample *s, const tsri_opencl_row *row, bool full);

#define F32(...)                                                                               \
    sample_tensor(s, TSR_KIND_ACTIVATION, TSR_F32, sizeof((int[]){__VA_ARGS__}) / sizeof(int), \
                  (int[]){__VA_ARGS__})
#define I32(...)                                                                          \
    sample_tensor(s, TSR_KIND_INPUT, TSR_I32, sizeof((int[]){__VA_ARGS__}) / sizeof(int), \
                  (int[]){__VA_ARGS__})
#define WEIGHT(...)                                                                      \
    sample_tensor(s, TSR_KIND_WEIGHT, small, sizeof((int[]){__VA_ARGS__}) / sizeof(int), \
                  (int[]){__VA_ARGS__})
#define FULL(operand) (full ? operand : NULL)

#define STATE(...)                                                                        \
    sample_tensor(s, TSR_KIND_STATE, TSR_F32, sizeof((int[]){__VA_ARGS__}) / sizeof(int), \
                  (int[]){__VA_ARGS__})

#endif
