/* backends/opencl/variants/layouts/panels_blocks.c - the layouts of q8_0 and q4_0 weights: panels of 64
 * outputs for CPUs, of 32 for GPUs, by blocks of 32 inputs. */
#include "backends/opencl/variants/layouts/layouts.h"

#include <string.h>

/* A plain block is an f16 scale and its whole numbers: 32 bytes (q8_0), or 16 bytes whose low
 * nibbles are the first 16 inputs (q4_0). */
enum { SCALE = 2, NIBBLES = 16 };

/* Outputs of a panel; words of an output that lie together, before those of the next; what turns
 * q8_0's signed bytes into those of the panel and back. */
typedef struct form {
    int64_t lanes;
    int together;
    uint32_t flip;
} form;

static const form for_cpus = {64, 1, 0x80808080u}, for_gpus = {32, 4, 0};

static bool is_eight(uint32_t dtype) {
    return dtype == TSR_GGML_Q8_0;
}

static size_t plain_block(uint32_t dtype) {
    return (size_t)SCALE + (is_eight(dtype) ? 32 : NIBBLES);
}

/* The bytes of one block of all outputs of a panel. */
static size_t panel_block(const form *f, uint32_t dtype) {
    return (size_t)f->lanes * plain_block(dtype);
}

static uint64_t bytes_of(const form *f, int64_t rows, int64_t columns, uint32_t dtype) {
    return (uint64_t)((rows + f->lanes - 1) / f->lanes) * (uint64_t)(columns / 32) *
           panel_block(f, dtype);
}

/* Moves the words of one block of output `lane`: four bytes of a plain block are four inputs, which
 * are side by side in the panel too. q4_0's nibbles are q + 8 in both. */
static void move_words(const form *f, uint32_t dtype, int64_t lane, bool back, unsigned char *plain,
                       unsigned char *panel) {
    const uint32_t flip = is_eight(dtype) ? f->flip : 0;
    const int words = is_eight(dtype) ? 8 : 4;
    for (int i = 0; i < words; i++) {
        const int64_t at = (i / f->together * f->lanes + lane) * f->together + i % f->together;
        unsigned char *here = plain + SCALE + 4 * i, *there = panel + at * 4;
        uint32_t word;
        memcpy(&word, back ? there : here, sizeof word);
        word ^= flip;
        memcpy(back ? here : there, &word, sizeof word);
    }
    unsigned char *scale = panel + words * f->lanes * 4 + lane * SCALE;
    memcpy(back ? plain : scale, back ? scale : plain, SCALE);
}

/* Moves all blocks of `count` rows. */
static void move_rows(const form *f, int64_t columns, uint32_t dtype, int64_t count, bool back,
                      unsigned char *plain, unsigned char *panels) {
    const int64_t blocks = columns / 32;
    for (int64_t row = 0; row < count; row++)
        for (int64_t b = 0; b < blocks; b++)
            move_words(f, dtype, row % f->lanes, back,
                       plain + (size_t)(row * blocks + b) * plain_block(dtype),
                       panels + (size_t)(row / f->lanes * blocks + b) * panel_block(f, dtype));
}

static void store_rows(const form *f, int64_t columns, uint32_t dtype, int64_t count,
                       const void *plain, void *out) {
    if (count % f->lanes) /* the scales beyond the last output are 0 */
        memset(out, 0, bytes_of(f, count, columns, dtype));
    move_rows(f, columns, dtype, count, false, (unsigned char *)plain, out);
}

/* The functions of a layout, for the form. */
#define FUNCTIONS(f)                                                                         \
    static uint64_t f##_bytes(int64_t rows, int64_t columns, uint32_t dtype) {               \
        return bytes_of(&f, rows, columns, dtype);                                           \
    }                                                                                        \
    static void f##_span(int64_t rows, int64_t columns, uint32_t dtype, int64_t first,       \
                         int64_t count, uint64_t *offset, uint64_t *bytes) {                 \
        (void)rows;                                                                          \
        *offset = bytes_of(&f, first, columns, dtype);                                       \
        *bytes = bytes_of(&f, count, columns, dtype);                                        \
    }                                                                                        \
    static void f##_store(int64_t columns, uint32_t dtype, int64_t count, const void *plain, \
                          void *out) {                                                       \
        store_rows(&f, columns, dtype, count, plain, out);                                   \
    }                                                                                        \
    static void f##_load(int64_t columns, uint32_t dtype, int64_t count, const void *stored, \
                         void *plain) {                                                      \
        move_rows(&f, columns, dtype, count, true, plain, (unsigned char *)stored);          \
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
