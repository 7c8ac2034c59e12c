/* Blocks that are kept: exact where they reach as far as a block can, within half a step (q8_0) or
 * no worse than the usual scale (q4_0) where they can't. */
#include "tensor/quantize.h"

#include "base/random.h"
#include "tensor/blocks.h"
#include "tensor/convert.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 32 };

static const tsr_dtype kept[] = {TSR_GGML_Q8_0, TSR_GGML_Q4_0};

static float scale_of(const unsigned char *block) {
    return tsri_tensor_f16_to_f32((uint16_t)(block[0] | block[1] << 8));
}

static void there_and_back(tsr_dtype type, const float *x, unsigned char block[34], float *y) {
    tsri_tensor_quantize(type, x, block, N);
    tsri_tensor_unpack(type, block, y, N);
}

static double squared_error(const float *x, const float *y) {
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
    return sum;
}

/* Uniform in [-1, 1) and the sums of twelve such (nearly normal), times 2^power. */
static void fill(float *x, uint64_t block, bool normal, int power) {
    for (uint64_t i = 0; i < N; i++) {
        double sum = 0;
        for (uint64_t j = 0; j < (normal ? 12 : 1); j++)
            sum += 2 * tsri_base_uniform(7, block, i * 12 + j) - 1;
        x[i] = (float)ldexp(sum, power);
    }
}

Test(quantize, whole_numbers_of_a_scale_come_back_exactly) {
    unsigned char block[34];
    float x[N], y[N];
    for (uint64_t b = 0; b < 4000; b++)
        for (int t = 0; t < 2; t++) {
            const uint16_t half = (uint16_t)(0x0400 + b * 7 % 0x7000); /* normal, up to 32768 */
            const int reach = t == 0 ? 127 : 7;
            const float d = tsri_tensor_f16_to_f32(half) / (b % 2 ? -4 : 4);
            if (fabsf(d) < 0x1p-14f) /* not every subnormal is a half */
                continue;
            for (uint64_t i = 0; i < N; i++)
                x[i] = d * (float)(int)(tsri_base_uniform(8, b, i) * (2 * reach + 1) - reach);
            x[b % N] = d * (float)(b % 3 ? reach : -reach);
            if (t == 1 && b % 2)
                x[(b + 1) % N] = -8 * d;
            there_and_back(kept[t], x, block, y);
            for (int i = 0; i < N; i++)
                cr_assert_eq(x[i], y[i], "%d, block %d, element %d: %a, not %a", t, (int)b, i,
                             (double)y[i], (double)x[i]);
        }
}

Test(quantize, q8_0_is_within_half_a_step) {
    unsigned char block[34];
    float x[N], y[N];
    for (int power = -40; power <= 19; power++)
        for (uint64_t b = 0; b < 50; b++) {
            float largest = 0;
            fill(x, b, b % 2, power);
            there_and_back(TSR_GGML_Q8_0, x, block, y);
            for (int i = 0; i < N; i++)
                largest = fmaxf(largest, fabsf(x[i]));
            /* half a step, and the step is that of 127 to a rounding of f16, or its smallest */
            const double d = scale_of(block), wanted = largest / 127.0;
            cr_assert_leq(fabs(d - wanted), fmax(wanted * 0x1p-11, 0x1p-24), "2^%d", power);
            for (int i = 0; i < N; i++)
                cr_assert_leq(fabs((double)x[i] - y[i]), d / 2 * (1 + 0x1p-15) + (d == 0) * 0x1p-18,
                              "2^%d, block %d, element %d", power, (int)b, i);
        }
}

/* The smallest squared error over every f16 scale from a quarter to twice of the largest / 8. */
static double smallest_error(const float *x) {
    float largest = 0, y[N];
    double best = INFINITY;
    for (int i = 0; i < N; i++)
        largest = fmaxf(largest, fabsf(x[i]));
    const uint16_t first = tsri_tensor_f32_to_f16(largest / 32),
                   last = tsri_tensor_f32_to_f16(largest / 4);
    for (uint32_t h = first; h <= last; h++)
        for (int negative = 0; negative < 2; negative++) {
            const float d = tsri_tensor_f16_to_f32((uint16_t)(h | (negative ? 0x8000 : 0)));
            for (int i = 0; i < N; i++)
                y[i] = d * fminf(fmaxf(rintf(x[i] / d), -8), 7);
            best = fmin(best, squared_error(x, y));
        }
    return best;
}

