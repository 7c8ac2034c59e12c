/* model/weights/coded_rows.c - makes rows of numbers or of blocks from codes and scales. */
#include "model/weights/coded.h"

#include "base/error.h"
#include "base/memory.h"
#include "tensor/dtype.h"
#include "tensor/quantize.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = TSRI_TENSOR_BLOCK };

/* All elements of a block have one scale, which is an f16. */
static void make_blocks(tsr_dtype to, const float *codes, const float *scales, size_t n,
                        uint8_t *out) {
    for (size_t i = 0; i < n; i += BLOCK) {
        const uint16_t scale = tsri_tensor_f32_to_f16(scales[i]);
        *out++ = (uint8_t)scale;
        *out++ = (uint8_t)(scale >> 8);
        if (to == TSR_GGML_Q8_0)
            for (int k = 0; k < BLOCK; k++)
                *out++ = (uint8_t)(int8_t)codes[i + (size_t)k];
        else
            for (size_t k = i; k < i + BLOCK / 2; k++)
                *out++ = (uint8_t)(((int)codes[k] + 8) | ((int)codes[k + BLOCK / 2] + 8) << 4);
    }
}

static tsr_status check_scales(const tsri_model_coded_matrix *m, const tsri_io_archive *archive,
                               const char *name, int64_t first, const float *scales, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(scales[i]))
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: tensor \"%s\": the scale of row %" PRId64 ", column %" PRId64
                                  " is infinite or NaN; the file is damaged",
                                  archive->files[m->scales.file]->path, name,
                                  first + (int64_t)i / m->columns, (int64_t)i % m->columns);
    return TSR_OK;
}

tsr_status tsri_model_coded_rows(const tsri_io_made *made, const tsri_io_archive *archive,
                                 const tsri_io_array *array, tsr_dtype to, int64_t first, int64_t n,
                                 void *out) {
    enum { PIECE = 1 << 19 }; /* elements: 2 MiB of codes, and of scales */
    const tsri_model_coded_matrix *m = (const tsri_model_coded_matrix *)made;
    const int64_t fit = PIECE / m->columns ? PIECE / m->columns : 1, piece = n < fit ? n : fit;
    const size_t room = (size_t)(piece * m->columns);
    float *codes = NULL, *scales = NULL;
    char *to_bytes = out;
    tsr_status status = tsri_base_new(room, sizeof *codes, &codes);
    if (status == TSR_OK)
        status = tsri_base_new(room, sizeof *scales, &scales);
    for (int64_t row = 0; status == TSR_OK && row < n; row += piece) {
        const int64_t rows = n - row < piece ? n - row : piece;
        const size_t count = (size_t)(rows * m->columns);
        uint64_t bytes = 0;
        status = m->read(m, archive, first + row, rows, codes, scales);
        if (status == TSR_OK)
            status = check_scales(m, archive, array->name, first + row, scales, count);
        if (status != TSR_OK)
            break;
        if (to == TSR_F32) { /* `out` has any alignment */
            for (size_t i = 0; i < count; i++)
                codes[i] *= scales[i];
            memcpy(to_bytes, codes, count * sizeof *codes);
        } else
            make_blocks(to, codes, scales, count, (uint8_t *)to_bytes);
        tsri_tensor_bytes(to, count, &bytes);
        to_bytes += bytes;
    }
    free(codes);
    free(scales);
    return status;
}

/* Whether every scale is exactly an f16. */
static tsr_status are_halves(const tsri_io_archive *archive, const tsri_io_array *scales,
                             bool *out) {
    enum { PIECE = 4096 };
    float values[PIECE];
    *out = scales->dtype == TSR_F16;
    if (*out || scales->dtype == TSR_DTYPE_NONE)
        return TSR_OK;
    *out = true;
    for (uint64_t at = 0; *out && at < scales->elements; at += PIECE) {
        const uint64_t left = scales->elements - at, n = left < PIECE ? left : PIECE;
        TRY(tsri_io_read_as(archive, scales, TSR_F32, at, (size_t)n, values));
        for (uint64_t i = 0; i < n; i++)
            *out = *out && tsri_tensor_f16_to_f32(tsri_tensor_f32_to_f16(values[i])) == values[i];
    }
    return TSR_OK;
}

tsr_status tsri_model_coded_blocks(const tsri_io_archive *archive, const tsri_model_coded_matrix *m,
                                   tsr_dtype *out) {
    bool fits = m->highest > 0 && m->lowest >= -128 && m->highest <= 127 && m->columns % BLOCK == 0;
    *out = TSR_DTYPE_NONE;
    for (int64_t i = 0; fits && i < m->columns; i++)
        fits = m->group_of[i] == m->group_of[i / BLOCK * BLOCK];
    if (fits)
        TRY(are_halves(archive, &m->scales, &fits));
    if (fits)
        *out = m->lowest >= -8 && m->highest <= 7 ? TSR_GGML_Q4_0 : TSR_GGML_Q8_0;
    return TSR_OK;
}
