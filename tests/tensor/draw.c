/* Draws by integers are those of exact arithmetic. */
#include "tensor/draw.h"

#include "base/random.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { MOST = 300 };

static int falling(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* The same in double. */
static int64_t by_doubles(const float *logits, int64_t n, double temperature, int32_t top_k,
                          double top_p, double min_p, double uniform) {
    const int64_t k = top_k > 0 && top_k < n ? top_k : n;
    double p[MOST], all = 0, sum = 0, so_far = 0;
    int64_t kept = 0, drawn = 0;
    for (int64_t i = 0; i < k; i++)
        all += p[i] = exp((double)(logits[i] - logits[0]) / temperature);
    for (; kept < k && (!kept || (p[kept] >= min_p && sum < top_p * all)); kept++)
        sum += p[kept];
    for (int64_t i = 0; i < kept && so_far <= uniform * sum; i++) {
        so_far += p[i];
        drawn = i;
    }
    return drawn;
}

Test(draw, is_that_of_doubles) {
    static const float temperatures[] = {0.3f, 0.7f, 1, 1.5f, 20, 1e-3f},
                       shares[] = {1, 0.95f, 0.9f, 0.5f}, least[] = {0, 0.05f, 0.3f};
    static const int32_t most[] = {0, 40, 3, 500};
    for (uint64_t seed = 0; seed < 400; seed++) {
        float logits[MOST];
        const int64_t n = 1 + (int64_t)(seed * 37 % MOST);
        for (int64_t i = 0; i < n; i++)
            logits[i] = (float)(seed % 20) * tsri_base_normal(seed, 1, (uint64_t)i);
        qsort(logits, (size_t)n, sizeof *logits, falling);
        for (uint64_t j = 0; j < 50; j++) {
            uint32_t bits[4], pick[4];
            tsri_base_philox(seed, 0, j, bits);
            tsri_base_philox(seed, 2, j, pick);
            const float temperature = temperatures[pick[0] % 6], top_p = shares[pick[1] % 4],
                        min_p = least[pick[2] % 3];
            const int32_t top_k = most[pick[3] % 4];
            const tsri_tensor_draw draw =
                tsri_tensor_draw_of(temperature, top_k, top_p, min_p, bits[0]);
            cr_assert_eq(tsri_tensor_draw_one(&draw, logits, 1, n),
                         by_doubles(logits, n, (double)temperature, top_k, (double)top_p,
                                    (double)min_p, tsri_base_uniform(seed, 0, j)),
                         "seed %d, draw %d of %d: temperature %g, top_k %d, top_p %g, min_p %g",
                         (int)seed, (int)j, (int)n, (double)temperature, (int)top_k, (double)top_p,
                         (double)min_p);
        }
    }
}

Test(draw, ends) {
    const float inf = INFINITY;
    static const float equal[4] = {2, 2, 2, 2}, far[4] = {0, -1, -2, -200},
                       huge[2] = {1e38f, -3e38f};
    const float odd[3][2] = {{NAN, NAN}, {-inf, -inf}, {inf, 1}}, among[4] = {1, NAN, -inf, 1};
    const struct {
        const float *logits;
        float temperature;
        int32_t top_k;
        float top_p, min_p;
        uint32_t random;
        int64_t n, wanted;
    } rows[] = {
        {equal, 1, 0, 1, 0, 0, 4, 0},
        {equal, 1, 0, 1, 0, UINT32_MAX, 4, 3},
        {equal, 1e30f, 0, 1, 0, 0x40000000, 4, 1},
        {equal, FLT_MIN / 8, 0, 1, 0, 0x3fffffff, 4, 0},
        {equal, 1, 0, 1, 1, UINT32_MAX, 4, 3}, /* all are as likely as the first */
        {equal, 1, 0, 0.5f, 0, UINT32_MAX, 4, 1},
        {equal, 1, 0, 1e-30f, 0, UINT32_MAX, 4, 0},
        {equal, 1, 1, 1, 0, UINT32_MAX, 4, 0},
        {equal, 1, 3, 1, 0, UINT32_MAX, 4, 2},
        {equal, 1, 9, 1, 0, UINT32_MAX, 4, 3}, /* fewer logits than top_k */
        {equal, 1, INT32_MAX, 1, 0, UINT32_MAX, 1, 0},
        {far, 1, 0, 1, 0, UINT32_MAX, 4, 2}, /* exp(-200) can't be drawn */
        {far, 1e30f, 0, 1, 0, UINT32_MAX, 4, 3},
        {far, 1e-38f, 0, 1, 0, UINT32_MAX, 4, 0},
        {far, 1, 0, 1, 1, UINT32_MAX, 4, 0},
        {far, 1, 0, 1, 0.2f, UINT32_MAX, 4, 1},
        {huge, 1, 0, 1, 0, UINT32_MAX, 2, 0},
        {huge, 1e30f, 0, 1, 0, UINT32_MAX, 2, 0},
        {among, 1, 0, 1, 0, UINT32_MAX, 4, 3},
        {among, 1, 0, 1, 0, 0x7fffffff, 4, 0},
        {odd[0], 1, 0, 1, 0, 0, 2, TSRI_TENSOR_DREW_NAN},
        {odd[1], 1, 0, 1, 0, 0, 2, TSRI_TENSOR_DREW_LOW},
        {odd[2], 1, 1, 1, 0, 0, 2, TSRI_TENSOR_DREW_HIGH},
        {odd[0], 0, 0, 1, 0, 0, 2, TSRI_TENSOR_DREW_NAN}, /* the likeliest is no number */
        {odd[1], 0, 0, 1, 0, 0, 2, TSRI_TENSOR_DREW_LOW},
        {odd[2], 0, 1, 1, 0, 0, 2, TSRI_TENSOR_DREW_HIGH},
        {equal, 0, 0, 1, 0, UINT32_MAX, 4, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tsri_tensor_draw draw = tsri_tensor_draw_of(
            rows[i].temperature, rows[i].top_k, rows[i].top_p, rows[i].min_p, rows[i].random);
        cr_expect_eq(tsri_tensor_draw_one(&draw, rows[i].logits, 1, rows[i].n), rows[i].wanted,
                     "row %zu", i);
    }
}
