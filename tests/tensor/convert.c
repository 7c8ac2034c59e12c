/* Conversions between dtypes, of every half and of numbers that are rounded. */
#include "tensor/convert.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* A half-width format by its definition: 1 sign bit, then exponent, then `mantissa` bits. */
typedef struct narrow {
    tsr_dtype dtype;
    int mantissa, bias;
    uint16_t infinity;
} narrow;

static const narrow formats[] = {{TSR_F16, 10, 15, 0x7c00}, {TSR_BF16, 7, 127, 0x7f80}};

static double value_of(const narrow *f, uint16_t magnitude) {
    const int exponent = magnitude >> f->mantissa;
    const int fraction = magnitude & ((1 << f->mantissa) - 1);
    return exponent ? ldexp(fraction + (1 << f->mantissa), exponent - f->bias - f->mantissa)
                    : ldexp(fraction, 1 - f->bias - f->mantissa);
}

static uint16_t narrowed(tsr_dtype to, tsr_dtype from, const void *in) {
    uint16_t out = 0xdead;
    cr_assert_eq(tsri_tensor_convert(to, &out, from, in, 1), TSR_OK);
    return out;
}

Test(tensor, every_half_widens_to_what_its_bits_say) {
    for (size_t k = 0; k < 2; k++)
        for (uint32_t bits = 0; bits < 65536; bits++) {
            const narrow *f = &formats[k];
            const uint16_t h = (uint16_t)bits, magnitude = h & 0x7fff;
            float got;
            double wide;
            cr_assert_eq(tsri_tensor_convert(TSR_F32, &got, f->dtype, &h, 1), TSR_OK);
            cr_assert_eq(tsri_tensor_convert(TSR_F64, &wide, f->dtype, &h, 1), TSR_OK);
            cr_assert_eq(!!signbit(got), h >> 15, "%04x", h);
            if (magnitude > f->infinity) {
                cr_assert(isnan(got) && isnan(wide), "%04x", h);
                continue;
            }
            const double want =
                magnitude == f->infinity ? (double)INFINITY : value_of(f, magnitude);
            cr_assert_eq(fabs((double)got), want, "%04x", h);
            cr_assert_eq(wide, (double)got, "%04x", h);
        }
}

/* Between each two neighbours: the midpoint goes to the even one, anything beside it to the nearer
 * one. */
Test(tensor, every_half_rounds_to_nearest_even) {
    for (size_t k = 0; k < 2; k++)
        for (uint16_t h = 0; h < formats[k].infinity; h++)
            for (int negative = 0; negative < 2; negative++) {
                const narrow *f = &formats[k];
                const double low = value_of(f, h),
                             high = value_of(f, (uint16_t)(h + 1)); /* 2^16 or 2^128 at the end */
                const uint16_t sign = negative ? 0x8000 : 0;
                const double s = negative ? -1 : 1, middle = (low + high) / 2;
                const double at[] = {low, middle, nextafter(middle, low), nextafter(middle, high)};
                const uint16_t even = h & 1 ? h + 1 : h, want[] = {h, even, h, (uint16_t)(h + 1)};
                for (int i = 0; i < 4; i++) {
                    const double d = s * at[i];
                    cr_assert_eq(narrowed(f->dtype, TSR_F64, &d), want[i] | sign, "%a", d);
                }
                const float m = (float)middle;
                const float near[] = {m, nextafterf(m, (float)low), nextafterf(m, INFINITY)};
                for (int i = 0; i < 3; i++) {
                    const float x = (float)s * near[i];
                    cr_assert_eq(narrowed(f->dtype, TSR_F32, &x), want[i + 1] | sign, "%a",
                                 (double)x);
                }
            }
}

Test(tensor, infinities_and_nans_stay_what_they_are) {
    for (size_t k = 0; k < 2; k++)
        for (int negative = 0; negative < 2; negative++) {
            const narrow *f = &formats[k];
            const double s = negative ? -1 : 1, infinity = s * (double)INFINITY,
                         most = s * 0x1.fffffffffffffp1023;
            const float x = copysignf(NAN, (float)s), single = (float)infinity;
            const uint16_t sign = negative ? 0x8000 : 0;
            cr_expect_eq(narrowed(f->dtype, TSR_F64, &infinity), f->infinity | sign);
            cr_expect_eq(narrowed(f->dtype, TSR_F32, &single), f->infinity | sign);
            cr_expect_eq(narrowed(f->dtype, TSR_F64, &most), f->infinity | sign);
            const uint16_t nan = narrowed(f->dtype, TSR_F32, &x);
            cr_expect_eq(nan & 0x8000, sign);
            cr_expect_gt(nan & 0x7fff, f->infinity);
        }
    uint32_t bits = 0x7f800001; /* a signalling NaN whose payload is below what f16 keeps */
    cr_expect_gt(narrowed(TSR_F16, TSR_F32, &bits) & 0x7fff, 0x7c00);
    cr_expect_gt(narrowed(TSR_BF16, TSR_F32, &bits) & 0x7fff, 0x7f80);
}

