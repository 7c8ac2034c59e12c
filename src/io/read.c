/* io/read.c - reads elements of an array, as they are stored or converted. */
#include "io/format.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"
#include "tensor/blocks.h"
#include "tensor/convert.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static tsr_status check_readable(const tsri_io_archive *archive, const tsri_io_array *array) {
    if (array->dtype != TSR_DTYPE_NONE)
        return TSR_OK;
    return tsri_base_fail(
        TSR_E_UNSUPPORTED, "%s: tensor \"%s\" is stored as %s, which is not read%s",
        archive->files[array->file]->path, array->name, array->type_name,
        archive->format == TSRI_IO_GGUF ? "; convert the model to a type that is: q8_0, q4_K, f16"
                                        : "; convert the model to F32, F16 or BF16");
}

/* Codes 2i and 2i + 1 of each byte i become those of bytes i and i + 16: GGUF's order. */
static void join_block(const uint8_t codes[16], uint8_t exponent, uint8_t block[17]) {
    block[0] = exponent;
    for (int i = 0; i < 16; i++) {
        const int low = codes[i / 2] >> 4 * (i % 2) & 15,
                  high = codes[8 + i / 2] >> 4 * (i % 2) & 15;
        block[1 + i] = (uint8_t)(low | high << 4);
    }
}

/* Bytes first .. first + n - 1 of the blocks that codes and exponents are joined to. */
static tsr_status read_split(const tsri_io_archive *archive, const tsri_io_array *array,
                             uint64_t first, size_t n, uint8_t *out) {
    enum { BLOCK = 17, CODES = 16, PIECE = 1 << 14 /* blocks */ };
    uint8_t *stored = NULL;
    TRY(tsri_base_new(PIECE, BLOCK, &stored));
    tsr_status status = TSR_OK;
    const uint64_t end = first + n;
    for (uint64_t at = first / BLOCK; status == TSR_OK && at * BLOCK < end; at += PIECE) {
        const uint64_t left = (end + BLOCK - 1) / BLOCK - at, count = left < PIECE ? left : PIECE;
        uint8_t *exponents = stored + count * CODES, block[BLOCK];
        status = tsri_base_file_read(archive->files[array->file], array->offset + at * CODES,
                                     stored, (size_t)count * CODES);
        if (status == TSR_OK)
            status = tsri_base_file_read(archive->files[array->exponents_file],
                                         array->exponents + at, exponents, (size_t)count);
        for (uint64_t i = 0; status == TSR_OK && i < count; i++) {
            const uint64_t begin = (at + i) * BLOCK, from = begin < first ? first - begin : 0,
                           to = end - begin < BLOCK ? end - begin : BLOCK;
            join_block(stored + i * CODES, exponents[i], block);
            memcpy(out + (begin + from - first), block + from, (size_t)(to - from));
        }
    }
    free(stored);
    return status;
}

tsr_status tsri_io_read(const tsri_io_archive *archive, const tsri_io_array *array, uint64_t first,
                        size_t n, void *out) {
    TRY(check_readable(archive, array));
    if (first > array->bytes || n > array->bytes - first)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "tensor \"%s\": %zu bytes at byte %" PRIu64
                              " were asked for; it has %" PRIu64,
                              array->name, n, first, array->bytes);
    if (archive->format == TSRI_IO_RANDOM) {
        tsri_io_random_read(archive, array, first, n, out);
        return TSR_OK;
    }
    if (array->made)
        return tsri_io_made_read(archive, array, array->dtype, first, n, out);
    if (array->split)
        return read_split(archive, array, first, n, out);
    const tsri_file *file = archive->files[array->file];
    TRY(tsri_base_file_read(file, array->offset + first, out, n));
    if (archive->forget)
        tsri_base_file_forget(file, array->offset + first, n);
    return TSR_OK;
}

/* Divides n values, those of the elements from `first` on, by their divisors, one row at a time. */
static tsr_status divide(const tsri_io_archive *archive, const tsri_io_array *array, uint64_t first,
                         size_t n, float *values) {
    const uint64_t row = array->elements / array->n_divisors;
    for (size_t i = 0; i < n;) {
        const uint64_t at = (first + i) / row, end = (at + 1) * row - first;
        float divisor = 0;
        TRY(tsri_base_file_read(archive->files[array->file], array->divisors + 4 * at, &divisor,
                                sizeof divisor));
        if (!(divisor > 0) || isinf(divisor))
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: the scale of row %" PRIu64
                                  " of tensor \"%s\" is %g; a positive number is needed",
                                  archive->files[array->file]->path, at, array->name, divisor);
        for (; i < n && i < end; i++)
            values[i] /= divisor;
    }
    return TSR_OK;
}

