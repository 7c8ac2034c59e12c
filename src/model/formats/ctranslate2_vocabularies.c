/* model/formats/ctranslate2_vocabularies.c - reads the vocabulary files and the settings of a
 * CTranslate2 folder. */
#include "model/formats/ctranslate2.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "text/load/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 30, DEPTH = 64, PIECES = 1 << 24, BINARY_WITH_CONFIG = 6 };

/* ---- settings ---- */

static const char *text_of(const json_t *json, const char *key) {
    return json_string_value(json_object_get(json, key));
}

/* Reads the attributes of files from before config.json, under the names that config.json has for
 * them. */
static tsr_status read_attributes(const tsri_io_archive *archive, json_t *json) {
    static const char *const tokens[][2] = {
        {"unk_token", "<unk>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}};
    static const char *const flags[][2] = {{"with_source_bos", "add_source_bos"},
                                           {"with_source_eos", "add_source_eos"}};
    int64_t from_bos = 1, given = 0;
    for (size_t i = 0; i < 3; i++) {
        const char *text = tokens[i][1];
        TRY(tsri_io_meta_text(archive, tokens[i][0], &text, NULL));
        tsri_base_json_put(json, tokens[i][0], json_string(text));
    }
    for (size_t i = 0; i < 2; i++) {
        int64_t flag = 0;
        TRY(tsri_io_meta_int(archive, flags[i][0], 0, 1, &flag));
        tsri_base_json_put(json, flags[i][1], json_boolean(flag));
    }
    TRY(tsri_io_meta_int(archive, "with_target_bos", 0, 1, &from_bos));
    TRY(tsri_io_meta_int(archive, "user_decoder_start_tokens", 0, 1, &given));
    if (!given)
        tsri_base_json_put(
            json, "decoder_start_token",
            json_incref(json_object_get(json, from_bos ? "bos_token" : "eos_token")));
    return tsri_base_json_made(json, archive->path);
}

static tsr_status fill_settings(const char *what, tsri_model_ctranslate2_settings *out) {
    static const char *const texts[] = {"unk_token", "bos_token", "eos_token",
                                        "decoder_start_token"};
    const char *unused = NULL;
    int64_t quantization = 0;
    if (!json_is_object(out->json))
        return tsri_base_fail(TSR_E_FORMAT, "%s: an object was expected", what);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        TRY(tsri_base_json_text(out->json, what, texts[i], &unused));
    out->unknown = text_of(out->json, "unk_token");
    out->bos = text_of(out->json, "bos_token");
    out->eos = text_of(out->json, "eos_token");
    out->decoder_start = text_of(out->json, "decoder_start_token");
    TRY(tsri_base_json_bool(out->json, what, "add_source_bos", &out->add_source_bos));
    TRY(tsri_base_json_bool(out->json, what, "add_source_eos", &out->add_source_eos));
    TRY(tsri_base_json_real(out->json, what, "layer_norm_epsilon", 0, 1, &out->norm_eps));
    TRY(tsri_base_json_int(out->json, what, "quantization_type", 0, 100, &quantization));
    if (quantization)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"quantization_type\" is %" PRId64
                              " (AWQ), which is not read; convert the model with --quantization "
                              "int8, int16, float16 or float32",
                              what, quantization);
    return TSR_OK;
}

tsr_status tsri_model_ctranslate2_settings_read(const tsri_io_archive *archive, const char *folder,
                                                tsri_model_ctranslate2_settings *out) {
    *out = (tsri_model_ctranslate2_settings){0};
    int64_t version = 0;
    TRY(tsri_io_meta_int(archive, "binary_version", 0, INT32_MAX, &version));
    char *path = tsri_base_join(folder, "config.json");
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    const bool there = path && tsri_base_is_file(path);
    if (status == TSR_OK && !there && version >= BINARY_WITH_CONFIG)
        status = tsri_base_fail(
            TSR_E_IO, "%s is missing; it names the special tokens of a CTranslate2 model", path);
    if (status == TSR_OK && there)
        status = tsri_base_json_load(path, MOST, DEPTH, &out->json);
    else if (status == TSR_OK && !(out->json = json_object()))
        status = tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory while %s was read", folder);
    if (status == TSR_OK && version < BINARY_WITH_CONFIG && json_is_object(out->json))
        status = read_attributes(archive, out->json);
    if (status == TSR_OK)
        status = fill_settings(there ? path : archive->path, out);
    if (status != TSR_OK)
        tsri_model_ctranslate2_settings_clear(out);
    free(path);
    return status;
}

void tsri_model_ctranslate2_settings_clear(tsri_model_ctranslate2_settings *settings) {
    json_decref(settings->json);
    *settings = (tsri_model_ctranslate2_settings){0};
}

/* ---- vocabularies ---- */

static tsr_status read_list(tsri_model_vocabulary *v) {
    TRY(tsri_base_json_load(v->path, MOST, DEPTH, &v->list));
    const size_t n = json_array_size(v->list);
    if (!json_is_array(v->list) || n > PIECES)
        return tsri_base_fail(TSR_E_FORMAT, "%s: a list of at most %d texts was expected", v->path,
                              PIECES);
    TRY(tsri_base_new(n + 1, sizeof *v->pieces, &v->pieces));
    for (; v->count < n; v->count++) {
        const json_t *item = json_array_get(v->list, v->count);
        if (!json_is_string(item))
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: item %zu is not a text; every piece must be one", v->path,
                                  v->count);
        v->pieces[v->count] = (tsri_text_piece){json_string_value(item), json_string_length(item)};
    }
    return TSR_OK;
}

