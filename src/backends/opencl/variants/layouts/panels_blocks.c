/* backends/opencl/variants/layouts/panels_blocks.c - the layouts of weights in blocks: panels of 64
 * outputs for CPUs, of 32 for GPUs, by small blocks (q8_0, q4_0, mxfp4) or wide ones. */
#include "backends/opencl/variants/layouts/layouts.h"
#include "tensor/dtype.h"
#include "tensor/quantize.h"

#include <string.h>

/* Outputs of a panel; words of an output that lie together, before those of the next; what turns
 * q8_0's signed bytes into those of the panel and back; what moves a wide block of `rows` outputs. */
typedef struct form {
    int64_t lanes;
    int together;
    uint32_t flip;
    void (*move_wide)(uint32_t dtype, int64_t rows, size_t row_bytes, bool back,
                      unsigned char *plain, unsigned char *panel);
} form;

static void move_wide_block(uint32_t dtype, int64_t rows, size_t row_bytes, bool back,
                            unsigned char *plain, unsigned char *panel);
static const form for_cpus = {64, 1, 0x80808080u, move_wide_block},
                  for_gpus = {32, 4, 0, tsri_opencl_layout_move_parts};

/* A panel has the bytes of its outputs' blocks, in another order. */
static uint64_t bytes_of(const form *f, int64_t rows, int64_t columns, uint32_t dtype) {
    const tsri_tensor_dtype *type = tsri_tensor_dtype_info((tsr_dtype)dtype);
    return (uint64_t)((rows + f->lanes - 1) / f->lanes * f->lanes) *
           (uint64_t)(columns / type->block) * (uint64_t)type->bytes;
}

/* --- small blocks --- A plain block is a scale and then words of numbers: 8 whose bytes are the inputs in
 * order (q8_0), or 4 whose low nibbles are the first 16 inputs (q4_0, mxfp4). */

/* Moves one block of `rows` outputs. Four bytes of a plain block are four inputs, which are side by
 * side in the panel, too; nibbles are the same in both. It goes word by word, so that a panel's
 * lines are filled one after the other; the blocks, a line or two of each row, stay in the cache.
 * (Block by block, it took 2.5 to 4 times as long.) */
static inline void move_block(const form *f, int words, size_t scale, int64_t rows,
                              size_t row_bytes, bool back, unsigned char *plain,
                              unsigned char *panel) {
    const uint32_t flip = words == 8 ? f->flip : 0;
    for (int i = 0; i < words; i++) {
        unsigned char *here = plain + scale + 4 * i;
        unsigned char *there =
            panel + (size_t)(i / f->together * f->lanes * f->together + i % f->together) * 4;
        for (int64_t row = 0; row < rows; row++) {
            unsigned char *stored = here + (size_t)row * row_bytes;
            unsigned char *packed = there + (size_t)(row * f->together) * 4;
            uint32_t word;
            memcpy(&word, back ? packed : stored, sizeof word);
            word ^= flip;
            memcpy(back ? stored : packed, &word, sizeof word);
        }
    }
    unsigned char *scales = panel + (size_t)words * (size_t)f->lanes * 4;
    for (int64_t row = 0; row < rows; row++)
        memcpy(back ? plain + (size_t)row * row_bytes : scales + (size_t)row * scale,
               back ? scales + (size_t)row * scale : plain + (size_t)row * row_bytes, scale);
}

/* Moves all blocks of `count` rows, a panel at a time. */
static inline void move_rows(const form *f, int words, size_t scale, int64_t columns, int64_t count,
                             bool back, unsigned char *plain, unsigned char *panels) {
    const size_t block = (size_t)words * 4 + scale, row_bytes = (size_t)(columns / 32) * block;
    for (int64_t row = 0; row < count; row += f->lanes)
        for (int64_t b = 0; b < columns / 32; b++) {
            unsigned char *from = plain + (size_t)row * row_bytes + (size_t)b * block;
            if (count - row >= f->lanes)
                move_block(f, words, scale, f->lanes, row_bytes, back, from, panels);
            else
                move_block(f, words, scale, count - row, row_bytes, back, from, panels);
            panels += (size_t)f->lanes * block;
        }
}

/* The type is told apart outside of the loops, which the compiler then makes for numbers of words that it
 * knows. */
static inline void move_small_rows(const form *f, uint32_t dtype, int64_t columns, int64_t count,
                                   bool back, unsigned char *plain, unsigned char *panels) {
    if (dtype == TSR_GGML_Q8_0)
        move_rows(f, 8, 2, columns, count, back, plain, panels);
    else if (dtype == TSR_GGML_Q4_0)
        move_rows(f, 4, 2, columns, count, back, plain, panels);
    else
        move_rows(f, 4, 1, columns, count, back, plain, panels);
}

