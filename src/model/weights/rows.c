/* model/weights/rows.c - reads the rows of a weight from the arrays that it is made from, with
 * adapters added. */
#include "model/weights/weights.h"

#include "base/error.h"
#include "base/memory.h"
#include "tensor/blocks.h"
#include "tensor/convert.h"
#include "tensor/quantize.h"
#include "tensor/transcode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_finite(tsr_dtype dtype, const void *data, size_t n, size_t *at) {
    if (tsri_tensor_is_kept_blocks(dtype)) {
        const bool finite = tsri_tensor_scales_finite(dtype, data, n, at);
        *at *= (size_t)tsri_tensor_dtype_info(dtype)->block;
        return finite;
    }
    const uint32_t *wide = data;
    const uint16_t *narrow = data;
    const uint16_t exponent = dtype == TSR_F16 ? 0x7c00 : 0x7f80;
    uint32_t bad = 0;
    if (dtype == TSR_F32)
        for (size_t i = 0; i < n; i++)
            bad |= (wide[i] & 0x7f800000u) == 0x7f800000u;
    else
        for (size_t i = 0; i < n; i++)
            bad |= (narrow[i] & exponent) == exponent;
    if (!bad)
        return true;
    for (*at = 0; *at < n; ++*at)
        if (dtype == TSR_F32 ? (wide[*at] & 0x7f800000u) == 0x7f800000u
                             : (narrow[*at] & exponent) == exponent)
            break;
    return false;
}

static tsr_status read_rows(const tsri_model_weights *weights, const tsri_model_part *part,
                            int64_t columns, int64_t row, int64_t n, tsr_dtype dtype, char *out);

/* Turns numbers into blocks a few rows at a time: reads them as f32, checks them, quantises
 * them. */
static tsr_status quantize_rows(const tsri_model_weights *weights, const tsri_model_part *part,
                                int64_t columns, int64_t row, int64_t n, tsr_dtype dtype,
                                char *out) {
    enum { PIECE = 1 << 18 }; /* elements: 1 MiB */
    const int64_t fit = columns && columns < PIECE ? PIECE / columns : 1, piece = n < fit ? n : fit;
    uint64_t row_bytes = 0;
    float *values = NULL;
    tsri_tensor_bytes(dtype, (uint64_t)columns, &row_bytes);
    tsr_status status = tsri_base_new((size_t)(piece * columns), sizeof *values, &values);
    for (int64_t first = 0; first < n && status == TSR_OK; first += piece) {
        const int64_t count = n - first < piece ? n - first : piece;
        status = read_rows(weights, part, columns, row + first, count, TSR_F32, (char *)values);
        if (status == TSR_OK)
            tsri_tensor_quantize(dtype, values, out + (uint64_t)first * row_bytes,
                                 (size_t)(count * columns));
    }
    free(values);
    return status;
}

/* Reads n columns of one of an array's matrices [inputs, across], from `column` on, as rows of
 * `inputs`. */
static tsr_status read_across(const tsri_io_archive *archive, const tsri_io_array *array,
                              int64_t across, int64_t inputs, int64_t column, int64_t n,
                              tsr_dtype dtype, char *out) {
    const int64_t begin = column / across * inputs * across; /* of that matrix */
    column %= across;
    enum { LINES = 16 }; /* writes a cache line of each row at a time */
    const int64_t block = tsri_tensor_dtype_info(array->dtype)->block, skip = column % block,
                  whole = (skip + n + block - 1) / block * block; /* blocks are read whole */
    const size_t size = dtype == TSR_F32 ? 4 : 2, line = (size_t)whole * size;
    char *lines = NULL;
    tsr_status status = tsri_base_new((size_t)whole, LINES * size, &lines);
    for (int64_t first = 0; first < inputs && status == TSR_OK; first += LINES) {
        const int64_t count = inputs - first < LINES ? inputs - first : LINES;
        for (int64_t k = 0; k < count && status == TSR_OK; k++)
            status = tsri_io_read_as(archive, array, dtype,
                                     (uint64_t)(begin + (first + k) * across + column - skip),
                                     (size_t)whole, lines + (size_t)k * line);
        for (int64_t row = 0; row < n && status == TSR_OK; row++)
            for (int64_t k = 0; k < count; k++)
                memcpy(out + (size_t)(row * inputs + first + k) * size,
                       lines + (size_t)k * line + (size_t)(skip + row) * size, size);
    }
    free(lines);
    return status;
}

