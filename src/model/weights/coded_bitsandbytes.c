/* model/weights/coded_bitsandbytes.c - bitsandbytes. Of a matrix of I inputs and O outputs, of 4 bits:
 *
 *     NAME.weight                  bytes, two codes each, the first in the high nibble: all rows as one run
 *     NAME.weight.quant_map        F32 [16]: what a code stands for
 *     NAME.weight.absmax           F32: the scale of each block of a run; or, quantised once more,
 *                                  U8, with nested_quant_map F32 [256] and nested_absmax F32
 *     NAME.weight.quant_state.bitsandbytes__nf4 (or __fp4)    JSON: shape, blocksize, nested_blocksize,
 *                                                             nested_offset
 *
 * w = map[code] * absmax; a quantised absmax is nested_map[code] * nested_absmax + nested_offset. Of 8 bits:
 *
 *     NAME.weight  I8 [O, I]       NAME.SCB  F32 [O]       w = code * SCB / 127
 *
 * source  Dettmers et al. 2023, arXiv:2305.14314, and 2022, arXiv:2208.07339; the layouts of bitsandbytes
 *         0.45 to 0.50 */
#include "model/weights/coded.h"
#include "model/weights/coded_bytes.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATE ".quant_state.bitsandbytes__"

static tsr_status check(tsri_model_coded_job *job) {
    /* The arrays say what each matrix is. LLM.int8() multiplies by activations of 8 bits. */
    job->activations = json_is_true(json_object_get(job->settings, "load_in_8bit"));
    return TSR_OK;
}

/* ---- 4 bits ---- */

/* The scale of each block from block `first` on. */
static tsr_status read_scales(const tsri_model_coded_matrix *m, const tsri_io_archive *archive,
                              int64_t first, int64_t n, float *out) {
    const int64_t outer = first / m->scale_block, last = (first + n - 1) / m->scale_block;
    uint8_t *bytes = NULL;
    float *factors = NULL;
    if (!m->more.name)
        return tsri_io_read_as(archive, &m->scales, TSR_F32, (uint64_t)first, (size_t)n, out);
    tsr_status status = tsri_base_new((size_t)n, 1, &bytes);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)(last - outer + 1), sizeof *factors, &factors);
    if (status == TSR_OK)
        status = tsri_model_coded_bytes(archive, &m->scales, (uint64_t)first, (size_t)n, bytes);
    if (status == TSR_OK)
        status = tsri_io_read_as(archive, &m->more, TSR_F32, (uint64_t)outer,
                                 (size_t)(last - outer + 1), factors);
    for (int64_t i = 0; status == TSR_OK && i < n; i++)
        out[i] = m->scale_map[bytes[i]] * factors[(first + i) / m->scale_block - outer] + m->offset;
    free(bytes);
    free(factors);
    return status;
}

static tsr_status read_nibbles(const tsri_model_coded_matrix *m, const tsri_io_archive *archive,
                               int64_t first, int64_t n, float *codes, float *scales) {
    const int64_t begin = first * m->columns, count = n * m->columns, from = begin / 2,
                  bytes = (begin + count - 1) / 2 + 1 - from, block = begin / m->block,
                  blocks = (begin + count - 1) / m->block + 1 - block;
    uint8_t *packed = NULL;
    float *factors = NULL;
    tsr_status status = tsri_base_new((size_t)bytes, 1, &packed);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)blocks, sizeof *factors, &factors);
    if (status == TSR_OK)
        status = tsri_model_coded_bytes(archive, &m->codes, (uint64_t)from, (size_t)bytes, packed);
    if (status == TSR_OK)
        status = read_scales(m, archive, block, blocks, factors);
    for (int64_t i = 0; status == TSR_OK && i < count; i++) {
        const int64_t at = begin + i;
        codes[i] = m->map[packed[at / 2 - from] >> (at % 2 ? 0 : 4) & 15];
        scales[i] = factors[at / m->block - block];
    }
    free(packed);
    free(factors);
    return status;
}

/* Reads the JSON that lies in an array of bytes: *shape is [2]. */
static tsr_status read_state(const tsri_model_coded_job *job, const tsri_io_array *state,
                             json_t **out) {
    enum { MOST = 1 << 16 };
    char *text = NULL;
    if (state->dtype != TSR_U8 || state->bytes > MOST)
        return tsri_model_coded_refuse_shape(job, state, "the bytes of a JSON text are needed");
    TRY(tsri_base_new((size_t)state->bytes + 1, 1, &text));
    tsr_status status = tsri_model_coded_bytes(job->archive, state, 0, (size_t)state->bytes, text);
    if (status == TSR_OK)
        status = tsri_base_json_parse(text, (size_t)state->bytes, 4, state->name, out);
    free(text);
    return status;
}

static tsr_status check_sizes(const tsri_model_coded_job *job, const tsri_model_coded_matrix *m,
                              const tsri_io_array *codes) {
    const uint64_t count = (uint64_t)m->rows * (uint64_t)m->columns,
                   blocks = (count - 1) / (uint64_t)m->block + 1;
    if (codes->bytes < (count + 1) / 2)
        return tsri_model_coded_refuse_shape(job, codes,
                                             "half a byte for each element of its shape is needed");
    if (m->scales.elements != blocks)
        return tsri_model_coded_refuse_shape(job, &m->scales, "one for each block is needed");
    if (m->more.name && m->more.elements != (blocks - 1) / (uint64_t)m->scale_block + 1)
        return tsri_model_coded_refuse_shape(job, &m->more, "one for each block is needed");
    return TSR_OK;
}