/* Carriage returns belong to line ends only if all lines have them: a piece may end with one. */
static tsr_status read_lines(tsri_model_vocabulary *v) {
    tsri_bytes bytes = {0};
    size_t lines = 0, returns = 0;
    const tsr_status status = tsri_base_read_whole(v->path, MOST, &bytes);
    v->lines = bytes.data;
    TRY(status);
    for (size_t i = 0; i < bytes.size; i++)
        lines += bytes.data[i] == '\n' || i + 1 == bytes.size;
    if (lines > PIECES)
        return tsri_base_fail(TSR_E_FORMAT, "%s has %zu lines; at most %d pieces are read", v->path,
                              lines, PIECES);
    TRY(tsri_base_new(lines + 1, sizeof *v->pieces, &v->pieces));
    for (size_t start = 0; start < bytes.size;) {
        const char *line = bytes.data + start;
        const char *end = memchr(line, '\n', bytes.size - start);
        const size_t n = end ? (size_t)(end - line) : bytes.size - start;
        v->pieces[v->count++] = (tsri_text_piece){line, n};
        returns += n > 0 && line[n - 1] == '\r';
        start += n + 1;
    }
    for (size_t i = 0; returns == v->count && i < v->count; i++)
        v->pieces[i].size--;
    return TSR_OK;
}

tsr_status tsri_model_vocabulary_read(const char *folder, const char *name, const char *unknown,
                                      tsri_model_vocabulary *out) {
    static const char *const ends[] = {".json", ".txt"};
    *out = (tsri_model_vocabulary){0};
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < 2 && status == TSR_OK && !out->path; i++) {
        tsri_bytes path = {0};
        status = tsri_base_bytes_printf(&path, "%s/%s%s", folder, name, ends[i]);
        if (status == TSR_OK && tsri_base_is_file(path.data)) {
            out->path = path.data;
            path = (tsri_bytes){0};
            status = i == 0 ? read_list(out) : read_lines(out);
        }
        tsri_base_bytes_clear(&path);
    }
    if (status == TSR_OK && out->path && out->count == 0)
        status = tsri_base_fail(TSR_E_FORMAT, "%s has no pieces", out->path);
    if (status == TSR_OK && out->path && unknown && tsri_model_vocabulary_find(out, unknown) < 0)
        out->pieces[out->count++] = (tsri_text_piece){unknown, strlen(unknown)};
    if (status != TSR_OK)
        tsri_model_vocabulary_clear(out);
    return status;
}

int32_t tsri_model_vocabulary_find(const tsri_model_vocabulary *vocabulary, const char *piece) {
    const size_t n = strlen(piece);
    for (size_t i = 0; i < vocabulary->count; i++)
        if (vocabulary->pieces[i].size == n && memcmp(vocabulary->pieces[i].text, piece, n) == 0)
            return (int32_t)i;
    return -1;
}

void tsri_model_vocabulary_clear(tsri_model_vocabulary *vocabulary) {
    free(vocabulary->pieces);
    free(vocabulary->path);
    free(vocabulary->lines);
    json_decref(vocabulary->list);
    *vocabulary = (tsri_model_vocabulary){0};
}

tsr_status tsri_model_vocabularies_read(const char *folder, const char *unknown,
                                        tsri_model_vocabularies *out) {
    static const char *const one[] = {"shared_vocabulary", "vocabulary"};
    *out = (tsri_model_vocabularies){.shared = true};
    for (size_t i = 0; i < 2 && !out->target.count; i++)
        TRY(tsri_model_vocabulary_read(folder, one[i], unknown, &out->target));
    if (out->target.count)
        return TSR_OK;
    out->shared = false;
    tsr_status status =
        tsri_model_vocabulary_read(folder, "target_vocabulary", unknown, &out->target);
    if (status == TSR_OK)
        status = tsri_model_vocabulary_read(folder, "source_vocabulary", unknown, &out->source);
    if (status == TSR_OK && (!out->target.count || !out->source.count))
        status = tsri_base_fail(TSR_E_IO,
                                "%s has no vocabulary: shared_vocabulary.json or .txt, "
                                "source_vocabulary and target_vocabulary, or vocabulary is needed "
                                "beside model.bin",
                                folder);
    if (status != TSR_OK)
        tsri_model_vocabularies_clear(out);
    return status;
}

void tsri_model_vocabularies_clear(tsri_model_vocabularies *vocabularies) {
    tsri_model_vocabulary_clear(&vocabularies->source);
    tsri_model_vocabulary_clear(&vocabularies->target);
}
