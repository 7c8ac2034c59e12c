#include "backends/opencl/rows/common.h"

#include <string.h>

enum { LANES = 64 }; /* outputs of a panel, and inputs of a block of panels64_kn */

static int64_t blocks(int64_t n) {
    return (n + LANES - 1) / LANES;
}

static size_t element_size(uint32_t dtype) {
    return dtype == TSR_F32 ? 4 : 2;
}

/* [count, columns] at `from` becomes [columns, 64] at `to`, whose columns past count are zero;
 * `size` bytes an element. */
static void transpose(int64_t count, int64_t columns, size_t size, const char *from, char *to) {
    if (count < LANES)
        memset(to, 0, (size_t)columns * LANES * size);
    for (int64_t first = 0; first < columns;
         first += 16) { /* a few columns of all rows stay in the cache */
        const int64_t end = first + 16 < columns ? first + 16 : columns;
        for (int64_t row = 0; row < count; row++)
            for (int64_t column = first; column < end; column++)
                memcpy(to + (size_t)(column * LANES + row) * size,
                       from + (size_t)(row * columns + column) * size, size);
    }
}

static void transpose_back(int64_t count, int64_t columns, size_t size, const char *from,
                           char *to) {
    for (int64_t row = 0; row < count; row++)
        for (int64_t column = 0; column < columns; column++)
            memcpy(to + (size_t)(row * columns + column) * size,
                   from + (size_t)(column * LANES + row) * size, size);
}

static uint64_t bytes_nk(int64_t rows, int64_t columns, uint32_t dtype) {
    return (uint64_t)blocks(rows) * LANES * (uint64_t)columns * element_size(dtype);
}

static void span_nk(int64_t rows, int64_t columns, uint32_t dtype, int64_t first, int64_t count,
                    uint64_t *offset, uint64_t *bytes) {
    (void)rows;
    *offset = bytes_nk(first, columns, dtype);
    *bytes = bytes_nk(count, columns, dtype);
}

static void store_nk(int64_t columns, uint32_t dtype, int64_t count, const void *plain, void *out) {
    const size_t size = element_size(dtype), panel = (size_t)columns * LANES * size;
    for (int64_t row = 0; row < count; row += LANES)
        transpose(count - row < LANES ? count - row : LANES, columns, size,
                  (const char *)plain + (size_t)(row * columns) * size,
                  (char *)out + (size_t)(row / LANES) * panel);
}

static void load_nk(int64_t columns, uint32_t dtype, int64_t count, const void *stored,
                    void *plain) {
    const size_t size = element_size(dtype), panel = (size_t)columns * LANES * size;
    for (int64_t row = 0; row < count; row += LANES)
        transpose_back(count - row < LANES ? count - row : LANES, columns, size,
                       (const char *)stored + (size_t)(row / LANES) * panel,
                       (char *)plain + (size_t)(row * columns) * size);
}

static uint64_t bytes_kn(int64_t rows, int64_t columns, uint32_t dtype) {
    return (uint64_t)blocks(rows) * LANES * (uint64_t)blocks(columns) * LANES * element_size(dtype);
}

static void span_kn(int64_t rows, int64_t columns, uint32_t dtype, int64_t first, int64_t count,
                    uint64_t *offset, uint64_t *bytes) {
    (void)rows;
    *offset = bytes_kn(first, columns, dtype);
    *bytes = bytes_kn(count, columns, dtype);
}

/* Where row `row` of a block of rows has its lanes of panel `panel`, in elements. */
static size_t place_kn(int64_t row, int64_t panel, int64_t columns) {
    return (size_t)((row / LANES * blocks(columns) + panel) * LANES + row % LANES) * LANES;
}

static void store_kn(int64_t columns, uint32_t dtype, int64_t count, const void *plain, void *out) {
    const size_t size = element_size(dtype);
    if (count % LANES || columns % LANES)
        memset(out, 0, bytes_kn(count, columns, dtype));
    for (int64_t row = 0; row < count; row++)
        for (int64_t first = 0; first < columns; first += LANES) {
            const int64_t width = columns - first < LANES ? columns - first : LANES;
            memcpy((char *)out + place_kn(row, first / LANES, columns) * size,
                   (const char *)plain + (size_t)(row * columns + first) * size,
                   (size_t)width * size);
        }
}

static void load_kn(int64_t columns, uint32_t dtype, int64_t count, const void *stored,
                    void *plain) {
    const size_t size = element_size(dtype);
    for (int64_t row = 0; row < count; row++)
        for (int64_t first = 0; first < columns; first += LANES) {
            const int64_t width = columns - first < LANES ? columns - first : LANES;
            memcpy((char *)plain + (size_t)(row * columns + first) * size,
                   (const char *)stored + place_kn(row, first / LANES, columns) * size,
                   (size_t)width * size);
        }
}

const tsri_opencl_layout tsri_opencl_layout_panels64 = {.name = "panels64",
                                                        .id = 1,
                                                        .row_block = LANES,
                                                        .bytes = bytes_nk,
                                                        .span = span_nk,
                                                        .store = store_nk,
                                                        .load = load_nk};

const tsri_opencl_layout tsri_opencl_layout_panels64_kn = {.name = "panels64_kn",
                                                           .id = 2,
                                                           .row_block = LANES,
                                                           .bytes = bytes_kn,
                                                           .span = span_kn,
                                                           .store = store_kn,
                                                           .load = load_kn};
