/* cases/contents.c - the contents of a case's operands. */
#include "cases/cases.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/system/system.h"
#include "tensor/convert.h"
#include "tensor/dtype.h"
#include "tensor/quantize.h"
#include "tensor/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEED = 20170612,
    PERIOD = 1 << 16 /* a timed case repeats so many elements */
};

void tsri_case_leaf_dims(const tsri_case_operand *operand, tsr_dim dims[TSR_MAX_RANK]) {
    const uint32_t rank = operand->rank, a = rank > 2 ? rank - 3 : 0, b = a + 1;
    memcpy(dims, operand->dim, sizeof operand->dim);
    if (operand->view == TSRI_CASE_SLICED)
        dims[rank - 1].factor += 2 * TSRI_CASE_MARGIN;
    if (operand->view == TSRI_CASE_AMONG)
        dims[rank - 2].factor += 2 * TSRI_CASE_MARGIN;
    if (operand->view == TSRI_CASE_SWAPPED) {
        dims[a] = operand->dim[b];
        dims[b] = operand->dim[a];
    }
}

/* The largest element of a block of x is its last, in every second row its first. The rows of a view
 * lie between the margins of the leaf's rows. */
static double step_at(const tsri_case_operand *operand, size_t i, size_t columns, double u,
                      double v) {
    const size_t margin = operand->view == TSRI_CASE_SLICED ? TSRI_CASE_MARGIN : 0;
    const size_t k = i % columns < margin ? 0 : i % columns - margin;
    const size_t largest = i / columns % 2 ? 0 : TSRI_TENSOR_BLOCK - 1;
    const double m = floor(u * 253) - 126,
                 most = operand->high / (double)(1 + k / TSRI_TENSOR_BLOCK % 3);
    return (k % TSRI_TENSOR_BLOCK == largest ? 127 : m + 0.8 * v - 0.4) * most / 127;
}

static double element(const tsri_case_operand *operand, int number, size_t i, size_t n,
                      size_t columns) {
    const double extremes[] = {operand->low, operand->high, 0x1p-100, -0x1p-100, 1, -1, 0.0, -0.0};
    const double u = tsri_base_uniform(SEED, (uint64_t)number, i);
    switch (operand->fill) {
    case TSRI_CASE_INTEGER:
        return operand->low + floor(u * (operand->high - operand->low + 1));
    case TSRI_CASE_EQUAL:
        return operand->low;
    case TSRI_CASE_ZEROS:
        return i % 2 ? -0.0 : 0.0;
    case TSRI_CASE_EXTREME:
        return extremes[i % (sizeof extremes / sizeof *extremes)];
    case TSRI_CASE_POWERS:
        return pow(operand->high, -(double)i / (double)n);
    case TSRI_CASE_LIST:
        return operand->list[i % (size_t)operand->n_list];
    case TSRI_CASE_NUMBERS:
        return operand->numbers[i % 4];
    case TSRI_CASE_MASK:
        return u < operand->low ? -INFINITY : 0;
    case TSRI_CASE_STEPS:
        return step_at(operand, i, columns, u, tsri_base_uniform(SEED + 1, (uint64_t)number, i));
    case TSRI_CASE_SOME_NAN:
        return u < operand->low ? NAN : 2 * (u - operand->low) / (1 - operand->low) - 1;
    default:
        return operand->low + u * (operand->high - operand->low);
    }
}

enum { F16_SIGN = 0x80 }; /* in the second byte of a little-endian f16 */

/* A scale becomes positive and the minimum negative: for each number d q - m, |d| q + |m|, which bounds
 * what is added for it. `halves`: where they lie in a block. */
static void make_absolute_halves(unsigned char *halves) {
    halves[1] &= (unsigned char)~F16_SIGN;
    halves[3] |= F16_SIGN;
}

/* Both of d q + m become positive. */
static void make_absolute_q4_1(unsigned char *block) {
    block[1] &= (unsigned char)~F16_SIGN;
    block[3] &= (unsigned char)~F16_SIGN;
}

/* The scale becomes negative, and the integers lie in -16 .. 0. */
static void make_absolute_q5_0(unsigned char *block) {
    unsigned char *fifths = block + 2, *nibbles = block + 6;
    for (int i = 0; i < 32; i++) {
        const int shift = i / 16 * 4, bit = i % 8;
        int q = (nibbles[i % 16] >> shift & 15) | (fifths[i / 8] >> bit & 1) << 4;
        q = q > 16 ? 32 - q : q;
        nibbles[i % 16] = (unsigned char)((nibbles[i % 16] & ~(15 << shift)) | (q & 15) << shift);
        fifths[i / 8] = (unsigned char)((fifths[i / 8] & ~(1 << bit)) | q >> 4 << bit);
    }
    block[1] |= F16_SIGN;
}

