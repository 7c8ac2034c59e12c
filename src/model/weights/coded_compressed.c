/* model/weights/coded_compressed.c - compressed-tensors, as llm-compressor writes it. Of a matrix of I inputs
 * and O outputs, in the format pack-quantized:
 *
 *     NAME.weight_packed      I32 [O, I * bits / 32, rounded up]  code + 2^(bits - 1), packed along inputs
 *     NAME.weight_shape       [2]: O, I
 *     NAME.weight_scale       [O, groups], [O, 1] or one number
 *     NAME.weight_zero_point  I32 [O * bits / 32, rounded up, groups], packed along outputs; or absent: 0
 *     NAME.weight_g_idx       I32 [I]: the group of each input; or absent
 *
 * and in int-quantized, float-quantized and naive-quantized:
 *
 *     NAME.weight             I8 or F8_E4M3 [O, I]
 *     NAME.weight_scale       as above, or one number for each tile of block_structure
 *     NAME.weight_zero_point  I8 of the same shape; or absent: 0
 *
 * w = (code - zero) * scale. Scales of activations are not read: these stay floats.
 *
 * source  the layouts of compressed-tensors 0.20 */
#include "model/weights/coded.h"
#include "model/weights/coded_bytes.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static tsr_status refuse(const tsri_model_coded_job *job, const char *key, const char *value,
                         const char *served) {
    return tsri_base_fail(TSR_E_UNSUPPORTED,
                          "%s: \"quantization_config\": \"%s\" is %.80s, which is not read; %s",
                          job->what, key, value, served);
}

static tsr_status check_format(const tsri_model_coded_job *job) {
    static const char *const read_formats[] = {"pack-quantized",  "int-quantized",
                                               "float-quantized", "naive-quantized",
                                               "mixed-precision", "dense"};
    const char *format = "dense", *sparse = "dense";
    const json_t *sparsity = json_object_get(job->settings, "sparsity_config"),
                 *transform = json_object_get(job->settings, "transform_config");
    TRY(tsri_base_json_text(job->settings, job->what, "format", &format));
    bool known = false;
    for (size_t i = 0; i < sizeof read_formats / sizeof *read_formats; i++)
        known = known || strcmp(format, read_formats[i]) == 0;
    if (!known)
        return refuse(job, "format", format,
                      "pack-quantized, int-quantized, float-quantized and naive-quantized are");
    if (json_object_size(sparsity))
        TRY(tsri_base_json_text(sparsity, job->what, "format", &sparse));
    if (strcmp(sparse, "dense") != 0)
        return refuse(job, "sparsity_config", sparse, "dense is");
    if (json_object_size(transform))
        return refuse(job, "transform_config", "set", "models without transforms are");
    return TSR_OK;
}

/* Remembers how many rows and columns share a scale. */
static tsr_status add_size(tsri_model_coded_job *job, int64_t rows, int64_t columns) {
    for (int i = 0; i < job->n_sizes; i++)
        if (job->sizes[i][0] == rows && job->sizes[i][1] == columns)
            return TSR_OK;
    if (job->n_sizes == TSRI_CODED_SIZES)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"config_groups\" has more than %d sizes of groups", job->what,
                              TSRI_CODED_SIZES);
    job->sizes[job->n_sizes][0] = rows;
    job->sizes[job->n_sizes++][1] = columns;
    return TSR_OK;
}

/* Whether inputs are in groups by an array: "actorder" is "group", which older files call true. */
static bool is_ordered(const json_t *weights) {
    const json_t *order = json_object_get(weights, "actorder");
    const char *name = json_is_string(order) ? json_string_value(order) : "";
    return json_is_true(order) || strcmp(name, "group") == 0 || strcmp(name, "dynamic") == 0;
}

