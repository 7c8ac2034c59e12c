/* backends/opencl/variants/layouts/panels.c - the layout of weights for CPUs, panels of 64 outputs: rows
 * packed into it, and read back. */
#include "backends/opencl/variants/layouts/layouts.h"

#include <string.h>

enum { LANES = 64 }; /* outputs of a panel */

static int64_t blocks(int64_t n) {
    return (n + LANES - 1) / LANES;
}

static size_t element_size(uint32_t dtype) {
    return dtype == TSR_F32 ? 4 : 2;
}

/* [count, columns] at `from` becomes [columns, 64] at `to`, whose columns from count on are zero;
 * `size` bytes for each element. */
static void transpose(int64_t count, int64_t columns, size_t size, const char *from, char *to) {
    if (count < LANES)
        memset(to, 0, (size_t)columns * LANES * size);
    for (int64_t first = 0; first < columns;
         first += 16) { /* a few columns of all rows at a time stay in the cache */
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

static uint64_t bytes_of(int64_t rows, int64_t columns, uint32_t dtype) {
    return (uint64_t)blocks(rows) * LANES * (uint64_t)columns * element_size(dtype);
}

static void span(int64_t rows, int64_t columns, uint32_t dtype, int64_t first, int64_t count,
                 uint64_t *offset, uint64_t *bytes) {
    (void)rows;
    *offset = bytes_of(first, columns, dtype);
    *bytes = bytes_of(count, columns, dtype);
}

static void store(int64_t columns, uint32_t dtype, int64_t count, const void *plain, void *out) {
    const size_t size = element_size(dtype), panel = (size_t)columns * LANES * size;
    for (int64_t row = 0; row < count; row += LANES)
        transpose(count - row < LANES ? count - row : LANES, columns, size,
                  (const char *)plain + (size_t)(row * columns) * size,
                  (char *)out + (size_t)(row / LANES) * panel);
}

static void load(int64_t columns, uint32_t dtype, int64_t count, const void *stored, void *plain) {
    const size_t size = element_size(dtype), panel = (size_t)columns * LANES * size;
    for (int64_t row = 0; row < count; row += LANES)
        transpose_back(count - row < LANES ? count - row : LANES, columns, size,
                       (const char *)stored + (size_t)(row / LANES) * panel,
                       (char *)plain + (size_t)(row * columns) * size);
}

const tsri_opencl_layout tsri_opencl_layout_panels64 = {.name = "panels64",
                                                        .id = 1,
                                                        .row_block = LANES,
                                                        .bytes = bytes_of,
                                                        .span = span,
                                                        .store = store,
                                                        .load = load};