/* Reads elements of an array with divisors: integers, divided in f32, then converted to the wanted
 * dtype. */
static tsr_status read_divided(const tsri_io_archive *archive, const tsri_io_array *array,
                               tsr_dtype to, uint64_t first, size_t n, void *out) {
    enum { PIECE = 1 << 18 };
    const tsri_tensor_dtype *source = tsri_tensor_dtype_info(array->dtype),
                            *target = tsri_tensor_dtype_info(to);
    const size_t size = (size_t)source->bytes, piece = n < PIECE ? n : PIECE;
    void *stored = NULL;
    float *values = NULL;
    if (!target || target->block > 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "tensor \"%s\": %s can't be converted to dtype %d",
                              array->name, source->name, (int)to);
    tsr_status status = tsri_base_new_aligned(piece * size, &stored);
    if (status == TSR_OK)
        status = tsri_base_new(piece, sizeof *values, &values);
    for (size_t i = 0; status == TSR_OK && i < n; i += piece) {
        const size_t m = n - i < piece ? n - i : piece;
        status = tsri_io_read(archive, array, (first + i) * size, m * size, stored);
        if (status == TSR_OK)
            status = tsri_tensor_convert(TSR_F32, values, array->dtype, stored, m);
        if (status == TSR_OK)
            status = divide(archive, array, first + i, m, values);
        if (status == TSR_OK)
            status = tsri_tensor_convert(to, (char *)out + i * (size_t)target->bytes, TSR_F32,
                                         values, m);
    }
    tsri_system_free_aligned(stored);
    free(values);
    return status;
}

tsr_status tsri_io_read_as(const tsri_io_archive *archive, const tsri_io_array *array, tsr_dtype to,
                           uint64_t first, size_t n, void *out) {
    enum { PIECE = 1 << 18 }; /* elements: 1 MiB of f32, and a multiple of every block */
    TRY(check_readable(archive, array));
    const tsri_tensor_dtype *source = tsri_tensor_dtype_info(array->dtype),
                            *target = tsri_tensor_dtype_info(to);
    const uint64_t block = (uint64_t)source->block;
    if (first > array->elements || n > array->elements - first || first % block || n % block)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "tensor \"%s\": %zu elements from element %" PRIu64
                              " on were asked for; it has %" PRIu64 " in blocks of %d",
                              array->name, n, first, array->elements, source->block);
    const uint64_t start = first / block * (uint64_t)source->bytes;
    if (array->n_divisors)
        return read_divided(archive, array, to, first, n, out);
    if (to == array->dtype)
        return tsri_io_read(archive, array, start, n / block * (size_t)source->bytes, out);
    if (!target || target->block > 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "tensor \"%s\": %s can't be converted to dtype %d",
                              array->name, source->name, (int)to);
    if (array->made)
        return tsri_io_made_read(archive, array, to, first * (uint64_t)target->bytes,
                                 n * (uint64_t)target->bytes, out);
    const size_t piece = n < PIECE ? n : PIECE;
    void *stored = NULL;
    TRY(tsri_base_new_aligned(piece / block * (size_t)source->bytes, &stored));
    tsr_status status = TSR_OK;
    for (size_t i = 0; status == TSR_OK && i < n; i += piece) {
        const size_t m = n - i < piece ? n - i : piece;
        status = tsri_io_read(archive, array, start + i / block * (size_t)source->bytes,
                              m / block * (size_t)source->bytes, stored);
        size_t bad;
        if (status == TSR_OK && !tsri_tensor_scales_finite(array->dtype, stored, m, &bad))
            status = tsri_base_fail(TSR_E_FORMAT,
                                    "%s: tensor \"%s\": the scale of block %" PRIu64
                                    " is infinite or NaN; the file is damaged",
                                    archive->files[array->file]->path, array->name,
                                    (first + i) / block + bad);
        if (status == TSR_OK)
            status = tsri_tensor_convert(to, (char *)out + i * (size_t)target->bytes, array->dtype,
                                         stored, m);
    }
    tsri_system_free_aligned(stored);
    return status;
}
