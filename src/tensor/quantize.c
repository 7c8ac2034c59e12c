/* tensor/quantize.c - f32 to blocks of q8_0 and q4_0, with the same bytes on every machine. */
#include "tensor/quantize.h"

#include "tensor/blocks.h"
#include "tensor/dtype.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Each product is rounded, and sums are kept in lanes of a fixed order, so that all machines give
 * the same bytes. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

enum { LANES = 8, NEAR_INFINITE = 0x7c00 };

/* Rounds to the nearest whole number, ties to even, for |x| < 2^22: a sum with 1.5 * 2^23 has no
 * fraction. */
static inline float nearest(float x) {
    return (x + 12582912.0f) - 12582912.0f;
}

static inline float clamp(float x, float lowest, float highest) {
    x = x < lowest ? lowest : x;
    return x > highest ? highest : x;
}

static void store_half(uint8_t *p, uint16_t h) {
    p[0] = (uint8_t)h;
    p[1] = (uint8_t)(h >> 8);
}

/* max |x|, compared as bits, so an infinity is larger than any number and a NaN is larger still. */
static float largest(const float *x) {
    int32_t most = 0;
    float value;
    for (int i = 0; i < TSRI_TENSOR_BLOCK; i++) {
        int32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    memcpy(&value, &most, sizeof value);
    return value;
}

/* The first element of the largest magnitude, with its sign; a NaN stays a NaN. */
static float first_largest(const float *x) {
    const float most = largest(x);
    int i = 0;
    while (i < TSRI_TENSOR_BLOCK - 1 && fabsf(x[i]) != most)
        i++;
    return x[i] < 0 ? -most : most;
}

static void pack_q8_0(const float *x, uint8_t *out) {
    const float most = largest(x);
    uint16_t half = tsri_tensor_f32_to_f16(most / 127.0f);
    float d = tsri_tensor_f16_to_f32(half);
    if (most > 127.5f * d) /* a subnormal scale that was rounded down a lot */
        d = tsri_tensor_f16_to_f32(++half);
    store_half(out, half);
    for (int i = 0; i < TSRI_TENSOR_BLOCK; i++) {
        const float q = d > 0 && half < NEAR_INFINITE ? clamp(nearest(x[i] / d), -127, 127) : 0;
        out[2 + i] = (uint8_t)(int8_t)q;
    }
}

static float total(const float *lanes) {
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/* For q = x * inverse, rounded: the scale that fits q best, as f16, and by how much it reduces the
 * sum of squares: sum x^2 - sum (x - d q)^2 = 2 d sum xq - d^2 sum q^2. */
static float fit(const float *x, float inverse, uint16_t *half) {
    float xq[LANES] = {0}, qq[LANES] = {0};
    for (int i = 0; i < TSRI_TENSOR_BLOCK; i += LANES)
        for (int l = 0; l < LANES; l++) {
            const float q = clamp(nearest(x[i + l] * inverse), -8, 7);
            xq[l] += x[i + l] * q;
            qq[l] += q * q;
        }
    const float products = total(xq), squares = total(qq);
    *half = tsri_tensor_f32_to_f16(squares > 0 ? products / squares : 0);
    const float d = tsri_tensor_f16_to_f32(*half);
    return d * (2 * products - d * squares);
}

/* The scale that makes the largest element -8, or the best of those up to an eighth smaller or
 * larger. */
static uint16_t best_scale(const float *x) {
    const float extreme = first_largest(x);
    uint16_t best = tsri_tensor_f32_to_f16(extreme / -8.0f), half;
    float most = -INFINITY;
    if ((best & 0x7fff) >= NEAR_INFINITE || extreme == 0)
        return best;
    /* 0, 1, -1, 2, -2, ...: the first of equally good ones stays */
    for (int step = 0; step < 19; step++) {
        const int away = step % 2 ? step / 2 + 1 : -step / 2;
        const float gain = fit(x, -(8.0f + 0.1f * (float)away) / extreme, &half);
        if (gain > most && (half & 0x7fff) < NEAR_INFINITE) {
            most = gain;
            best = half;
        }
    }
    return best;
}

static void pack_q4_0(const float *x, uint8_t *out) {
    const uint16_t half = best_scale(x);
    const float d = tsri_tensor_f16_to_f32(half);
    uint8_t q[TSRI_TENSOR_BLOCK];
    store_half(out, half);
    for (int i = 0; i < TSRI_TENSOR_BLOCK; i++) {
        const bool usable = d != 0 && (half & 0x7fff) < NEAR_INFINITE;
        q[i] = (uint8_t)(usable ? clamp(nearest(clamp(x[i] / d, -9, 8)), -8, 7) + 8 : 8);
    }
    for (int i = 0; i < TSRI_TENSOR_BLOCK / 2; i++)
        out[2 + i] = (uint8_t)(q[i] | q[i + TSRI_TENSOR_BLOCK / 2] << 4);
}

bool tsri_tensor_is_written_blocks(tsr_dtype dtype) {
    return dtype == TSR_GGML_Q8_0 || dtype == TSR_GGML_Q4_0;
}

bool tsri_tensor_is_small_blocks(tsr_dtype dtype) {
    return tsri_tensor_is_written_blocks(dtype) || dtype == TSR_GGML_MXFP4;
}

bool tsri_tensor_is_kept_blocks(tsr_dtype dtype) {
    const tsri_tensor_dtype *info = tsri_tensor_dtype_info(dtype);
    return info && info->part > 0;
}

bool tsri_tensor_is_wide_blocks(tsr_dtype dtype) {
    return tsri_tensor_is_kept_blocks(dtype) && !tsri_tensor_is_small_blocks(dtype);
}

void tsri_tensor_quantize(tsr_dtype type, const float *in, void *blocks, size_t n) {
    uint8_t *out = blocks;
    const size_t bytes = (size_t)tsri_tensor_dtype_info(type)->bytes;
    for (size_t i = 0; i < n; i += TSRI_TENSOR_BLOCK, out += bytes)
        (type == TSR_GGML_Q8_0 ? pack_q8_0 : pack_q4_0)(in + i, out);
}
