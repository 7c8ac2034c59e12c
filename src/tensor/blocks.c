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

/* scales: the offsets of the halves in a block; the same offset twice where there is one. */
static const struct {
    tsr_dtype type;
    void (*unpack)(const uint8_t *, float *);
    int scales[2];
} types[] = {
    {TSR_GGML_Q8_0, unpack_q8_0, {0, 0}}, {TSR_GGML_Q4_0, unpack_q4_0, {0, 0}},
    {TSR_GGML_Q4_1, unpack_q4_1, {0, 2}}, {TSR_GGML_Q5_0, unpack_q5_0, {0, 0}},
    {TSR_GGML_Q5_1, unpack_q5_1, {0, 2}}, {TSR_GGML_Q4_K, unpack_q4_k, {0, 2}},
    {TSR_GGML_Q5_K, unpack_q5_k, {0, 2}}, {TSR_GGML_Q6_K, unpack_q6_k, {208, 208}},
};

void tsri_tensor_unpack(tsr_dtype type, const void *blocks, float *out, size_t n) {
    const tsri_tensor_dtype *info = tsri_tensor_dtype_info(type);
    const uint8_t *p = blocks;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (types[t].type == type)
            for (size_t i = 0; i < n; i += (size_t)info->block, p += info->bytes)
                types[t].unpack(p, out + i);
}

bool tsri_tensor_scales_finite(tsr_dtype type, const void *blocks, size_t n, size_t *bad) {
    const tsri_tensor_dtype *info = tsri_tensor_dtype_info(type);
    const uint8_t *p = blocks;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (types[t].type == type)
            for (size_t i = 0; i < n / (size_t)info->block; i++, p += info->bytes)
                for (int s = 0; s < 2; s++)
                    if ((p[types[t].scales[s] + 1] & 0x7c) == 0x7c) { /* all exponent bits */
                        *bad = i;
                        return false;
                    }
    return true;
}
