/* tensor/transcode.c - one function for each block type that another can hold, for one block. */
#include "tensor/transcode.h"

#include "tensor/blocks.h"
#include "tensor/dtype.h"
#include "tensor/quantize.h"

#include <stdint.h>
#include <string.h>

enum { SMALL = TSRI_TENSOR_BLOCK, MOST = 22 /* bytes of a small block */ };

static void store_half(uint8_t *p, unsigned h) {
    p[0] = (uint8_t)(h & 0xff);
    p[1] = (uint8_t)(h >> 8);
}

/* The integers of a block: its numbers, where its first bytes are a scale of 1. */
static void store_integers(tsr_dtype type, const uint8_t *from, const uint8_t *one, size_t bytes,
                           uint8_t *to) {
    uint8_t block[MOST];
    float x[SMALL];
    memcpy(block, from, (size_t)tsri_tensor_dtype_info(type)->bytes);
    memcpy(block, one, bytes);
    tsri_tensor_unpack(type, block, x, SMALL);
    for (int k = 0; k < SMALL; k++)
        to[2 + k] = (uint8_t)(int8_t)x[k];
}

static void small_to_q8_0(tsr_dtype type, const uint8_t *from, uint8_t *to) {
    static const uint8_t one[2] = {0x00, 0x3c};
    memcpy(to, from, 2); /* the scale */
    store_integers(type, from, one, 2, to);
}

static void mxfp4_to_q8_0(tsr_dtype type, const uint8_t *from, uint8_t *to) {
    enum {
        HALF = 128,
        LEAST = -24,
        NORMAL = -14,
        LARGEST = 15
    }; /* codes are halves of the scale */
    static const uint8_t one[1] = {HALF};
    const int power = from[0] - HALF;
    float x[SMALL];
    if (power < LEAST || power > LARGEST) {
        tsri_tensor_unpack(type, from, x, SMALL);
        tsri_tensor_quantize(TSR_GGML_Q8_0, x, to, SMALL);
        return;
    }
    store_half(to, power < NORMAL ? 1u << (power - LEAST) : (unsigned)(power + 15) << 10);
    store_integers(type, from, one, 1, to);
}

static const struct {
    tsr_dtype type, holder;
    void (*transcode)(tsr_dtype type, const uint8_t *from, uint8_t *to);
} types[] = {
    {TSR_GGML_MXFP4, TSR_GGML_Q8_0, mxfp4_to_q8_0},
    {TSR_GGML_Q5_0, TSR_GGML_Q8_0, small_to_q8_0},
    {TSR_GGML_IQ4_NL, TSR_GGML_Q8_0, small_to_q8_0},
};
enum { TYPES = sizeof types / sizeof *types };

tsr_dtype tsri_tensor_exact_floats(tsr_dtype type) {
    return type == TSR_GGML_MXFP4 ? TSR_BF16 : TSR_F32;
}

tsr_dtype tsri_tensor_holder(tsr_dtype type) {
    size_t t = 0;
    while (t < TYPES && types[t].type != type)
        t++;
    return t < TYPES ? types[t].holder : TSR_DTYPE_NONE;
}

void tsri_tensor_transcode(tsr_dtype type, const void *blocks, void *out, size_t n) {
    const tsri_tensor_dtype *info = tsri_tensor_dtype_info(type);
    const size_t bytes = (size_t)tsri_tensor_dtype_info(tsri_tensor_holder(type))->bytes;
    const uint8_t *from = blocks;
    uint8_t *to = out;
    size_t t = 0;
    while (types[t].type != type)
        t++;
    for (size_t i = 0; i < n; i += (size_t)info->block, from += info->bytes, to += bytes)
        types[t].transcode(type, from, to);
}