static tsr_status check(tsri_model_coded_job *job) {
    const json_t *groups = json_object_get(job->settings, "config_groups");
    const char *name;
    json_t *group;
    TRY(check_format(job));
    job->ordered = job->zeros = json_object_size(groups) > 0;
    json_object_foreach((json_t *)(uintptr_t)groups, name, group) {
        const json_t *weights = json_object_get(group, "weights"),
                     *tile = json_object_get(weights, "block_structure");
        int64_t size = -1;
        TRY(tsri_base_json_int(weights, job->what, "group_size", -1, INT32_MAX, &size));
        job->ordered = job->ordered && is_ordered(weights);
        job->zeros = job->zeros && json_is_false(json_object_get(weights, "symmetric"));
        job->activations =
            job->activations || json_object_size(json_object_get(group, "input_activations")) > 0;
        if (size > 0)
            TRY(add_size(job, 1, size));
        const int64_t rows = json_integer_value(json_array_get(tile, 0)),
                      columns = json_integer_value(json_array_get(tile, 1));
        if (rows > 0 && columns > 0 && rows <= INT32_MAX && columns <= INT32_MAX)
            TRY(add_size(job, rows, columns));
    }
    return TSR_OK;
}

static tsr_status read_packed(const tsri_model_coded_matrix *m, const tsri_io_archive *archive,
                              int64_t first, int64_t n, float *codes, float *scales) {
    const int64_t across = m->codes.dims[1], half = INT64_C(1) << (m->bits - 1);
    uint32_t *words = NULL;
    TRY(tsri_base_new((size_t)(n * across), sizeof *words, &words));
    tsr_status status = tsri_io_read_as(archive, &m->codes, TSR_I32, (uint64_t)(first * across),
                                        (size_t)(n * across), words);
    if (status == TSR_OK && m->zeros.name) {
        status = tsri_model_coded_spread(m, archive, &m->zeros, m->bits, first, n, scales);
        for (int64_t i = 0; status == TSR_OK && i < n * m->columns; i++)
            codes[i] = scales[i];
    }
    for (int64_t o = 0; status == TSR_OK && o < n; o++)
        for (int64_t i = 0; i < m->columns; i++) {
            const float zero = m->zeros.name ? codes[o * m->columns + i] : 0;
            codes[o * m->columns + i] = (float)((int64_t)tsri_model_coded_bits(
                                                    words + o * across, 1, m->bits, i * m->bits) -
                                                half) -
                                        zero;
        }
    free(words);
    return status == TSR_OK ? tsri_model_coded_spread(m, archive, &m->scales, 0, first, n, scales)
                            : status;
}

/* The bits of a code: those by which I inputs are so many words. */
static int bits_of(int64_t inputs, int64_t words) {
    static const int served[] = {4, 8, 2};
    for (size_t i = 0; i < sizeof served / sizeof *served; i++)
        if ((inputs * served[i] + 31) / 32 == words)
            return served[i];
    return 0;
}

static tsr_status take_packed(tsri_model_coded_job *job, size_t index, const char *stem,
                              tsri_model_coded_matrix **out) {
    const tsri_io_array *codes = &job->archive->arrays[index], *scales, *zeros, *shape, *g_idx;
    int64_t dims[2] = {0, 0};
    TRY(tsri_model_coded_part(job, stem, ".weight_scale", true, &scales));
    TRY(tsri_model_coded_part(job, stem, ".weight_shape", true, &shape));
    TRY(tsri_model_coded_part(job, stem, ".weight_zero_point", job->zeros, &zeros));
    TRY(tsri_model_coded_part(job, stem, ".weight_g_idx", job->ordered, &g_idx));
    if (shape->rank != 1 || shape->dims[0] != 2 ||
        (shape->dtype != TSR_I64 && shape->dtype != TSR_I32))
        return tsri_model_coded_refuse_shape(job, shape, "two whole numbers are needed");
    TRY(tsri_io_read_as(job->archive, shape, TSR_I64, 0, 2, dims));
    const bool fits = dims[0] > 0 && dims[1] > 0 && dims[1] < INT32_MAX && codes->rank == 2;
    const int bits = fits ? bits_of(dims[1], codes->dims[1]) : 0;
    if (!bits)
        return tsri_model_coded_refuse_shape(
            job, codes, "2, 4 or 8 bits for each of the inputs of its weight_shape are read");
    TRY(tsri_model_coded_expect(job, codes, "I32", 2, dims[0], codes->dims[1]));
    TRY(tsri_model_coded_new(job, index, dims[0], dims[1], read_packed, out));
    tsri_model_coded_matrix *m = *out;
    m->bits = bits;
    m->lowest = -(1 << (bits - 1));
    m->highest = -m->lowest - 1;
    TRY(tsri_model_coded_grid(job, scales, m));
    if (g_idx)
        TRY(tsri_model_coded_indices(job, g_idx, m->scale_columns, m));
    if (!zeros)
        return TSR_OK;
    TRY(tsri_model_coded_expect(job, zeros, "I32", 2, (m->rows * bits + 31) / 32,
                                m->scale_columns));
    if (m->row_block != 1)
        return tsri_model_coded_refuse_shape(job, scales,
                                             "packed zero points need a scale for each output");
    m->zeros = *zeros;
    m->lowest -= m->highest;
    m->highest -= -m->highest - 1;
    return TSR_OK;
}

