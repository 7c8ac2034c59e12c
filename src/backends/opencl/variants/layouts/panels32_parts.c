/* backends/opencl/variants/layouts/panels32_parts.c - wide blocks in the panels for GPUs: those of 256 inputs as
 * eight parts of 32 inputs that are read without each other. */
#include "backends/opencl/variants/layouts/layouts.h"
#include "tensor/dtype.h"

#include <string.h>

enum { LANES = 32, PARTS = 8, MOST_BITS = 2, MOST_REST = 3 };

/* Bits of the numbers, from byte `first` of a block on. A byte has 8 / k bits each of k inputs, which
 * belong to k parts; 8 / k runs of 32 bytes have all of them. Number j of byte l of run r is that of input
 * l of part part[r] + j * apart. In the panel a byte has those of k inputs of one part. */
typedef struct bits {
    int first, k, part[4], apart;
} bits;

/* What else a block has: bytes from `first` on, those of each part apart. TURNED: a word of 32 bits, of which
 * bit 4w + b becomes bit 8b + w. */
enum { TURNED = -1 };
typedef struct rest {
    int first, bytes, parts;
} rest;

static const struct {
    tsr_dtype dtype;
    bits bits[MOST_BITS];
    rest rest[MOST_REST];
} types[] = {
    {TSR_GGML_Q4_K, {{16, 2, {0, 2, 4, 6}, 1}}, {{0, 16, 1}}},
    {TSR_GGML_Q5_K, {{48, 2, {0, 2, 4, 6}, 1}, {16, 8, {0}, 1}}, {{0, 16, 1}}},
    {TSR_GGML_Q6_K,
     {{0, 2, {0, 1, 4, 5}, 2}, {128, 4, {0, 4}, 1}},
     {{192, 16, PARTS}, {208, 2, 1}}},
    {TSR_GGML_Q2_K, {{16, 4, {0, 4}, 1}}, {{0, 16, PARTS}, {80, 4, 1}}},
    {TSR_GGML_Q3_K, {{32, 4, {0, 4}, 1}, {0, 8, {0}, 1}}, {{96, 12, 1}, {108, 2, 1}}},
    {TSR_GGML_IQ4_XS, {{0}}, {{8, 128, PARTS}, {0, 8, 1}}}, /* a part's nibbles lie as in q4_0 */
    {TSR_GGML_Q4_1, {{0}}, {{4, 16, 1}, {0, 4, 1}}},
    {TSR_GGML_Q5_0, {{0}}, {{6, 16, 1}, {2, 4, TURNED}, {0, 2, 1}}},
    {TSR_GGML_Q5_1, {{0}}, {{8, 16, 1}, {4, 4, TURNED}, {0, 4, 1}}},
    {TSR_GGML_IQ4_NL, {{0}}, {{2, 16, 1}, {0, 2, 1}}},
};

/* Exchanges number j of the bytes of word e with number e of those of word j, k numbers in a byte. Done twice,
 * it changes nothing. */
static inline void turn(int k, uint32_t *words) {
    static const uint32_t masks[] = {[1] = 0x55555555u, [2] = 0x33333333u, [4] = 0x0f0f0f0fu};
    for (int half = k / 2; half; half /= 2) {
        const int shift = half * (8 / k);
        for (int e = 0; e < k; e++)
            if (!(e & half)) {
                const uint32_t other = (words[e] >> shift ^ words[e + half]) & masks[shift];
                words[e + half] ^= other;
                words[e] ^= other << shift;
            }
    }
}

/* Word v of a part's 8 / k has the inputs of k words of the block: for nibbles those 16 inputs apart, as in
 * q4_0, else neighbours. */
static inline void move_bits(const bits *b, int k, bool back, unsigned char *plain,
                             unsigned char *panel) {
    const int apart = k == 2 ? 4 : 1, step = k == 2 ? 1 : k;
    for (int run = 0; run < 8 / k; run++)
        for (int v = 0; v < 8 / k; v++) {
            uint32_t words[PARTS];
            unsigned char *stored = plain + run * 32 + v * step * 4,
                          *packed = panel + b->part[run] * (32 / k * LANES) + v * 4;
            const int stride = back ? b->apart * (32 / k * LANES) : apart * 4,
                      other = back ? apart * 4 : b->apart * (32 / k * LANES);
            for (int e = 0; e < k; e++)
                memcpy(&words[e], (back ? packed : stored) + e * stride, 4);
            turn(k, words);
            for (int e = 0; e < k; e++)
                memcpy((back ? stored : packed) + e * other, &words[e], 4);
        }
}

/* Bits 4w .. 4w + 3 of a word are bit w of its four bytes in the panel. */
static void move_turned(bool back, unsigned char *plain, unsigned char *panel) {
    uint32_t word, other = 0;
    memcpy(&word, back ? panel : plain, sizeof word);
    for (int w = 0; w < 8; w++)
        other |= tsri_opencl_layout_four_in(tsri_opencl_layout_four_of(word, w, !back), w, back);
    memcpy(back ? plain : panel, &other, sizeof other);
}

static void move_rest(const rest *r, bool back, unsigned char *plain, unsigned char *panel) {
    const size_t bytes = (size_t)(r->bytes / r->parts);
    for (int part = 0; part < r->parts; part++) {
        unsigned char *stored = plain + (size_t)part * bytes,
                      *packed = panel + (size_t)part * bytes * LANES;
        memcpy(back ? stored : packed, back ? packed : stored, bytes);
    }
}

void tsri_opencl_layout_move_parts(uint32_t dtype, int64_t rows, size_t row_bytes, bool back,
                                   unsigned char *plain, unsigned char *panel) {
    size_t t = 0;
    while (types[t].dtype != (tsr_dtype)dtype)
        t++;
    for (int64_t row = 0; row < rows; row++, plain += row_bytes) {
        unsigned char *at = panel;
        for (const bits *b = types[t].bits; b < types[t].bits + MOST_BITS && b->k; b++) {
            unsigned char *own = at + row * (32 / b->k);
            if (b->k == 2)
                move_bits(b, 2, back, plain + b->first, own);
            else
                move_bits(b, b->k, back, plain + b->first, own);
            at += 256 / b->k * LANES;
        }
        for (const rest *r = types[t].rest; r < types[t].rest + MOST_REST && r->parts; r++) {
            if (r->parts == TURNED)
                move_turned(back, plain + r->first, at + row * r->bytes);
            else
                move_rest(r, back, plain + r->first, at + row * (r->bytes / r->parts));
            at += r->bytes * LANES;
        }
    }
}