/* Reads the maps and what the state says of blocks. */
static tsr_status read_parts(tsri_model_coded_job *job, const char *stem, const json_t *state,
                             tsri_model_coded_matrix *m) {
    const tsri_io_array *absmax, *map, *nested, *nested_map;
    double offset = 0;
    m->block = 64;
    m->scale_block = 256;
    TRY(tsri_base_json_int(state, stem, "blocksize", 1, 1 << 20, &m->block));
    TRY(tsri_base_json_int(state, stem, "nested_blocksize", 1, 1 << 20, &m->scale_block));
    TRY(tsri_base_json_real(state, stem, "nested_offset", -1e30, 1e30, &offset));
    m->offset = (float)offset;
    TRY(tsri_model_coded_part(job, stem, ".weight.absmax", true, &absmax));
    TRY(tsri_model_coded_part(job, stem, ".weight.quant_map", true, &map));
    TRY(tsri_model_coded_expect(job, map, "F32", 1, 16, 0));
    TRY(tsri_io_read_as(job->archive, map, TSR_F32, 0, 16, m->map));
    m->scales = *absmax;
    if (absmax->dtype != TSR_U8)
        return tsri_model_coded_expect(job, absmax, NULL, 0, 0, 0);
    TRY(tsri_model_coded_part(job, stem, ".weight.nested_absmax", true, &nested));
    TRY(tsri_model_coded_part(job, stem, ".weight.nested_quant_map", true, &nested_map));
    TRY(tsri_model_coded_expect(job, nested, NULL, 0, 0, 0));
    TRY(tsri_model_coded_expect(job, nested_map, "F32", 1, 256, 0));
    m->more = *nested;
    return tsri_io_read_as(job->archive, nested_map, TSR_F32, 0, 256, m->scale_map);
}

static tsr_status take_nibbles(tsri_model_coded_job *job, size_t index, const char *stem,
                               const tsri_io_array *state, tsri_model_coded_matrix **out) {
    json_t *json = NULL;
    TRY(read_state(job, state, &json));
    const json_t *shape = json_object_get(json, "shape");
    const int64_t rows = json_integer_value(json_array_get(shape, 0)),
                  columns = json_integer_value(json_array_get(shape, 1));
    tsr_status status = json_array_size(shape) == 2
                            ? tsri_model_coded_new(job, index, rows, columns, read_nibbles, out)
                            : tsri_model_coded_refuse_shape(
                                  job, state, "its \"shape\" must be a list of two numbers");
    if (status == TSR_OK) {
        (*out)->bits = 4;
        status = read_parts(job, stem, json, *out);
    }
    if (status == TSR_OK)
        status = check_sizes(job, *out, &job->archive->arrays[index]);
    json_decref(json);
    return status;
}

/* ---- 8 bits ---- */

static tsr_status read_int8(const tsri_model_coded_matrix *m, const tsri_io_archive *archive,
                            int64_t first, int64_t n, float *codes, float *scales) {
    TRY(tsri_model_coded_byte_codes(m, archive, first, n, codes));
    TRY(tsri_model_coded_spread(m, archive, &m->scales, 0, first, n, scales));
    for (int64_t i = 0; i < n * m->columns; i++)
        scales[i] /= 127;
    return TSR_OK;
}

static tsr_status take_int8(tsri_model_coded_job *job, size_t index, const char *stem,
                            tsri_model_coded_matrix **out) {
    const tsri_io_array *codes = &job->archive->arrays[index], *scales, *layout;
    uint8_t row_major = 0;
    TRY(tsri_model_coded_part(job, stem, ".SCB", true, &scales));
    TRY(tsri_model_coded_part(job, stem, ".weight_format", false, &layout));
    if (layout && layout->dtype == TSR_U8 && layout->bytes == 1)
        TRY(tsri_model_coded_bytes(job->archive, layout, 0, 1, &row_major));
    if (row_major)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: tensor \"%s\" is %d: a layout for one kind of GPU, which is not "
                              "read; 0, rows, is",
                              job->archive->files[layout->file]->path, layout->name, row_major);
    TRY(tsri_model_coded_of_bytes(job, index, scales, out));
    if ((*out)->row_block != 1 || (*out)->scale_columns != 1)
        return tsri_model_coded_refuse_shape(job, codes, "a scale for each output is needed");
    (*out)->read = read_int8;
    (*out)->lowest = (*out)->highest = 0; /* a 127th of a number is hardly ever an f16 */
    return TSR_OK;
}

static tsr_status take(tsri_model_coded_job *job, size_t index, char stem[TSRI_CODED_NAME],
                       tsri_model_coded_matrix **out) {
    const tsri_io_array *codes = &job->archive->arrays[index], *state;
    if (!tsri_model_coded_stem(codes->name, ".weight", stem))
        return TSR_OK;
    TRY(tsri_model_coded_part(job, stem, ".weight" STATE "nf4", false, &state));
    if (!state)
        TRY(tsri_model_coded_part(job, stem, ".weight" STATE "fp4", false, &state));
    if (state)
        return take_nibbles(job, index, stem, state, out);
    if (codes->dtype == TSR_U8)
        return tsri_model_coded_part(job, stem, ".weight" STATE "nf4", true, &state);
    return codes->dtype == TSR_I8 ? take_int8(job, index, stem, out) : TSR_OK;
}

const tsri_model_coded_format tsri_model_coded_bitsandbytes = {
    .method = "bitsandbytes", .title = "bitsandbytes", .check = check, .take = take};