/* --- wide blocks for CPUs --- */

/* So many bytes of a block, from `first` on, in units that lie side by side in the panel: [bytes] become
 * [bytes / unit][lanes][unit]. MASKS are of words with a bit of each input: the bits of four inputs of an output, then
 * those of the next output, so that 16 outputs are a mask of 64 bits. A single word has four inputs in four neighbouring
 * bits, and [4] becomes [8][lanes / 16][8]. Of 8 words, bit p of a word's bytes is that of four inputs of part p, and
 * [32] becomes [8 parts][8][lanes / 16][8]. */
typedef struct plane {
    int first, bytes, unit;
} plane;

enum { PLANES = 4, LANES = 64, MASKS = -1 };
static const struct {
    tsr_dtype dtype;
    plane planes[PLANES]; /* in the order of the panel; together the whole block */
} wide_types[] = {
    {TSR_GGML_Q4_K, {{16, 128, 4}, {4, 12, 1}, {0, 4, 2}}}, /* nibbles, scales, d and dmin */
    {TSR_GGML_Q5_K, {{16, 32, MASKS}, {48, 128, 4}, {4, 12, 1}, {0, 4, 2}}}, /* and fifth bits */
    {TSR_GGML_Q6_K, {{0, 192, 4}, {192, 16, 1}, {208, 2, 2}}}, /* nibbles and pairs, scales, d */
    {TSR_GGML_Q2_K, {{16, 64, 4}, {0, 16, 1}, {80, 4, 2}}},    /* pairs, scales, d and dmin */
    {TSR_GGML_Q3_K, {{0, 96, 4}, {96, 12, 1}, {108, 2, 2}}},   /* third bits and pairs, scales, d */
    {TSR_GGML_IQ4_XS, {{8, 128, 4}, {2, 6, 1}, {0, 2, 2}}},    /* nibbles, scales, d */
    {TSR_GGML_Q4_1, {{4, 16, 4}, {0, 4, 2}}},                  /* nibbles, d and m */
    {TSR_GGML_Q5_0, {{2, 4, MASKS}, {6, 16, 4}, {0, 2, 2}}},   /* fifth bits, nibbles, d */
    {TSR_GGML_Q5_1, {{4, 4, MASKS}, {8, 16, 4}, {0, 4, 2}}},   /* the same, and m */
    {TSR_GGML_IQ4_NL, {{2, 16, 4}, {0, 2, 2}}},                /* nibbles, d */
};

static inline void move_plane(int64_t rows, size_t row_bytes, int bytes, size_t unit, bool back,
                              unsigned char *plain, unsigned char *panel) {
    for (size_t i = 0; i < (size_t)bytes; i += unit)
        for (int64_t row = 0; row < rows; row++) {
            unsigned char *stored = plain + (size_t)row * row_bytes + i;
            unsigned char *packed = panel + i * LANES + (size_t)row * unit;
            memcpy(back ? stored : packed, back ? packed : stored, unit);
        }
}

/* Sixteen outputs at a time. */
static inline void move_masks(int64_t rows, size_t row_bytes, int bytes, bool back,
                              unsigned char *plain, unsigned char *panel) {
    enum { FOURS = 8, TOGETHER = 16 };
    const int words = bytes / 4;
    for (int i = 0; i < words * (LANES / TOGETHER); i++) {
        const int w = i / (LANES / TOGETHER), first = i % (LANES / TOGETHER) * TOGETHER;
        if (first >= rows)
            continue; /* its masks are 0 */
        unsigned char *packed = panel + i * 8, *stored = plain + (size_t)first * row_bytes + 4 * w;
        uint64_t masks[FOURS] = {0};
        for (int n = 0; n < FOURS && back; n++)
            memcpy(&masks[n], packed + n * words * LANES / 2, 8);
        for (int row = 0; row < TOGETHER && first + row < rows; row++, stored += row_bytes) {
            uint32_t word = 0;
            if (!back)
                memcpy(&word, stored, sizeof word);
            for (int n = 0; n < FOURS; n++)
                if (back)
                    word |= tsri_opencl_layout_four_in((uint32_t)(masks[n] >> 4 * row) & 15, n,
                                                       words == 1);
                else
                    masks[n] |= (uint64_t)tsri_opencl_layout_four_of(word, n, words == 1)
                                << 4 * row;
            if (back)
                memcpy(stored, &word, sizeof word);
        }
        for (int n = 0; n < FOURS && !back; n++)
            memcpy(packed + n * words * LANES / 2, &masks[n], 8);
    }
}