Test(quantize, q4_0_is_close_to_the_best_that_any_scale_gives) {
    unsigned char block[34];
    float x[N], y[N], usual[N];
    double all = 0, all_best = 0, all_usual = 0;
    for (uint64_t b = 0; b < 120; b++) {
        float largest = 0;
        fill(x, 1000 + b, b % 2, (int)(b % 16) - 8);
        there_and_back(TSR_GGML_Q4_0, x, block, y);
        for (int i = 0; i < N; i++)
            largest = fabsf(x[i]) > fabsf(largest) ? x[i] : largest;
        const float d = tsri_tensor_f16_to_f32(tsri_tensor_f32_to_f16(largest / -8));
        for (int i = 0; i < N; i++)
            usual[i] = d * fminf(fmaxf(rintf(x[i] / d), -8), 7);
        const double best = smallest_error(x), got = squared_error(x, y), unit = largest * largest;
        cr_assert_leq(got, squared_error(x, usual) * (1 + 1e-5), "block %d", (int)b);
        all += got / unit;
        all_best += best / unit;
        all_usual += squared_error(x, usual) / unit;
    }
    /* measured: 1.003 of the best and 0.87 of the usual scale's */
    cr_assert_leq(all, 1.01 * all_best);
    cr_assert_leq(all, 0.9 * all_usual);
}

Test(quantize, zeros_stay_and_subnormal_numbers_vanish) {
    unsigned char block[34];
    float x[N] = {0}, y[N];
    for (int t = 0; t < 2; t++)
        for (int tiny = 0; tiny < 2; tiny++) {
            for (int i = 0; i < N; i++)
                x[i] = tiny ? (float)(i % 2 ? i : -i) * 0x1p-149f : (i % 2 ? -0.0f : 0.0f);
            there_and_back(kept[t], x, block, y);
            for (int i = 0; i < N; i++)
                cr_assert_eq(y[i], 0);
        }
}

Test(quantize, what_no_scale_holds_is_found_by_its_scale) {
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY, 0x1p24f, -3e38f};
    unsigned char blocks[3 * 34];
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            float x[3 * N] = {1, 2, -3};
            size_t at = 99;
            x[2 * N + 5 * i] = bad[i];
            tsri_tensor_quantize(kept[t], x, blocks, 3 * N);
            cr_assert(!tsri_tensor_scales_finite(kept[t], blocks, 3 * N, &at));
            cr_assert_eq(at, 2);
        }
}

/* The same bytes on every machine: these are written down. */
Test(quantize, bytes_are_the_same_everywhere) {
    static const unsigned char q8[34] = {0x00, 0x20, 0x81, 0x89, 0x91, 0x9a, 0xa2, 0xaa, 0xb2,
                                         0xba, 0xc3, 0xcb, 0xd3, 0xdb, 0xe3, 0xec, 0xf4, 0xfc,
                                         0x04, 0x0c, 0x14, 0x1d, 0x25, 0x2d, 0x35, 0x3d, 0x46,
                                         0x4e, 0x56, 0x5e, 0x66, 0x6f, 0x77, 0x7f};
    unsigned char block[34];
    float x[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)(2 * i - 31) * (127.0f / 128 / 31);
    tsri_tensor_quantize(TSR_GGML_Q8_0, x, block, N);
    cr_assert_arr_eq(block, q8, sizeof q8);
    for (int i = 0; i < N; i++)
        x[i] = 0.5f * (float)(i % 16 - 8);
    tsri_tensor_quantize(TSR_GGML_Q4_0, x, block, N);
    cr_assert(block[0] == 0x00 && block[1] == 0x38);
    for (int i = 0; i < 16; i++)
        cr_assert_eq(block[2 + i], 0x11 * i);
}

Test(quantize, any_dtype_goes_to_blocks_and_odd_numbers_of_them_are_refused) {
    unsigned char direct[2 * 34 + 1], via[2 * 34];
    uint16_t halves[2 * N];
    float x[2 * N];
    for (int i = 0; i < 2 * N; i++)
        x[i] = (float)(i - 20) / 16;
    cr_assert_eq(tsri_tensor_convert(TSR_F16, halves, TSR_F32, x, 2 * N), TSR_OK);
    for (int t = 0; t < 2; t++) {
        const size_t bytes = (size_t)tsri_tensor_dtype_info(kept[t])->bytes;
        tsri_tensor_quantize(kept[t], x, via, 2 * N);
        cr_assert_eq(tsri_tensor_convert(kept[t], direct + 1, TSR_F16, halves, 2 * N), TSR_OK);
        cr_assert_arr_eq(direct + 1, via, 2 * bytes);
        cr_assert_eq(tsri_tensor_convert(kept[t], direct, TSR_F32, x, 33), TSR_E_ARGUMENT);
    }
    cr_assert_eq(tsri_tensor_convert(TSR_GGML_Q4_0, via, TSR_GGML_Q8_0, direct, 0), TSR_OK);
}