/* Reads n rows as numbers, or as blocks if they are stored so. */
static tsr_status read_stored(const tsri_model_weights *weights, const tsri_model_part *part,
                              int64_t columns, int64_t row, int64_t n, tsr_dtype dtype, char *out) {
    const tsri_io_archive *archive = weights->archive;
    const tsri_io_array *array =
        tsri_model_adapters_instead(weights->adapters, part->array, &archive);
    const size_t row_bytes = (size_t)columns * (dtype == TSR_F32 ? 4 : 2);
    while (part->across && n > 0) { /* up to the last column of a matrix */
        const int64_t left = part->across - row % part->across, count = n < left ? n : left;
        TRY(read_across(archive, array, part->across, columns, row, count, dtype, out));
        out += (size_t)count * row_bytes;
        row += count;
        n -= count;
    }
    if (part->across)
        return TSR_OK;
    return tsri_io_read_as(archive, array, dtype, (uint64_t)(row * columns), (size_t)(n * columns),
                           out);
}

/* Reads n rows with what adapters add to them, which is added in f32. */
static tsr_status read_adapted(const tsri_model_weights *weights, const tsri_model_part *part,
                               int64_t columns, int64_t row, int64_t n, tsr_dtype dtype,
                               char *out) {
    const size_t count = (size_t)(n * columns);
    float *values = NULL;
    TRY(tsri_base_new(count ? count : 1, sizeof *values, &values));
    tsr_status status = read_stored(weights, part, columns, row, n, TSR_F32, (char *)values);
    if (status == TSR_OK)
        tsri_model_adapters_add(weights->adapters, part->array, false, row, n, values);
    if (status == TSR_OK)
        status = tsri_tensor_convert(dtype, out, TSR_F32, values, count);
    free(values);
    return status;
}

/* Reads n rows of blocks of type `stored` as those of the type that holds the same numbers. */
static tsr_status read_transcoded(const tsri_model_weights *weights, const tsri_model_part *part,
                                  int64_t columns, int64_t row, int64_t n, tsr_dtype stored,
                                  char *out) {
    uint64_t bytes = 0;
    char *blocks = NULL;
    tsri_tensor_bytes(stored, (uint64_t)(n * columns), &bytes);
    TRY(tsri_base_new((size_t)bytes, 1, &blocks));
    const tsr_status status = read_stored(weights, part, columns, row, n, stored, blocks);
    if (status == TSR_OK)
        tsri_tensor_transcode(stored, blocks, out, (size_t)(n * columns));
    free(blocks);
    return status;
}

/* Reads n rows that are contiguous in the array, and checks that none has an infinity or a NaN. */
static tsr_status read_rows(const tsri_model_weights *weights, const tsri_model_part *part,
                            int64_t columns, int64_t row, int64_t n, tsr_dtype dtype, char *out) {
    const size_t count = (size_t)(n * columns);
    const bool adapted = tsri_model_adapters_add_to(weights->adapters, part->array);
    const tsri_io_archive *archive = weights->archive;
    const tsr_dtype stored =
        tsri_model_adapters_instead(weights->adapters, part->array, &archive)->dtype;
    size_t bad = 0;
    if (tsri_tensor_holder(stored) == dtype && !adapted && !part->across)
        TRY(read_transcoded(weights, part, columns, row, n, stored, out));
    else if (tsri_tensor_is_kept_blocks(dtype) && (adapted || part->across || dtype != stored))
        TRY(quantize_rows(weights, part, columns, row, n, dtype, out));
    else
        TRY((adapted ? read_adapted : read_stored)(weights, part, columns, row, n, dtype, out));
    if (is_finite(dtype, out, count, &bad))
        return TSR_OK;
    const uint64_t bad_row = (uint64_t)row + bad / (uint64_t)columns,
                   column = bad % (uint64_t)columns;
    return tsri_base_fail(
        TSR_E_FORMAT,
        "%s: tensor \"%s\" holds a NaN or an infinity at element %" PRIu64
        "%s; the file is damaged, or its numbers don't fit the dtype",
        weights->archive->path, part->array->name,
        (uint64_t)tsri_model_part_element(part, columns, (int64_t)bad_row, (int64_t)column),
        dtype == stored ? "" : " as converted");
}