/* Zero points of e4m3 are 0, and some files list them. */
static tsr_status check_float_zeros(const tsri_model_coded_job *job, const tsri_io_array *zeros) {
    for (uint64_t at = 0; at < zeros->bytes; at++) {
        uint8_t byte = 0;
        TRY(tsri_model_coded_bytes(job->archive, zeros, at, 1, &byte));
        if (byte & 127)
            return tsri_model_coded_refuse_shape(job, zeros, "only zeros are read there");
    }
    return TSR_OK;
}

static tsr_status take(tsri_model_coded_job *job, size_t index, char stem[TSRI_CODED_NAME],
                       tsri_model_coded_matrix **out) {
    const tsri_io_array *codes = &job->archive->arrays[index], *scales, *zeros, *g_idx;
    if (tsri_model_coded_stem(codes->name, ".weight_packed", stem))
        return take_packed(job, index, stem, out);
    if ((codes->dtype != TSR_I8 && strcmp(codes->type_name, "F8_E4M3") != 0) ||
        !tsri_model_coded_stem(codes->name, ".weight", stem))
        return TSR_OK;
    TRY(tsri_model_coded_part(job, stem, ".weight_scale", true, &scales));
    TRY(tsri_model_coded_part(job, stem, ".weight_zero_point", job->zeros, &zeros));
    TRY(tsri_model_coded_part(job, stem, ".weight_g_idx", job->ordered, &g_idx));
    TRY(tsri_model_coded_of_bytes(job, index, scales, out));
    if (g_idx)
        TRY(tsri_model_coded_indices(job, g_idx, (*out)->scale_columns, *out));
    if (!zeros)
        return TSR_OK;
    if (zeros->rank != scales->rank ||
        memcmp(zeros->dims, scales->dims, (size_t)scales->rank * sizeof *scales->dims) != 0)
        return tsri_model_coded_refuse_shape(job, zeros, "the shape of its scales is needed");
    if (zeros->dtype == TSR_DTYPE_NONE)
        return check_float_zeros(job, zeros);
    TRY(tsri_model_coded_expect(job, zeros, "I8", 0, 0, 0));
    (*out)->zeros = *zeros;
    (*out)->lowest = -255; /* which bytes do not hold */
    (*out)->highest = 255;
    return TSR_OK;
}

static const char *const unread[] = {".input_scale",
                                     ".input_zero_point",
                                     ".input_g_idx",
                                     ".output_scale",
                                     ".output_zero_point",
                                     ".k_scale",
                                     ".v_scale",
                                     ".q_scale",
                                     ".prob_output_scale",
                                     ".kv_scale",
                                     NULL};

const tsri_model_coded_format tsri_model_coded_compressed = {.method = "compressed-tensors",
                                                             .title = "compressed-tensors",
                                                             .check = check,
                                                             .take = take,
                                                             .unread = unread};
