/* model/weights/coded_parts.c - what the readers of quantised matrices have in common: finding and checking
 * their arrays, and reading parts of these. */
#include "model/weights/coded.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 24 /* rows and columns of a matrix */ };

bool tsri_model_coded_stem(const char *name, const char *end, char stem[TSRI_CODED_NAME]) {
    if (!tsri_base_ends_with(name, end))
        return false;
    snprintf(stem, TSRI_CODED_NAME, "%.*s", (int)(strlen(name) - strlen(end)), name);
    return true;
}

tsr_status tsri_model_coded_part(tsri_model_coded_job *job, const char *stem, const char *end,
                                 bool needed, const tsri_io_array **out) {
    char name[TSRI_CODED_NAME + 64];
    snprintf(name, sizeof name, "%s%s", stem, end);
    *out = tsri_io_find(job->archive, name);
    if (*out)
        job->gone[*out - job->archive->arrays] = true;
    else if (needed)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\" is missing; the quantised matrix \"%s.weight\" "
                              "needs it",
                              job->archive->path, name, stem);
    return TSR_OK;
}

tsr_status tsri_model_coded_new(tsri_model_coded_job *job, size_t index, int64_t rows,
                                int64_t columns, tsri_model_coded_read read,
                                tsri_model_coded_matrix **out) {
    tsri_model_coded_matrix *m = NULL;
    const tsri_io_array *codes = &job->archive->arrays[index];
    if (rows < 1 || rows > MOST || columns < 1 || columns > MOST)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\" is of a matrix of %" PRId64 " outputs and %" PRId64
                              " inputs; 1 to %d of each are read",
                              job->archive->files[codes->file]->path, codes->name, rows, columns,
                              MOST);
    TRY(tsri_base_new(1, sizeof *m + (size_t)columns * sizeof *m->group_of, &m));
    m->made.rows = tsri_model_coded_rows;
    m->read = read;
    m->rows = rows;
    m->columns = columns;
    m->codes = *codes;
    *out = m;
    return TSR_OK;
}

static void print_shape(const tsri_io_array *array, char out[96]) {
    size_t n = (size_t)snprintf(out, 96, "%s [", array->type_name);
    for (int i = 0; i < array->rank && n < 80; i++)
        n += (size_t)snprintf(out + n, 96 - n, "%s%" PRId64, i ? ", " : "", array->dims[i]);
    snprintf(out + n, 96 - n, "]");
}

tsr_status tsri_model_coded_refuse_shape(const tsri_model_coded_job *job,
                                         const tsri_io_array *array, const char *wanted) {
    char has[96];
    print_shape(array, has);
    return tsri_base_fail(TSR_E_FORMAT, "%s: tensor \"%s\" is %s; %s",
                          job->archive->files[array->file]->path, array->name, has, wanted);
}

tsr_status tsri_model_coded_expect(const tsri_model_coded_job *job, const tsri_io_array *array,
                                   const char *type, int rank, int64_t rows, int64_t columns) {
    const bool typed =
        type ? strcmp(array->type_name, type) == 0
             : array->dtype == TSR_F32 || array->dtype == TSR_F16 || array->dtype == TSR_BF16;
    char wanted[96];
    if (!rank)
        snprintf(wanted, sizeof wanted, "%s is needed", type ? type : "F32, F16 or BF16");
    else if (rank == 1)
        snprintf(wanted, sizeof wanted, "%s [%" PRId64 "] is needed", type ? type : "floats", rows);
    else
        snprintf(wanted, sizeof wanted, "%s [%" PRId64 ", %" PRId64 "] is needed",
                 type ? type : "floats", rows, columns);
    const bool shaped = !rank || (array->rank == rank && array->dims[0] == rows &&
                                  (rank == 1 || array->dims[1] == columns));
    return typed && shaped ? TSR_OK : tsri_model_coded_refuse_shape(job, array, wanted);
}

/* ---- scales ---- */

static bool is_exponents(const tsri_io_array *array) {
    return strcmp(array->type_name, "F8_E8M0") == 0;
}

static int64_t shares(int64_t n, int64_t size) {
    return (n - 1) / size + 1;
}

tsr_status tsri_model_coded_grid(const tsri_model_coded_job *job, const tsri_io_array *scales,
                                 tsri_model_coded_matrix *m) {
    const int64_t rows = scales->rank > 0 ? scales->dims[0] : 1,
                  columns = scales->rank > 1 ? scales->dims[1] : 1;
    int64_t width = m->columns, height = 0;
    if (!is_exponents(scales))
        TRY(tsri_model_coded_expect(job, scales, NULL, 0, 0, 0));
    if (scales->rank <= 2 && scales->elements == 1)
        height = m->rows;
    else if (scales->rank <= 2 && rows == m->rows && columns == 1)
        height = 1;
    for (int i = 0; i < job->n_sizes && !height && scales->rank == 2; i++)
        if (shares(m->rows, job->sizes[i][0]) == rows &&
            shares(m->columns, job->sizes[i][1]) == columns) {
            height = job->sizes[i][0];
            width = job->sizes[i][1];
        }
    if (!height) {
        char wanted[160];
        snprintf(wanted, sizeof wanted,
                 "a matrix of [%" PRId64 ", %" PRId64
                 "] needs one number, one for each row, or one "
                 "for each group or tile of config.json",
                 m->rows, m->columns);
        return tsri_model_coded_refuse_shape(job, scales, wanted);
    }
    m->scales = *scales;
    m->row_block = height;
    m->scale_columns = columns;
    for (int64_t i = 0; i < m->columns; i++)
        m->group_of[i] = (int32_t)(i / width);
    return TSR_OK;
}

