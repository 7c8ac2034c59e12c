/* backends/opencl/variants/layouts/layouts.h - how weights lie for the variants that read them faster
 * than plain rows. */
#ifndef TSRI_OPENCL_VARIANTS_LAYOUTS_LAYOUTS_H
#define TSRI_OPENCL_VARIANTS_LAYOUTS_LAYOUTS_H

#include "backends/opencl/bind/variant.h"

/* Weights for CPUs (panels.c), f32, f16 or bf16: panels of 64 outputs, zero beyond the last one.
 * Element (n,k) of [N,K] is at (n/64 * K + k) * 64 + n%64. */
extern const tsri_opencl_layout tsri_opencl_layout_panels64;
/* The same for products of bf16 (panels_bf16.c): whatever the weight's dtype, its numbers are kept
 * as bf16, two inputs of an output side by side; an odd K has a zero behind its last input. Element
 * (n,k) is at ((n/64 * ((K + 1) / 2) + k/2) * 64 + n%64) * 2 + k%2. */
extern const tsri_opencl_layout tsri_opencl_layout_panels64_bf16;
/* The same for q8_0, q4_0 and mxfp4 (panels_blocks.c). For each panel and each block of 32 inputs: first
 * the numbers of 64 outputs, four inputs of an output side by side; then their 64 scales. q8_0: [8][64][4]
 * bytes, q + 128. q4_0: [4][64][4] bytes, inputs 0 to 15 in the low nibbles, 16 to 31 in the high ones,
 * q + 8. The scales of both are f16. mxfp4: its nibbles likewise, and a byte for a scale. Wide
 * blocks: their bytes in planes, as cl/weighted/wide.clh draws them. */
extern const tsri_opencl_layout tsri_opencl_layout_panels64_blocks;
/* The same for GPUs: panels of 32 outputs. A work-item reads 16 bytes at once, and 32 of them lie in a
 * row. q8_0: [2][32][16] bytes, inputs 0 to 15 of 32 outputs and then 16 to 31, signed. q4_0 and mxfp4:
 * [32][16] bytes, as above. Then 32 scales. Blocks of 256: [8][32][16] bytes, of each 32 inputs the nibbles
 * as in q4_0; then
 *     q4_K  [32][16] the first 16 bytes of the block: d, dmin, scales
 *     q5_K  [8][32][4] the fifth bits, input 4w + b in bit 8b + w of the word; [32][16] as q4_K
 *     q6_K  [8][32][8] the pairs above the nibbles, input 16v + 4w + b in the two bits from 8b + 2w of
 *           word v, w below 4; [8][32][2] both scales; [32][2] d
 *     iq4_xs  [32][8] the first 8 bytes of the block: d, scales
 * Without nibbles:
 *     q2_K  [8][32][8] pairs as of q6_K; [8][32][2] both scales with their minima; [32][4] d, dmin
 *     q3_K  [8][32][8] pairs, [8][32][4] third bits as the fifth of q5_K; [32][12] scales; [32][2] d
 * Others of 32: [32][16] bytes, as q4_0; then
 *     q4_1    [32][4] d, m
 *     q5_0    [32][4] the fifth bits as of q5_K; [32][2] d
 *     q5_1    [32][4] the fifth bits likewise; [32][4] d, m
 *     iq4_nl  [32][2] d */
extern const tsri_opencl_layout tsri_opencl_layout_panels32_blocks;
/* Four bits of a word, number n of 8, as the lowest bits; and lowest bits as those of a word: bits 4n .. 4n + 3
 * where they are neighbours, else bit n of each byte. */
static inline uint32_t tsri_opencl_layout_four_of(uint32_t word, int n, bool neighbours) {
    return neighbours ? word >> 4 * n & 15 : (word >> n & 0x01010101u) * 0x10204080u >> 28;
}

static inline uint32_t tsri_opencl_layout_four_in(uint32_t bits, int n, bool neighbours) {
    return neighbours ? bits << 4 * n : (bits * 0x00204081u & 0x01010101u) << n;
}

/* Moves a wide block of up to 32 outputs, whose rows lie row_bytes apart, into its panel, or back
 * (panels32_parts.c). */
void tsri_opencl_layout_move_parts(uint32_t dtype, int64_t rows, size_t row_bytes, bool back,
                                   unsigned char *plain, unsigned char *panel);

#endif
