/* task/vectors/similar.c - computes cosines between rows of numbers. */
#include "task/vectors/similar.h"

#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LANES = 4, CHAINS = 4, STEP = LANES * CHAINS };
#define SMALLEST 1e-70 /* squared norm: the inverse of a smaller norm exceeds f32 */
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

/* Sixteen partial sums: a processor can add them at once although it must not reorder. */
float tsri_task_dot(const float *a, const float *b, size_t C) {
    lanes sums[CHAINS] = {{0}};
    size_t i = 0;
    for (; i + STEP <= C; i += STEP)
        for (int c = 0; c < CHAINS; c++) {
            lanes x, y;
            memcpy(&x, a + i + c * LANES, sizeof x);
            memcpy(&y, b + i + c * LANES, sizeof y);
            sums[c] += x * y;
        }
    const lanes all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    float sum = (all[0] + all[1]) + (all[2] + all[3]);
    for (; i < C; i++)
        sum += a[i] * b[i];
    return sum;
}

float tsri_task_cosine(float cosine) {
    return cosine > 1 ? 1 : cosine >= -1 ? cosine : -1;
}

tsr_status tsri_task_inverse_norms(const char *what, uint64_t first, const float *rows, size_t n,
                                   size_t C, float *out) {
    for (size_t i = 0; i < n; i++) {
        double square = 0;
        for (size_t c = 0; c < C; c++)
            square += (double)rows[i * C + c] * (double)rows[i * C + c];
        if (!isfinite(square))
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: row %" PRIu64 " holds a number that is not finite", what,
                                  first + i);
        out[i] = square > SMALLEST ? (float)(1 / sqrt(square)) : 0;
    }
    return TSR_OK;
}
