/* Formats of arrays: a file is opened, then every array and every value is read. */
#include "fuzz.h"

#include "io/format.h"
#include "model/load/load.h"
#include "tessera/vectors.h"

#include <stdlib.h>

enum { MOST_ELEMENTS = 1 << 14 };

static void read_array(const tsri_io_archive *archive, const tsri_io_array *array) {
    static unsigned char bytes[1 << 16];
    static float numbers[MOST_ELEMENTS];
    const size_t n = array->bytes < sizeof bytes ? (size_t)array->bytes : sizeof bytes;
    (void)fuzz_is_ok(tsri_io_read(archive, array, array->bytes - n, n, bytes));
    if (array->elements <= MOST_ELEMENTS)
        (void)fuzz_is_ok(
            tsri_io_read_as(archive, array, TSR_F32, 0, (size_t)array->elements, numbers));
}

static void read_value(const tsri_io_archive *archive, const tsri_io_value *value) {
    const char *key = tsri_io_value_key(value), *text = NULL;
    const tsri_io_value *list = NULL;
    size_t length;
    int64_t whole = 0;
    double real = 0;
    (void)fuzz_is_ok(tsri_io_meta_int(archive, key, INT64_MIN, INT64_MAX, &whole));
    (void)fuzz_is_ok(tsri_io_meta_real(archive, key, -1e300, 1e300, &real));
    (void)fuzz_is_ok(tsri_io_meta_text(archive, key, &text, &length));
    for (tsri_io_kind kind = TSRI_IO_INT; kind <= TSRI_IO_TEXT; kind++) {
        list = NULL;
        if (!fuzz_is_ok(tsri_io_meta_list(archive, key, kind, &list)) || !list)
            continue;
        for (size_t i = 0; i < tsri_io_list_count(list); i++)
            switch (kind) {
            case TSRI_IO_INT:
                (void)tsri_io_list_int(list, i);
                break;
            case TSRI_IO_REAL:
                (void)tsri_io_list_real(list, i);
                break;
            case TSRI_IO_BOOL:
                (void)tsri_io_list_bool(list, i);
                break;
            default:
                (void)tsri_io_list_text(list, i, &length);
            }
    }
}

static void read_model(const char *path) {
    const tsri_model_options options = {.tokenizer_only = true};
    tsri_model *model = NULL;
    (void)fuzz_is_ok(tsri_model_open(path, &options, &model));
    tsri_model_close(&model);
}

static void read_archive(const char *path) {
    tsri_io_archive *archive = NULL;
    tsri_io_format format;
    (void)fuzz_is_ok(tsri_io_detect(path, &format));
    if (!fuzz_is_ok(tsri_io_open(path, &archive)))
        return;
    for (size_t i = 0; i < archive->n_arrays; i++) {
        fuzz_must(tsri_io_find(archive, archive->arrays[i].name) == &archive->arrays[i],
                  "an array is found by its name");
        read_array(archive, &archive->arrays[i]);
    }
    for (size_t i = 0; i < archive->n_values; i++)
        read_value(archive, &archive->values[i]);
    tsri_io_close(&archive);
}

static void safetensors(const fuzz_part *parts, size_t n) {
    fuzz_write_safetensors("model.safetensors", parts, n);
    read_archive("model.safetensors");
}

static void index_and_shards(const fuzz_part *parts, size_t n) {
    const fuzz_part data = {"", 0};
    fuzz_write("model.safetensors.index.json", parts[0].data, parts[0].size);
    for (size_t i = 1; i < n; i++) {
        const fuzz_part shard[] = {parts[i], data};
        fuzz_write_safetensors(i == 1 ? "a.safetensors" : "b.safetensors", shard, 2);
    }
    read_archive("model.safetensors.index.json");
}

static void gguf(const fuzz_part *parts, size_t n) {
    (void)n;
    fuzz_write("model.gguf", parts[0].data, parts[0].size);
    read_archive("model.gguf");
    read_model("model.gguf");
}

static void begin_llama2c(void) {
    fuzz_copy_golden("tokenizers/small.bin", "tokenizer.bin");
}

static void llama2c(const fuzz_part *parts, size_t n) {
    (void)n;
    fuzz_write("model.bin", parts[0].data, parts[0].size);
    read_archive("model.bin");
    read_model("model.bin");
}

static void begin_ctranslate2(void) {
    fuzz_copy_golden("ctranslate2/marian/config.json", "config.json");
    fuzz_copy_golden("ctranslate2/marian/shared_vocabulary.json", "shared_vocabulary.json");
}

static void ctranslate2(const fuzz_part *parts, size_t n) {
    (void)n;
    fuzz_write("model.bin", parts[0].data, parts[0].size);
    read_archive("model.bin");
    read_model(".");
}

static void npy(const fuzz_part *parts, size_t n) {
    (void)n;
    static float row[1 << 20];
    tsr_vectors *vectors = NULL;
    fuzz_write("x.npy", parts[0].data, parts[0].size);
    if (!fuzz_is_ok(tsr_vectors_open("x.npy", &vectors)))
        return;
    const uint64_t rows = tsr_vectors_rows(vectors);
    for (uint64_t i = 0; i < rows && i < 100; i++)
        (void)fuzz_is_ok(tsr_vectors_read(vectors, i, 1, row));
    (void)fuzz_is_ok(tsr_vectors_read(vectors, rows, 1, row));
    tsr_vectors_close(&vectors);
}

const fuzz_target fuzz_io_targets[] = {
    {"safetensors", NULL, safetensors, 2},
    {"index", NULL, index_and_shards, 3},
    {"gguf", NULL, gguf, 1},
    {"llama2c", begin_llama2c, llama2c, 1},
    {"ctranslate2", begin_ctranslate2, ctranslate2, 1},
    {"npy", NULL, npy, 1},
    {0},
};
