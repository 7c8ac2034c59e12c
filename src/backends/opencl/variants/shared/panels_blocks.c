/* backends/opencl/variants/shared/panels_blocks.c - the layout of q8_0 and q4_0 weights for CPUs:
 * panels of 64 outputs by blocks of 32 inputs. */
#include "backends/opencl/variants/shared/common.h"

#include <string.h>

/* A plain block is an f16 scale and its whole numbers: 32 bytes (q8_0), or 16 bytes whose low
 * nibbles are the first 16 inputs (q4_0). */
enum { LANES = 64, SCALE = 2, NIBBLES = 16 };

static bool is_eight(uint32_t dtype) {
    return dtype == TSR_GGML_Q8_0;
}

static size_t plain_block(uint32_t dtype) {
    return (size_t)SCALE + (is_eight(dtype) ? 32 : NIBBLES);
}

/* The bytes of one block of 64 outputs. */
static size_t panel_block(uint32_t dtype) {
    return LANES * plain_block(dtype);
}

static uint64_t bytes_of(int64_t rows, int64_t columns, uint32_t dtype) {
    return (uint64_t)((rows + LANES - 1) / LANES) * (uint64_t)(columns / 32) * panel_block(dtype);
}

static void span(int64_t rows, int64_t columns, uint32_t dtype, int64_t first, int64_t count,
                 uint64_t *offset, uint64_t *bytes) {
    (void)rows;
    *offset = bytes_of(first, columns, dtype);
    *bytes = bytes_of(count, columns, dtype);
}

/* Moves the words of one block of output `lane`: four bytes of a plain block are four inputs, which
 * are side by side in the panel too. `flip` turns q8_0's signed bytes into q + 128 and back; q4_0's
 * nibbles are q + 8 already. */
static void move_words(uint32_t dtype, int64_t lane, bool back, unsigned char *plain,
                       unsigned char *panel) {
    const uint32_t flip = is_eight(dtype) ? 0x80808080u : 0;
    const int words = is_eight(dtype) ? 8 : 4;
    for (int i = 0; i < words; i++) {
        unsigned char *here = plain + SCALE + 4 * i, *there = panel + (i * LANES + lane) * 4;
        uint32_t word;
        memcpy(&word, back ? there : here, sizeof word);
        word ^= flip;
        memcpy(back ? here : there, &word, sizeof word);
    }
    unsigned char *scale = panel + words * LANES * 4 + lane * SCALE;
    memcpy(back ? plain : scale, back ? scale : plain, SCALE);
}

/* Moves all blocks of `count` rows. */
static void move_rows(int64_t columns, uint32_t dtype, int64_t count, bool back,
                      unsigned char *plain, unsigned char *panels) {
    const int64_t blocks = columns / 32;
    for (int64_t row = 0; row < count; row++)
        for (int64_t b = 0; b < blocks; b++)
            move_words(dtype, row % LANES, back,
                       plain + (size_t)(row * blocks + b) * plain_block(dtype),
                       panels + (size_t)(row / LANES * blocks + b) * panel_block(dtype));
}

static void store(int64_t columns, uint32_t dtype, int64_t count, const void *plain, void *out) {
    if (count % LANES) /* the scales beyond the last output are 0 */
        memset(out, 0, bytes_of(count, columns, dtype));
    move_rows(columns, dtype, count, false, (unsigned char *)plain, out);
}

static void load(int64_t columns, uint32_t dtype, int64_t count, const void *stored, void *plain) {
    move_rows(columns, dtype, count, true, plain, (unsigned char *)stored);
}

const tsri_opencl_layout tsri_opencl_layout_panels64_blocks = {.name = "panels64_blocks",
                                                               .id = 3,
                                                               .row_block = LANES,
                                                               .bytes = bytes_of,
                                                               .span = span,
                                                               .store = store,
                                                               .load = load};
