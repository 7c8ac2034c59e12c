/* tensor/draw.h - the op `sample`: draws one of some logits, by f32 and integers alone, so that the host
 * and every device draw the same.
 *
 *     weight[i] = floor(2^31 exp(min(0, (logits[i] - logits[0]) rate)))
 *
 * The exponential is cl/common/tessera.clh's, which is made of fma and selections; sums of weights are
 * integers of 64 bits, so they are exact in any order. Of the first top_k entries, kept are those before
 * the first, besides entry 0, whose weight is below min_p, or before which the weights reach the share
 * top_p / 2^32 of all (where top_p is 2^32 - 1, never). Drawn is the first entry up to which the weights
 * exceed the share random / 2^32 of those that are kept. Shares are rounded down. */
#ifndef TSRI_TENSOR_DRAW_H
#define TSRI_TENSOR_DRAW_H

#include <stdint.h>

typedef struct tsri_tensor_draw {
    float rate; /* 1 / temperature; 0: entry 0 is drawn */
    /* Settings as the op has them: the last three are unsigned */
    int32_t top_k; /* below 1, or above their number: all */
    uint32_t top_p, min_p, random;
} tsri_tensor_draw;

/* What is drawn where logits[0] is not finite: NaN, -inf or inf. The op `argmax` gives the same where
 * the largest number of a row is not finite. */
enum { TSRI_TENSOR_DREW_NAN = -1, TSRI_TENSOR_DREW_LOW = -2, TSRI_TENSOR_DREW_HIGH = -3 };
/* Which of them; `largest` is not finite. */
int32_t tsri_tensor_not_finite(float largest);

/* temperature >= 0; 0 < top_p <= 1; 0 <= min_p <= 1. random: 32 random bits */
tsri_tensor_draw tsri_tensor_draw_of(float temperature, int32_t top_k, float top_p, float min_p,
                                     uint32_t random);
/* The number of the entry, or one of TSRI_TENSOR_DREW. Logit i is logits[i * step]; n >= 1. The largest
 * comes first; a NaN has no weight. */
int64_t tsri_tensor_draw_one(const tsri_tensor_draw *draw, const float *logits, int64_t step,
                             int64_t n);

#endif