/* Rows `row` to row + n - 1 of a grid as floats. */
static tsr_status read_grid(const tsri_model_coded_matrix *m, const tsri_io_archive *archive,
                            const tsri_io_array *array, int64_t row, int64_t n, float *out) {
    const uint64_t first = (uint64_t)(row * m->scale_columns);
    const size_t count = (size_t)(n * m->scale_columns);
    uint8_t *bytes = NULL;
    if (!is_exponents(array))
        return tsri_io_read_as(archive, array, TSR_F32, first, count, out);
    TRY(tsri_base_new(count, 1, &bytes));
    const tsr_status status = tsri_model_coded_bytes(archive, array, first, count, bytes);
    for (size_t i = 0; status == TSR_OK && i < count; i++)
        out[i] = bytes[i] == 255 ? NAN : ldexpf(1, bytes[i] - 127);
    free(bytes);
    return status;
}

/* The same of zero points that are packed along rows, less the middle of their range. */
static tsr_status read_packed(const tsri_model_coded_matrix *m, const tsri_io_archive *archive,
                              const tsri_io_array *array, int bits, int64_t row, int64_t n,
                              float *out) {
    const int64_t across = m->scale_columns, word = row * bits / 32,
                  words = ((row + n) * bits - 1) / 32 + 1 - word;
    uint32_t *packed = NULL;
    TRY(tsri_base_new((size_t)(words * across), sizeof *packed, &packed));
    const tsr_status status = tsri_io_read_as(archive, array, TSR_I32, (uint64_t)(word * across),
                                              (size_t)(words * across), packed);
    for (int64_t i = 0; status == TSR_OK && i < n * across; i++)
        out[i] = (float)(int32_t)tsri_model_coded_bits(packed + i % across, across, bits,
                                                       (row + i / across) * bits - word * 32) -
                 (float)(1 << (bits - 1));
    free(packed);
    return status;
}

tsr_status tsri_model_coded_spread(const tsri_model_coded_matrix *m, const tsri_io_archive *archive,
                                   const tsri_io_array *array, int bits, int64_t first, int64_t n,
                                   float *out) {
    const int64_t row = first / m->row_block, rows = (first + n - 1) / m->row_block + 1 - row;
    float *grid = NULL;
    TRY(tsri_base_new((size_t)(rows * m->scale_columns), sizeof *grid, &grid));
    const tsr_status status = bits ? read_packed(m, archive, array, bits, row, rows, grid)
                                   : read_grid(m, archive, array, row, rows, grid);
    for (int64_t o = 0; status == TSR_OK && o < n; o++) {
        const float *line = grid + ((first + o) / m->row_block - row) * m->scale_columns;
        for (int64_t i = 0; i < m->columns; i++)
            out[o * m->columns + i] = line[m->group_of[i]];
    }
    free(grid);
    return status;
}

tsr_status tsri_model_coded_indices(const tsri_model_coded_job *job, const tsri_io_array *g_idx,
                                    int64_t groups, tsri_model_coded_matrix *m) {
    TRY(tsri_model_coded_expect(job, g_idx, "I32", 1, m->columns, 0));
    TRY(tsri_io_read_as(job->archive, g_idx, TSR_I32, 0, (size_t)m->columns, m->group_of));
    for (int64_t i = 0; i < m->columns; i++)
        if (m->group_of[i] < 0 || m->group_of[i] >= groups)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: tensor \"%s\"[%" PRId64 "] is %" PRId32
                                  "; there are %" PRId64 " groups, from 0 on",
                                  job->archive->files[g_idx->file]->path, g_idx->name, i,
                                  m->group_of[i], groups);
    return TSR_OK;
}

/* ---- parts of arrays ---- */

tsr_status tsri_model_coded_columns(const tsri_io_archive *archive, const tsri_io_array *array,
                                    tsr_dtype to, int64_t first, int64_t n, void *out) {
    for (int64_t row = 0; row < array->dims[0]; row++) /* all `to` have 4 bytes */
        TRY(tsri_io_read_as(archive, array, to, (uint64_t)(row * array->dims[1] + first), (size_t)n,
                            (char *)out + row * n * 4));
    return TSR_OK;
}

tsr_status tsri_model_coded_all_words(const tsri_io_archive *archive, const tsri_io_array *array,
                                      uint32_t word, bool *out) {
    enum { PIECE = 4096 };
    uint32_t words[PIECE];
    *out = true;
    for (uint64_t at = 0; *out && at < array->elements; at += PIECE) {
        const uint64_t left = array->elements - at, n = left < PIECE ? left : PIECE;
        TRY(tsri_io_read_as(archive, array, TSR_I32, at, (size_t)n, words));
        for (uint64_t i = 0; i < n; i++)
            *out = *out && words[i] == word;
    }
    return TSR_OK;
}

tsr_status tsri_model_coded_bytes(const tsri_io_archive *archive, const tsri_io_array *array,
                                  uint64_t first, size_t n, void *out) {
    return tsri_base_file_read(archive->files[array->file], array->offset + first, out, n);
}