static void make_absolute_q4_k(unsigned char *block) {
    make_absolute_halves(block);
}

static void make_absolute_q2_k(unsigned char *block) {
    make_absolute_halves(block + 80);
}

/* An integer that is stored 32 too large has its low 4 bits in *low from bit `nibble` on and its high 2 in *high
 * from bit `pair` on: a positive one becomes as far negative. */
static void fold_six_bits(unsigned char *low, int nibble, unsigned char *high, int pair) {
    int q = (*low >> nibble & 15) | (*high >> pair & 3) << 4;
    q = q > 32 ? 64 - q : q;
    *low = (unsigned char)((*low & ~(15 << nibble)) | (q & 15) << nibble);
    *high = (unsigned char)((*high & ~(3 << pair)) | q >> 4 << pair);
}

/* The scale becomes positive, those of the parts negative, and the integers lie in -32 .. 0. */
static void make_absolute_q6_k(unsigned char *block) {
    unsigned char *low = block, *high = block + 128, *scales = block + 192;
    for (int i = 0; i < 256; i++) {
        unsigned char *nibbles = &low[i / 128 * 64 + i % 64], *pairs = &high[i / 128 * 32 + i % 32];
        const int up = i % 128 / 64 * 4, at = i % 128 / 32 * 2;
        fold_six_bits(nibbles, up, pairs, at);
    }
    for (int i = 0; i < 16; i++)
        scales[i] = scales[i] < 128 ? (unsigned char)-scales[i] : scales[i];
    block[209] &= (unsigned char)~F16_SIGN;
}

/* Likewise: the scales of the parts, less 32, lie in -32 .. 0, and the integers in -4 .. 0. */
static void make_absolute_q3_k(unsigned char *block) {
    unsigned char *thirds = block, *pairs = block + 32, *scales = block + 96;
    for (int i = 0; i < 256; i++) {
        unsigned char *pair = &pairs[i / 128 * 32 + i % 32], *third = &thirds[i % 32];
        const int at = i % 128 / 32 * 2, bit = i / 32;
        int q = (*pair >> at & 3) | (*third >> bit & 1) << 2;
        q = q > 4 ? 8 - q : q;
        *pair = (unsigned char)((*pair & ~(3 << at)) | (q & 3) << at);
        *third = (unsigned char)((*third & ~(1 << bit)) | q >> 2 << bit);
    }
    for (int i = 0; i < 16; i++) {
        fold_six_bits(&scales[i % 8], i / 8 * 4, &scales[8 + i % 4], i / 4 * 2);
    }
    block[109] &= (unsigned char)~F16_SIGN;
}

/* The codes of negative numbers become those of positive ones that are at least 1 / 1.25 of their sizes; the
 * scale, of which only the power of two has bits that are not 0, becomes 1.25 times as large: so a number is at
 * least the magnitude, which bounds it as well. */
static void make_positive_codes(unsigned char *nibbles, int n, unsigned char *scale) {
    static const unsigned char positive[8] = {15, 15, 14, 13, 12, 11, 10, 9};
    for (int i = 0; i < n; i++) {
        const int low = nibbles[i] & 15, high = nibbles[i] >> 4;
        nibbles[i] = (unsigned char)((low < 8 ? positive[low] : low) |
                                     (high < 8 ? positive[high] : high) << 4);
    }
    scale[1] |= 1; /* the second bit behind the point */
}

static void make_absolute_iq4_nl(unsigned char *block) {
    make_positive_codes(block + 2, 16, block);
    block[1] &= (unsigned char)~F16_SIGN;
}

/* The scales of the parts, less 32, lie in -32 .. 0, and that of the block becomes negative. */
static void make_absolute_iq4_xs(unsigned char *block) {
    make_positive_codes(block + 8, 128, block);
    for (int part = 0; part < 8; part++) {
        fold_six_bits(&block[4 + part / 2], part % 2 * 4, &block[2 + part / 4], part % 4 * 2);
    }
    block[1] |= F16_SIGN;
}

/* The highest bit of a nibble is its sign. */
static void make_absolute_mxfp4(unsigned char *block) {
    for (int i = 1; i < 17; i++)
        block[i] &= 0x77;
}

/* Replaces the numbers in blocks by their magnitudes. Of q8_0 and q4_0, the scale becomes negative, and
 * the integers lie in -127 .. 0 or in -8 .. 0, where all magnitudes have a place. */
