/* backends/opencl/variants/layouts/panels_bf16.c - the layout of weights for products of bf16 on CPUs:
 * panels of 64 outputs by pairs of inputs, rounded to bf16 whatever dtype they are stored in, with
 * zeros up to a multiple of 32 inputs. */
#include "backends/opencl/variants/layouts/layouts.h"
#include "tensor/convert.h"

#include <assert.h>
#include <string.h>

enum { LANES = 64, CHUNK = 256 }; /* outputs of a panel; inputs converted at a time */

static int64_t pairs_of(int64_t columns) {
    return (columns + 31) / 32 * 16;
}

static uint64_t bytes_of(int64_t rows, int64_t columns, uint32_t dtype) {
    (void)dtype;
    return (uint64_t)((rows + LANES - 1) / LANES) * LANES * (uint64_t)pairs_of(columns) * 4;
}

static void span(int64_t rows, int64_t columns, uint32_t dtype, int64_t first, int64_t count,
                 uint64_t *offset, uint64_t *bytes) {
    (void)rows;
    *offset = bytes_of(first, columns, dtype);
    *bytes = bytes_of(count, columns, dtype);
}

static size_t element_size(uint32_t dtype) {
    return dtype == TSR_F32 ? 4 : 2;
}

/* n numbers; between floats of these dtypes it can't fail. */
static void convert(uint32_t to, void *out, uint32_t from, const void *in, size_t n) {
    const tsr_status status = tsri_tensor_convert((tsr_dtype)to, out, (tsr_dtype)from, in, n);
    assert(status == TSR_OK);
    (void)status;
}

/* `count` rows, at most 64, of the inputs first .. first + n - 1 (first is even) become words of the
 * panel at `panel`. */
static void store_chunk(int64_t columns, uint32_t dtype, int64_t count, int64_t first, int64_t n,
                        const char *plain, char *panel) {
    uint16_t numbers[LANES][CHUNK];
    memset(numbers, 0, sizeof numbers);
    for (int64_t row = 0; row < count; row++)
        convert(TSR_BF16, numbers[row], dtype,
                plain + (size_t)(row * columns + first) * element_size(dtype), (size_t)n);
    for (int64_t pair = 0; pair < pairs_of(n); pair++)
        for (int64_t row = 0; row < LANES; row++)
            memcpy(panel + (size_t)((first / 2 + pair) * LANES + row) * 4, numbers[row] + 2 * pair,
                   4);
}

static void store(int64_t columns, uint32_t dtype, int64_t count, const void *plain, void *out) {
    const size_t panel = (size_t)pairs_of(columns) * LANES * 4;
    for (int64_t row = 0; row < count; row += LANES)
        for (int64_t first = 0; first < columns; first += CHUNK)
            store_chunk(columns, dtype, count - row < LANES ? count - row : LANES, first,
                        columns - first < CHUNK ? columns - first : CHUNK,
                        (const char *)plain + (size_t)(row * columns) * element_size(dtype),
                        (char *)out + (size_t)(row / LANES) * panel);
}

static void load(int64_t columns, uint32_t dtype, int64_t count, const void *stored, void *plain) {
    const size_t panel = (size_t)pairs_of(columns) * LANES * 4;
    for (int64_t row = 0; row < count; row++) {
        const char *from =
            (const char *)stored + (size_t)(row / LANES) * panel + (size_t)(row % LANES) * 4;
        for (int64_t column = 0; column < columns; column++)
            convert(dtype, (char *)plain + (size_t)(row * columns + column) * element_size(dtype),
                    TSR_BF16, from + (size_t)(column / 2) * LANES * 4 + (size_t)(column % 2) * 2,
                    1);
    }
}

const tsri_opencl_layout tsri_opencl_layout_panels64_bf16 = {.name = "panels64_bf16",
                                                             .id = 5,
                                                             .row_block = LANES,
                                                             .bytes = bytes_of,
                                                             .span = span,
                                                             .store = store,
                                                             .load = load};
