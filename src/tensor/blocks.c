/* tensor/blocks.c - one function for each block type of GGUF, from its bytes to f32. */
#include "tensor/blocks.h"

#include "tensor/dtype.h"

#include <stdint.h>

/* Each product is rounded, as in ggml's plain C: there must be no fused multiply-add. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

enum { SMALL = 32, SUPER = 256 };

static float half_at(const uint8_t *p) {
    return tsri_tensor_f16_to_f32((uint16_t)(p[0] | p[1] << 8));
}

static int signed_byte(uint8_t b) {
    return b < 128 ? b : b - 256;
}

/* d f16 | 32 x i8 */
static void unpack_q8_0(const uint8_t *p, float *y) {
    const float d = half_at(p);
    for (int j = 0; j < SMALL; j++)
        y[j] = (float)signed_byte(p[2 + j]) * d;
}

/* d f16 | 16 bytes: element j in the low nibble of byte j, element j + 16 in the high one */
static void unpack_q4_0(const uint8_t *p, float *y) {
    const float d = half_at(p);
    for (int j = 0; j < SMALL / 2; j++) {
        y[j] = (float)((p[2 + j] & 15) - 8) * d;
        y[j + SMALL / 2] = (float)((p[2 + j] >> 4) - 8) * d;
    }
}

/* d f16 | m f16 | nibbles as q4_0 */
static void unpack_q4_1(const uint8_t *p, float *y) {
    const float d = half_at(p), m = half_at(p + 2);
    for (int j = 0; j < SMALL / 2; j++) {
        y[j] = (float)(p[4 + j] & 15) * d + m;
        y[j + SMALL / 2] = (float)(p[4 + j] >> 4) * d + m;
    }
}

/* The fifth bits of 32 elements: bit j of a little-endian u32 belongs to element j. */
static int fifth_bit(const uint8_t *p, int j) {
    return (p[j / 8] >> j % 8 & 1) << 4;
}

/* d f16 | fifth bits u32 | nibbles as q4_0 */
static void unpack_q5_0(const uint8_t *p, float *y) {
    const float d = half_at(p);
    const uint8_t *high = p + 2, *low = p + 6;
    for (int j = 0; j < SMALL / 2; j++) {
        y[j] = (float)(((low[j] & 15) | fifth_bit(high, j)) - 16) * d;
        y[j + SMALL / 2] = (float)(((low[j] >> 4) | fifth_bit(high, j + SMALL / 2)) - 16) * d;
    }
}

/* d f16 | m f16 | fifth bits u32 | nibbles as q4_0 */
static void unpack_q5_1(const uint8_t *p, float *y) {
    const float d = half_at(p), m = half_at(p + 2);
    const uint8_t *high = p + 4, *low = p + 8;
    for (int j = 0; j < SMALL / 2; j++) {
        y[j] = (float)((low[j] & 15) | fifth_bit(high, j)) * d + m;
        y[j + SMALL / 2] = (float)((low[j] >> 4) | fifth_bit(high, j + SMALL / 2)) * d + m;
    }
}

/* Scale and minimum of part i of 8, six bits each, in 12 bytes: parts 0-3 in the low six bits of
 * bytes 0-3 and 4-7, parts 4-7 in the nibbles of bytes 8-11 and the two bits left over above. */
static void six_bits(const uint8_t *p, int i, int *scale, int *minimum) {
    if (i < 4) {
        *scale = p[i] & 63;
        *minimum = p[i + 4] & 63;
    } else {
        *scale = (p[i + 4] & 15) | (p[i - 4] >> 6) << 4;
        *minimum = (p[i + 4] >> 4) | (p[i] >> 6) << 4;
    }
}

/* d f16 | dmin f16 | scales and minima [12] | nibbles [128]: each 32 bytes hold part 2i low, part
 * 2i + 1 high */