/* Fills rows with one number. */
static tsr_status blank_rows(float blank, int64_t columns, int64_t count, tsr_dtype dtype,
                             uint64_t row_bytes, char *out) {
    float *row = NULL;
    tsr_status status = tsri_base_new((size_t)columns, sizeof *row, &row);
    for (int64_t i = 0; status == TSR_OK && i < columns; i++)
        row[i] = blank;
    for (int64_t i = 0; status == TSR_OK && i < count; i++)
        status = tsri_tensor_convert(dtype, out + (uint64_t)i * row_bytes, TSR_F32, row,
                                     (size_t)columns);
    free(row);
    return status;
}

/* Reads every stride-th row from `row` on, by reading those between them, too: rows that lie so close
 * share pages, and columns share lines. */
static tsr_status read_apart(const tsri_model_weights *weights, const tsri_model_part *part,
                             int64_t columns, int64_t row, int64_t count, tsr_dtype dtype,
                             uint64_t row_bytes, char *out) {
    enum { PIECE = 32 << 20 }; /* bytes */
    const int64_t step = part->stride, fit = (int64_t)(PIECE / row_bytes) / step,
                  piece = fit < 1       ? 1
                          : fit < count ? fit
                                        : count;
    char *all = NULL;
    TRY(tsri_base_new((size_t)(piece * step), row_bytes, &all));
    tsr_status status = TSR_OK;
    for (int64_t first = 0; first < count && status == TSR_OK; first += piece) {
        const int64_t n = count - first < piece ? count - first : piece;
        status =
            read_rows(weights, part, columns, row + first * step, (n - 1) * step + 1, dtype, all);
        for (int64_t i = 0; status == TSR_OK && i < n; i++)
            memcpy(out + (uint64_t)(first + i) * row_bytes, all + (uint64_t)(i * step) * row_bytes,
                   row_bytes);
    }
    free(all);
    return status;
}

/* Reads rows first .. first + count - 1 of one part, in runs that are contiguous in the array. */
tsr_status tsri_model_part_rows(const tsri_model_weights *weights, const tsri_model_part *part,
                                int64_t columns, int64_t first, int64_t count, tsr_dtype dtype,
                                void *to) {
    char *out = to;
    uint64_t row_bytes = 0;
    if (!tsri_tensor_bytes(dtype, (uint64_t)columns, &row_bytes))
        return tsri_base_fail(TSR_E_INTERNAL, "a row of %" PRId64 " columns has no size", columns);
    if (!part->array)
        return blank_rows(part->blank, columns, count, dtype, row_bytes, out);
    if (part->group == 1 && part->stride > 1)
        return read_apart(weights, part, columns, part->first + first * part->stride, count, dtype,
                          row_bytes, out);
    while (count > 0) {
        const int64_t within = first % part->group;
        const int64_t run = count < part->group - within ? count : part->group - within;
        TRY(read_rows(weights, part, columns, tsri_model_part_row(part, first), run, dtype, out));
        out += (uint64_t)run * row_bytes;
        first += run;
        count -= run;
    }
    return TSR_OK;
}

tsr_status tsri_model_weights_rows(const tsri_model_weights *weights, uint32_t id, int64_t first,
                                   int64_t count, tsr_dtype dtype, void *out) {
    const tsri_model_weight *weight = tsri_model_weight_at(weights, id);
    if (!weight)
        return tsri_base_fail(TSR_E_INTERNAL, "weight %" PRIu32 " is not one of the model's", id);
    if (weight->n_parts == 0) {
        const size_t columns =
            weight->rank == 2 ? (size_t)weight->dims[1] : (size_t)weight->dims[0];
        memcpy(out, weight->values + (size_t)first * columns,
               (size_t)count * columns * sizeof(float));
        return TSR_OK;
    }
    if (weight->rank == 1) { /* to the run a vector is one row; here each element is a line */
        first = 0;
        count = weight->dims[0];
    }
    const int64_t columns = weight->rank == 2 ? weight->dims[1] : 1;
    char *to = out;
    for (int i = 0; i < weight->n_parts && count > 0; i++) {
        const tsri_model_part *part = &weight->parts[i];
        if (first >= part->rows) {
            first -= part->rows;
            continue;
        }
        const int64_t n = count < part->rows - first ? count : part->rows - first;
        uint64_t bytes = 0;
        TRY(tsri_model_part_rows(weights, part, columns, first, n, dtype, to));
        tsri_tensor_bytes(dtype, (uint64_t)(n * columns), &bytes);
        to += bytes;
        count -= n;
        first = 0;
    }
    if (weight->add != 0 && dtype == TSR_F32)
        for (int64_t i = 0; i < weight->dims[0]; i++)
            ((float *)out)[i] += weight->add;
    return TSR_OK;
}