Test(tensor, f64_rounds_once) {
    /* 1 + 2^-11 + 2^-40: f32 would first drop the last bit, and the tie then go down. */
    const double d = 1 + 0x1p-11 + 0x1p-40, tiny = 0x1p-25 + 0x1p-70;
    cr_expect_eq(narrowed(TSR_F16, TSR_F64, &d), 0x3c01);
    cr_expect_eq(narrowed(TSR_F16, TSR_F64, &tiny), 1);
    const int64_t n =
        (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1; /* above the midpoint of two bf16 by one */
    const int64_t tie = (INT64_C(1) << 62) + (INT64_C(1) << 54);
    cr_expect_eq(narrowed(TSR_BF16, TSR_I64, &n), 0x5e81);
    cr_expect_eq(narrowed(TSR_BF16, TSR_I64, &tie), 0x5e80);
}

Test(tensor, integers_round_to_even_and_saturate) {
    static const struct {
        float x;
        int64_t i64;
        int32_t i32;
        int16_t i16;
        int8_t i8;
        uint8_t u8, truth;
    } rows[] = {
        {0.5f, 0, 0, 0, 0, 0, 1},
        {1.5f, 2, 2, 2, 2, 2, 1},
        {-2.5f, -2, -2, -2, -2, 0, 1},
        {-0.0f, 0, 0, 0, 0, 0, 0},
        {300, 300, 300, 300, 127, 255, 1},
        {-40000, -40000, -40000, INT16_MIN, INT8_MIN, 0, 1},
        {0x1p40f, INT64_C(1) << 40, INT32_MAX, INT16_MAX, INT8_MAX, UINT8_MAX, 1},
        {0x1p63f, INT64_MAX, INT32_MAX, INT16_MAX, INT8_MAX, UINT8_MAX, 1},
        {-0x1p63f, INT64_MIN, INT32_MIN, INT16_MIN, INT8_MIN, 0, 1},
        {INFINITY, INT64_MAX, INT32_MAX, INT16_MAX, INT8_MAX, UINT8_MAX, 1},
        {-INFINITY, INT64_MIN, INT32_MIN, INT16_MIN, INT8_MIN, 0, 1},
        {NAN, 0, 0, 0, 0, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t i64;
        int32_t i32;
        int16_t i16;
        int8_t i8;
        uint8_t u8, truth;
        const float *x = &rows[i].x;
        cr_assert_eq(tsri_tensor_convert(TSR_I64, &i64, TSR_F32, x, 1), TSR_OK);
        cr_assert_eq(tsri_tensor_convert(TSR_I32, &i32, TSR_F32, x, 1), TSR_OK);
        cr_assert_eq(tsri_tensor_convert(TSR_I16, &i16, TSR_F32, x, 1), TSR_OK);
        cr_assert_eq(tsri_tensor_convert(TSR_I8, &i8, TSR_F32, x, 1), TSR_OK);
        cr_assert_eq(tsri_tensor_convert(TSR_U8, &u8, TSR_F32, x, 1), TSR_OK);
        cr_assert_eq(tsri_tensor_convert(TSR_BOOL, &truth, TSR_F32, x, 1), TSR_OK);
        cr_expect(i64 == rows[i].i64 && i32 == rows[i].i32 && i16 == rows[i].i16, "row %zu", i);
        cr_expect(i8 == rows[i].i8 && u8 == rows[i].u8 && truth == rows[i].truth, "row %zu", i);
    }
}

Test(tensor, every_pair_of_plain_dtypes_keeps_small_numbers) {
    static const tsr_dtype all[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_F64, TSR_I64,
                                    TSR_I32, TSR_I16, TSR_I8,   TSR_U8};
    const float start[5] = {0, 1, 2, 100, 127};
    for (size_t a = 0; a < sizeof all / sizeof *all; a++)
        for (size_t b = 0; b < sizeof all / sizeof *all; b++) {
            char x[5 * 8 + 1], y[5 * 8 + 1]; /* at odd addresses: any alignment is allowed */
            float end[5];
            cr_assert_eq(tsri_tensor_convert(all[a], x + 1, TSR_F32, start, 5), TSR_OK);
            cr_assert_eq(tsri_tensor_convert(all[b], y + 1, all[a], x + 1, 5), TSR_OK);
            cr_assert_eq(tsri_tensor_convert(TSR_F32, end, all[b], y + 1, 5), TSR_OK);
            cr_assert_eq(memcmp(start, end, sizeof start), 0, "%d to %d", (int)all[a], (int)all[b]);
        }
}

Test(tensor, conversions_that_are_none_say_so) {
    float x[256] = {0};
    char blocks[256] = {0};
    cr_expect_eq(tsri_tensor_convert(TSR_F32, x, TSR_GGML_Q4_K, blocks, 128), TSR_E_ARGUMENT);
    cr_expect_not_null(strstr(tsri_base_reported(), "128 elements of q4_K"));
    cr_expect_eq(tsri_tensor_convert(TSR_GGML_Q5_0, blocks, TSR_F32, x, 32), TSR_E_UNSUPPORTED);
    cr_expect_eq(tsri_tensor_convert(TSR_DTYPE_NONE, blocks, TSR_F32, x, 32), TSR_E_ARGUMENT);
    uint64_t bytes;
    cr_expect(!tsri_tensor_bytes(TSR_F64, UINT64_C(1) << 62, &bytes));
    cr_expect(!tsri_tensor_bytes(TSR_GGML_Q6_K, 128, &bytes));
    cr_expect(tsri_tensor_bytes(TSR_GGML_Q6_K, 512, &bytes) && bytes == 420);
}
