/* Matrices that other programs have quantised: their numbers, the types that they are kept in, and what models
 * compute with them. tests/golden/coded/make.py has the formats. */
#include "model/compare.h"
#include "tensor/blocks.h"
#include "tensor/dtype.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    tsr_dtype dtype; /* that matrices become */
} formats[] = {
    {"gptq-4", TSR_GGML_Q4_0},
    {"gptq-4-order", TSR_F32},
    {"gptq-4-zeros", TSR_GGML_Q8_0},
    {"gptq-2", TSR_GGML_Q4_0},
    {"gptq-3", TSR_GGML_Q4_0},
    {"gptq-8", TSR_GGML_Q8_0},
    {"awq-4", TSR_GGML_Q8_0},
    {"fp8-tiles", TSR_BF16},
    {"fp8-rows", TSR_F32},
    {"int8", TSR_GGML_Q8_0},
    {"int8-zeros", TSR_F32},
    {"pack-4", TSR_GGML_Q4_0},
    {"pack-8", TSR_F32},
    {"pack-4-zeros", TSR_F16},
    {"pack-4-order", TSR_F32},
    {"float8", TSR_F32},
    {"nf4", TSR_F32},
    {"fp4-nested", TSR_F32},
    {"bnb-int8", TSR_F32},
    {"bert-int8", TSR_GGML_Q8_0},
    {"int8-scales", TSR_F32}, /* which are no f16 */
};
enum { FORMATS = sizeof formats / sizeof *formats };

static void golden_path(const char *name, const char *file, char out[1024]) {
    snprintf(out, 1024, "%s/tests/golden/coded/%s%s%s", TESSERA_SOURCE_DIR, name, *file ? "/" : "",
             file);
}

static void open_coded(const char *name, tsri_model **model, tsri_io_archive **expected) {
    const tsri_model_options options = {0};
    char path[1024];
    golden_path(name, "", path);
    OK(tsri_model_open(path, &options, model));
    golden_path(name, "expected.safetensors", path);
    OK(tsri_io_open(path, expected));
}

/* The numbers of a matrix, element by element: one rounding of code times scale, and for bitsandbytes one or
 * two of the scale. */
static void compare_numbers(const char *format, const tsri_io_archive *archive,
                            const tsri_io_array *array, const float *want) {
    const size_t n = (size_t)array->elements;
    float *got = calloc(n, sizeof *got), *unpacked = calloc(n, sizeof *unpacked);
    OK(tsri_io_read_as(archive, array, TSR_F32, 0, n, got));
    for (size_t i = 0; i < n; i++)
        cr_assert(fabsf(got[i] - want[i]) <= 0x1p-22f * fabsf(want[i]) + 0x1p-26f,
                  "%s: %s[%zu] is %.9g, wanted %.9g", format, array->name, i, (double)got[i],
                  (double)want[i]);
    if (tsri_tensor_dtype_info(array->dtype)->block > 1) { /* blocks hold the same */
        char *blocks = malloc((size_t)array->bytes);
        OK(tsri_io_read(archive, array, 0, (size_t)array->bytes, blocks));
        tsri_tensor_unpack(array->dtype, blocks, unpacked, n);
        cr_assert(!memcmp(got, unpacked, n * sizeof *got), "%s: blocks of %s", format, array->name);
        free(blocks);
    }
    free(got);
    free(unpacked);
}

/* Bytes from anywhere to anywhere, as hashes and copies read them. */
static void compare_parts(const char *format, const tsri_io_archive *archive,
                          const tsri_io_array *array) {
    const uint64_t bytes = array->bytes, row = bytes / (uint64_t)array->dims[0],
                   ranges[][2] = {{0, 1},           {1, row - 1},       {row - 1, row + 1},
                                  {3, 2 * row + 5}, {row, 3 * row},     {bytes - 1, bytes},
                                  {5, bytes},       {row / 2, row * 5}, {7, 7}};
    char *all = malloc((size_t)bytes), *part = malloc((size_t)bytes);
    OK(tsri_io_read(archive, array, 0, (size_t)bytes, all));
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const uint64_t first = ranges[i][0], n = ranges[i][1] - first;
        memset(part, 0x55, (size_t)bytes);
        OK(tsri_io_read(archive, array, first, (size_t)n, part));
        cr_assert(!memcmp(part, all + first, (size_t)n), "%s: %s, range %zu", format, array->name,
                  i);
        cr_assert(n == bytes || part[n] == 0x55);
    }
    free(all);
    free(part);
}

Test(coded, numbers) {
    for (size_t i = 0; i < FORMATS; i++) {
        const char *format = formats[i].name;
        tsri_model *model = NULL;
        tsri_io_archive *expected = NULL;
        size_t compared = 0;
        open_coded(format, &model, &expected);
        for (size_t a = 0; a < model->archive->n_arrays; a++) {
            const tsri_io_array *array = &model->archive->arrays[a];
            struct expected want;
            char name[256];
            if (!array->made)
                continue;
            cr_assert(array->dtype == formats[i].dtype, "%s: %s is %s", format, array->name,
                      tsri_tensor_dtype_info(array->dtype)->name);
            compare_parts(format, model->archive, array);
            snprintf(name, sizeof name, "numbers.%s", array->name);
            if (!read_expected(expected, name, &want))
                continue;
            cr_assert(want.array->elements == array->elements);
            compare_numbers(format, model->archive, array, want.data);
            free(want.data);
            compared++;
        }
        cr_assert(compared >= 2, "%s: %zu matrices were compared", format, compared);
        tsri_io_close(&expected);
        tsri_model_close(&model);
    }
}

/* Logits and hidden states within the tolerance of every golden (compare.c), with products of f32. */
Test(coded, logits_reference) {
    for (size_t i = 0; i < FORMATS; i++) {
        char name[64];
        snprintf(name, sizeof name, "../coded/%s", formats[i].name);
        if (strncmp(formats[i].name, "bert", 4) != 0)
            compare_golden(name, NULL, "reference");
    }
}

/* A device gets nothing but blocks and floats: one model of each type of blocks. */
Test(coded, logits_device) {
    compare_golden("../coded/gptq-4", NULL, NULL);
    compare_golden("../coded/awq-4", NULL, NULL);
}

/* An encoder goes the same way. */
Test(coded, encoder) {
    static batch batch;
    const tsri_model_options options = {.compute = TSR_MODEL_COMPUTE_F32};
    tsri_io_archive *archive = NULL;
    tsri_session *session = NULL;
    json_t *cases = NULL;
    fixture f;
    char path[1024];
    golden_path("bert-int8", "", path);
    fixture_device(&f, "reference");
    fixture_model(&f, path, &options);
    golden_path("bert-int8", "expected.safetensors", path);
    OK(tsri_io_open(path, &archive));
    golden_path("bert-int8", "cases.json", path);
    OK(tsri_base_json_load(path, 1 << 20, 16, &cases));
    read_batch(json_array_get(json_object_get(cases, "cases"), 0), "input_ids", NULL, &batch);
    float *logits = calloc((size_t)(batch.tokens * f.model->spec.vocab), sizeof *logits);
    OK(tsri_session_create(f.model, batch.B, 0, &session));
    const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .logits = logits};
    OK(tsri_session_encode(session, batch.sequences, batch.B, &results));
    compare_tokens(archive, "all.logits", &batch, logits, f.model->spec.vocab);
    free(logits);
    tsri_session_destroy(&session);
    tsri_io_close(&archive);
    json_decref(cases);
    fixture_close(&f);
}