static void move_wide_block(uint32_t dtype, int64_t rows, size_t row_bytes, bool back,
                            unsigned char *plain, unsigned char *panel) {
    size_t t = 0;
    while (wide_types[t].dtype != (tsr_dtype)dtype)
        t++;
    for (const plane *p = wide_types[t].planes; p < wide_types[t].planes + PLANES; p++) {
        unsigned char *at = plain + p->first;
        if (p->unit == MASKS && p->bytes == 4)
            move_masks(rows, row_bytes, 4, back, at, panel);
        else if (p->unit == MASKS)
            move_masks(rows, row_bytes, 32, back, at, panel);
        else if (p->unit == 4)
            move_plane(rows, row_bytes, p->bytes, 4, back, at, panel);
        else if (p->unit == 2)
            move_plane(rows, row_bytes, p->bytes, 2, back, at, panel);
        else
            move_plane(rows, row_bytes, p->bytes, 1, back, at, panel);
        panel += p->bytes * LANES;
    }
}

static void move_wide_rows(const form *f, uint32_t dtype, int64_t columns, int64_t count, bool back,
                           unsigned char *plain, unsigned char *panels) {
    const tsri_tensor_dtype *type = tsri_tensor_dtype_info((tsr_dtype)dtype);
    const size_t row_bytes = (size_t)(columns / type->block * type->bytes);
    for (int64_t row = 0; row < count; row += f->lanes)
        for (int64_t b = 0; b < columns / type->block; b++) {
            f->move_wide(dtype, count - row < f->lanes ? count - row : f->lanes, row_bytes, back,
                         plain + (size_t)row * row_bytes + (size_t)(b * type->bytes), panels);
            panels += (size_t)(f->lanes * type->bytes);
        }
}

/* The functions of a layout, for the form. */
#define FUNCTIONS(f)                                                                          \
    static uint64_t f##_bytes(int64_t rows, int64_t columns, uint32_t dtype) {                \
        return bytes_of(&f, rows, columns, dtype);                                            \
    }                                                                                         \
    static void f##_span(int64_t rows, int64_t columns, uint32_t dtype, int64_t first,        \
                         int64_t count, uint64_t *offset, uint64_t *bytes) {                  \
        (void)rows;                                                                           \
        *offset = bytes_of(&f, first, columns, dtype);                                        \
        *bytes = bytes_of(&f, count, columns, dtype);                                         \
    }                                                                                         \
    static void f##_store(int64_t columns, uint32_t dtype, int64_t count, const void *plain,  \
                          void *out) {                                                        \
        if (count % f.lanes) /* the scales beyond the last output are 0 */                    \
            memset(out, 0, bytes_of(&f, count, columns, dtype));                              \
        if (tsri_tensor_is_small_blocks((tsr_dtype)dtype))                                    \
            move_small_rows(&f, dtype, columns, count, false, (unsigned char *)plain, out);   \
        else                                                                                  \
            move_wide_rows(&f, dtype, columns, count, false, (unsigned char *)plain, out);    \
    }                                                                                         \
    static void f##_load(int64_t columns, uint32_t dtype, int64_t count, const void *stored,  \
                         void *plain) {                                                       \
        if (tsri_tensor_is_small_blocks((tsr_dtype)dtype))                                    \
            move_small_rows(&f, dtype, columns, count, true, plain, (unsigned char *)stored); \
        else                                                                                  \
            move_wide_rows(&f, dtype, columns, count, true, plain, (unsigned char *)stored);  \
    }
FUNCTIONS(for_cpus)
FUNCTIONS(for_gpus)

const tsri_opencl_layout tsri_opencl_layout_panels64_blocks = {.name = "panels64_blocks",
                                                               .id = 3,
                                                               .row_block = 64,
                                                               .bytes = for_cpus_bytes,
                                                               .span = for_cpus_span,
                                                               .store = for_cpus_store,
                                                               .load = for_cpus_load};
const tsri_opencl_layout tsri_opencl_layout_panels32_blocks = {.name = "panels32_blocks",
                                                               .id = 4,
                                                               .row_block = 32,
                                                               .bytes = for_gpus_bytes,
                                                               .span = for_gpus_span,
                                                               .store = for_gpus_store,
                                                               .load = for_gpus_load};
