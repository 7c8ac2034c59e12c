/* tensor/draw.c - draws one of some logits as every device does. */
#include "tensor/draw.h"

#include <float.h>
#include <math.h>

tsri_tensor_draw tsri_tensor_draw_of(float temperature, int32_t top_k, float top_p, float min_p,
                                     uint32_t random) {
    const double rate = temperature > 0 ? 1 / (double)temperature : 0,
                 share = floor((double)top_p * 0x1p32);
    return (tsri_tensor_draw){.rate = rate < FLT_MAX ? (float)rate : FLT_MAX,
                              .top_k = top_k,
                              .top_p = share < UINT32_MAX ? (uint32_t)share : UINT32_MAX,
                              .min_p = (uint32_t)(min_p * 0x1p31f),
                              .random = random};
}

/* floor(2^31 exp(x)), -23 < x <= 0. The steps are those of tsr_exp_float in cl/common/tessera.clh: 2^n
 * times a number near 1, which is a multiple of 2^-31. */
static uint32_t exponential(float x) {
    const float n = rintf(x * 1.44269504088896341f);
    float r = fmaf(n, -0.693359375f, x);
    r = fmaf(n, 2.12194440e-4f, r);
    float p = fmaf(1.9875691500e-4f, r, 1.3981999507e-3f);
    p = fmaf(p, r, 8.3334519073e-3f);
    p = fmaf(p, r, 4.1665795894e-2f);
    p = fmaf(p, r, 1.6666665459e-1f);
    p = fmaf(p, r, 5.0000001201e-1f);
    const float square = r * r;
    p = fmaf(p, square, r) + 1;
    return (uint32_t)((uint64_t)(p * 0x1p31f) >> -(int)n);
}

/* Below exp(-23), and of a NaN, a weight is 0. */
static uint32_t weight(const tsri_tensor_draw *draw, const float *logits, int64_t step, int64_t i) {
    const float below = logits[i * step] - logits[0], x = below * draw->rate;
    return x > -23 ? exponential(x < 0 ? x : 0) : 0;
}

static uint64_t share(uint64_t sum, uint32_t of) {
    return (sum >> 32) * of + ((sum & UINT32_MAX) * of >> 32);
}

/* The sum of the weights that are kept. */
static uint64_t keep(const tsri_tensor_draw *draw, const float *logits, int64_t step, int64_t k) {
    uint64_t all = 0, most = UINT64_MAX, sum = 0;
    if (draw->top_p < UINT32_MAX) {
        for (int64_t i = 0; i < k; i++)
            all += weight(draw, logits, step, i);
        most = share(all, draw->top_p);
    }
    for (int64_t i = 0; i < k; i++) {
        const uint32_t own = weight(draw, logits, step, i);
        if (i > 0 && (own < draw->min_p || sum >= most))
            break;
        sum += own;
    }
    return sum;
}

int32_t tsri_tensor_not_finite(float largest) {
    return isnan(largest) ? TSRI_TENSOR_DREW_NAN
           : largest > 0  ? TSRI_TENSOR_DREW_HIGH
                          : TSRI_TENSOR_DREW_LOW;
}

int64_t tsri_tensor_draw_one(const tsri_tensor_draw *draw, const float *logits, int64_t step,
                             int64_t n) {
    const int64_t k = draw->top_k > 0 && draw->top_k < n ? draw->top_k : n;
    if (!isfinite(logits[0]))
        return tsri_tensor_not_finite(logits[0]);
    if (draw->rate == 0)
        return 0;
    const uint64_t drawn = share(keep(draw, logits, step, k), draw->random);
    uint64_t sum = 0;
    int64_t i = -1;
    while (sum <= drawn)
        sum += weight(draw, logits, step, ++i);
    return i;
}