static void make_absolute(tsr_dtype dtype, unsigned char *blocks, size_t count) {
    const tsri_tensor_dtype *type = tsri_tensor_dtype_info(dtype);
    static void (*const makes[TSRI_TENSOR_DTYPES])(unsigned char *) = {
        [TSR_GGML_Q4_1] = make_absolute_q4_1,  [TSR_GGML_Q5_0] = make_absolute_q5_0,
        [TSR_GGML_Q5_1] = make_absolute_q4_1,  [TSR_GGML_IQ4_NL] = make_absolute_iq4_nl,
        [TSR_GGML_Q4_K] = make_absolute_q4_k,  [TSR_GGML_Q5_K] = make_absolute_q4_k,
        [TSR_GGML_Q6_K] = make_absolute_q6_k,  [TSR_GGML_Q2_K] = make_absolute_q2_k,
        [TSR_GGML_Q3_K] = make_absolute_q3_k,  [TSR_GGML_IQ4_XS] = make_absolute_iq4_xs,
        [TSR_GGML_MXFP4] = make_absolute_mxfp4};
    for (unsigned char *p = blocks; p < blocks + count / (size_t)type->block * (size_t)type->bytes;
         p += type->bytes) {
        if (!tsri_tensor_is_written_blocks(dtype)) {
            makes[dtype](p);
            continue;
        }
        p[1] |= F16_SIGN;
        for (int i = 2; i < type->bytes; i++)
            if (dtype == TSR_GGML_Q8_0)
                p[i] = p[i] < 128 ? (unsigned char)-p[i] : p[i];
            else
                p[i] = (unsigned char)(((p[i] & 15) > 8 ? 16 - (p[i] & 15) : p[i] & 15) |
                                       ((p[i] >> 4) > 8 ? 16 - (p[i] >> 4) : p[i] >> 4) << 4);
    }
}

static tsr_status fill_operand(const tsri_case *c, int number, bool magnitude, void **out,
                               size_t *bytes) {
    const tsri_case_operand *operand = &c->in[number];
    tsr_tensor leaf = {.rank = operand->rank, .dtype = operand->dtype};
    tsri_case_leaf_dims(operand, leaf.dim);
    size_t count = 1;
    for (uint32_t i = 0; i < leaf.rank; i++)
        count *= (size_t)tsri_tensor_value(leaf.dim[i], c->sizes);
    const bool blocks = tsri_tensor_is_kept_blocks(operand->dtype);
    const bool absolute = magnitude && operand->absolute;
    const size_t columns =
        leaf.rank ? (size_t)tsri_tensor_value(leaf.dim[leaf.rank - 1], c->sizes) : 1;
    uint64_t size = 0;
    float *values = NULL;
    if (!tsri_tensor_bytes(operand->dtype, count, &size))
        return tsri_base_fail(TSR_E_INTERNAL, "case %s: operand %d has no size", c->name, number);
    *bytes = (size_t)size;
    TRY(tsri_base_new_aligned(*bytes + 1, out));
    TRY(tsri_base_new(count + 1, sizeof *values, &values));
    for (size_t i = 0; i < count; i++) {
        if (c->timed && i >= PERIOD) {
            values[i] = values[i - PERIOD];
            continue;
        }
        const double value = element(operand, number, i, count, columns);
        values[i] = (float)(absolute && !blocks ? fabs(value) : value);
    }
    tsr_status status = TSR_OK;
    if (blocks && !tsri_tensor_is_written_blocks(operand->dtype))
        tsri_tensor_sample_blocks((uint32_t)number, 0, count, operand->dtype, *out);
    else
        status = tsri_tensor_convert(operand->dtype, *out, TSR_F32, values, count);
    if (status == TSR_OK && absolute && blocks)
        make_absolute(operand->dtype, *out, count);
    free(values);
    return status;
}

tsr_status tsri_case_values_fill(const tsri_case *c, bool magnitude, tsri_case_values *values) {
    *values = (tsri_case_values){0};
    for (int i = 0; i < TSRI_CASE_MAX_IN; i++)
        if (c->in[i].present)
            TRY(fill_operand(c, i, magnitude, &values->in[i], &values->in_bytes[i]));
    return TSR_OK;
}

void tsri_case_values_poison(const tsri_case *c, tsri_case_values *values) {
    for (int i = 0; i < TSRI_CASE_MAX_IN; i++)
        if (c->in[i].present && c->in[i].kind == TSR_KIND_INPUT && c->in[i].dtype == TSR_F32)
            memset(values->in[i], 0xff, values->in_bytes[i]); /* a NaN */
}

void tsri_case_values_clear(tsri_case_values *values) {
    for (int i = 0; i < TSRI_CASE_MAX_IN; i++)
        tsri_system_free_aligned(values->in[i]);
    for (int i = 0; i < TSRI_CASE_MAX_OUT; i++)
        tsri_system_free_aligned(values->out[i]);
    *values = (tsri_case_values){0};
}
