/* task/vectors/similar.h - cosines between rows of numbers. Sums are formed in one order with every
 * compiler: the same rows give the same bytes. */
#ifndef TSRI_TASK_VECTORS_SIMILAR_H
#define TSRI_TASK_VECTORS_SIMILAR_H

#include "tessera/status.h"

#include <stddef.h>
#include <stdint.h>

float tsri_task_dot(const float *a, const float *b, size_t C);
/* Bounds a cosine, computed from rounded numbers, to -1 .. 1. */
float tsri_task_cosine(float cosine);

/* 1 / norm of each of n rows, 0 for a row of zeros. TSR_E_FORMAT: a number is not finite. For the
 * message, `first` is the number of the first row, and `what` names the rows ("E.npy"). */
tsr_status tsri_task_inverse_norms(const char *what, uint64_t first, const float *rows, size_t n,
                                   size_t C, float *out);

#endif