static void unpack_q4_k(const uint8_t *p, float *y) {
    const float d = half_at(p), dmin = half_at(p + 2);
    const uint8_t *nibbles = p + 16;
    for (int part = 0; part < 8; part++) {
        int scale, minimum;
        six_bits(p + 4, part, &scale, &minimum);
        const float d1 = d * (float)scale, m1 = dmin * (float)minimum;
        const uint8_t *q = nibbles + part / 2 * 32;
        for (int l = 0; l < 32; l++)
            *y++ = d1 * (float)(part % 2 ? q[l] >> 4 : q[l] & 15) - m1;
    }
}

/* d f16 | dmin f16 | scales and minima [12] | fifth bits [32]: bit i of byte l for part i | nibbles
 * as q4_K */
static void unpack_q5_k(const uint8_t *p, float *y) {
    const float d = half_at(p), dmin = half_at(p + 2);
    const uint8_t *high = p + 16, *nibbles = p + 48;
    for (int part = 0; part < 8; part++) {
        int scale, minimum;
        six_bits(p + 4, part, &scale, &minimum);
        const float d1 = d * (float)scale, m1 = dmin * (float)minimum;
        const uint8_t *q = nibbles + part / 2 * 32;
        for (int l = 0; l < 32; l++) {
            const int low = part % 2 ? q[l] >> 4 : q[l] & 15;
            *y++ = d1 * (float)(low + (high[l] >> part & 1) * 16) - m1;
        }
    }
}

/* low nibbles [128] | high bit pairs [64] | scales i8 [16] | d f16. Of each half of 128 elements:
 * 32 columns, four rows. */
static void unpack_q6_k(const uint8_t *p, float *y) {
    const float d = half_at(p + 208);
    for (int half = 0; half < 2; half++) {
        const uint8_t *low = p + 64 * half, *high = p + 128 + 32 * half,
                      *scales = p + 192 + 8 * half;
        for (int row = 0; row < 4; row++)
            for (int l = 0; l < 32; l++) {
                const int nibble = low[l + row % 2 * 32] >> row / 2 * 4 & 15;
                const int q = (nibble | (high[l] >> 2 * row & 3) << 4) - 32;
                *y++ = d * (float)signed_byte(scales[l / 16 + 2 * row]) * (float)q;
            }
    }
}

/* scales and minima [16]: four bits each, the scale low | bit pairs [64] | d f16 | dmin f16. Of each
 * half of 128 elements: 32 columns, four rows; a scale for 16 columns. */
static void unpack_q2_k(const uint8_t *p, float *y) {
    const float d = half_at(p + 80), dmin = half_at(p + 82);
    for (int i = 0; i < SUPER; i++) {
        const int scale = p[i / 16], pair = p[16 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
        y[i] = d * (float)(scale & 15) * (float)pair - dmin * (float)(scale >> 4);
    }
}

/* high bits [32]: bit i of byte l for row i of 8 | bit pairs [64] as q2_K | scales [12]: 16 of six
 * bits, the low four in the nibbles of bytes 0-7, the high two in bytes 8-11 | d f16 */
static void unpack_q3_k(const uint8_t *p, float *y) {
    const float d = half_at(p + 108);
    const uint8_t *pairs = p + 32, *scales = p + 96;
    for (int i = 0; i < SUPER; i++) {
        const int part = i / 16, high = p[i % 32] >> i / 32 & 1;
        const int scale = (scales[part % 8] >> part / 8 * 4 & 15) |
                          (scales[8 + part % 4] >> part / 4 * 2 & 3) << 4;
        const int pair = pairs[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
        y[i] = d * (float)(scale - 32) * (float)(pair - (high ? 0 : 4));
    }
}

/* What the 16 codes of iq4_nl and iq4_xs stand for, and those of mxfp4, doubled. */
static const int8_t nonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};
static const int8_t e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static void unpack_codes(const uint8_t *nibbles, const int8_t codes[16], float d, float *y) {
    for (int j = 0; j < SMALL / 2; j++) {
        y[j] = d * (float)codes[nibbles[j] & 15];
        y[j + SMALL / 2] = d * (float)codes[nibbles[j] >> 4];
    }
}

/* d f16 | nibbles as q4_0 */
static void unpack_iq4_nl(const uint8_t *p, float *y) {
    unpack_codes(p + 2, nonlinear, half_at(p), y);
}

/* d f16 | high bit pairs of 8 scales u16 | their low nibbles [4] | 8 times nibbles as q4_0 */
static void unpack_iq4_xs(const uint8_t *p, float *y) {
    const int pairs = p[2] | p[3] << 8;
    for (int part = 0; part < 8; part++) {
        const int scale = (p[4 + part / 2] >> part % 2 * 4 & 15) | (pairs >> 2 * part & 3) << 4;
        unpack_codes(p + 8 + 16 * part, nonlinear, half_at(p) * (float)(scale - 32),
                     y + SMALL * part);
    }
}

/* e u8: the scale is 2^(e - 127), halved for the doubled codes | nibbles as q4_0 */
static void unpack_mxfp4(const uint8_t *p, float *y) {
    const uint32_t bits = p[0] < 2 ? UINT32_C(0x200000) << p[0] : (uint32_t)(p[0] - 1) << 23;
    unpack_codes(p + 1, e2m1, tsri_tensor_from_bits(bits), y);
}

/* scales: the offsets of the halves in a block; the same offset twice where there is one. MXFP4's
 * scale is an exponent instead: 255 is its NaN, and above 252 the largest code is infinite. */
enum { EXPONENT = -1, MOST_EXPONENT = 252 };
static const struct {
    tsr_dtype type;
    void (*unpack)(const uint8_t *, float *);
    int scales[2];
} types[] = {
    {TSR_GGML_Q8_0, unpack_q8_0, {0, 0}},
    {TSR_GGML_Q4_0, unpack_q4_0, {0, 0}},
    {TSR_GGML_Q4_1, unpack_q4_1, {0, 2}},
    {TSR_GGML_Q5_0, unpack_q5_0, {0, 0}},
    {TSR_GGML_Q5_1, unpack_q5_1, {0, 2}},
    {TSR_GGML_Q4_K, unpack_q4_k, {0, 2}},
    {TSR_GGML_Q5_K, unpack_q5_k, {0, 2}},
    {TSR_GGML_Q6_K, unpack_q6_k, {208, 208}},
    {TSR_GGML_Q2_K, unpack_q2_k, {80, 82}},
    {TSR_GGML_Q3_K, unpack_q3_k, {108, 108}},
    {TSR_GGML_IQ4_NL, unpack_iq4_nl, {0, 0}},
    {TSR_GGML_IQ4_XS, unpack_iq4_xs, {0, 0}},
    {TSR_GGML_MXFP4, unpack_mxfp4, {EXPONENT, EXPONENT}},
};

void tsri_tensor_unpack(tsr_dtype type, const void *blocks, float *out, size_t n) {
    const tsri_tensor_dtype *info = tsri_tensor_dtype_info(type);
    const uint8_t *p = blocks;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (types[t].type == type)
            for (size_t i = 0; i < n; i += (size_t)info->block, p += info->bytes)
                types[t].unpack(p, out + i);
}

static bool is_finite(const uint8_t *p, int scale) {
    return scale == EXPONENT ? p[0] <= MOST_EXPONENT
                             : (p[scale + 1] & 0x7c) != 0x7c; /* all exponent bits */
}

bool tsri_tensor_scales_finite(tsr_dtype type, const void *blocks, size_t n, size_t *bad) {
    const tsri_tensor_dtype *info = tsri_tensor_dtype_info(type);
    const uint8_t *p = blocks;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (types[t].type == type)
            for (size_t i = 0; i < n / (size_t)info->block; i++, p += info->bytes)
                for (int s = 0; s < 2; s++)
                    if (!is_finite(p, types[t].scales[s])) {
                        *bad = i;
                        return false;
                    }
    return true;
}
