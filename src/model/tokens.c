#include "model/tokens.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 30, DEPTH = 64 };

/* The id of a role in tokenizer_config.json: "bos_token": "<s>" or {"content": "<s>"}. */
static int32_t named_token(const tsri_text_tokenizer *tokenizer, const json_t *config,
                           const char *key) {
    const json_t *value = json_object_get(config, key);
    if (json_is_object(value))
        value = json_object_get(value, "content");
    const char *text = json_string_value(value);
    return text ? tsri_text_id_of(tokenizer, text, json_string_length(value)) : -1;
}

/* What the tokenizer's own file doesn't say: first from tokenizer_config.json, else from the
 * model's config. */
static tsr_status set_roles(const char *folder, const tsri_model_spec *spec, bool plain,
                            tsri_text_tokenizer *tokenizer) {
    static const char *const keys[TSRI_TEXT_ROLES] = {[TSRI_TEXT_BOS] = "bos_token",
                                                      [TSRI_TEXT_EOS] = "eos_token",
                                                      [TSRI_TEXT_UNK] = "unk_token",
                                                      [TSRI_TEXT_PAD] = "pad_token"};
    const int32_t fallback[TSRI_TEXT_ROLES] = {[TSRI_TEXT_BOS] = spec->bos,
                                               [TSRI_TEXT_EOS] = spec->n_eos ? spec->eos[0] : -1,
                                               [TSRI_TEXT_UNK] = -1,
                                               [TSRI_TEXT_PAD] = spec->pad};
    json_t *config = NULL;
    bool add_bos = true, add_eos = false;
    char *path = tsri_base_join(folder, "tokenizer_config.json");
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && tsri_base_is_file(path))
        status = tsri_base_json_load(path, MOST, DEPTH, &config);
    for (int role = 0; role < TSRI_TEXT_ROLES && status == TSR_OK; role++) {
        int32_t id = named_token(tokenizer, config, keys[role]), size = 0;
        size = tsri_text_vocabulary_size(tokenizer);
        if (id < 0)
            id = tsri_text_role_id(tokenizer, (tsri_text_role)role);
        if (id < 0 && fallback[role] < size)
            id = fallback[role];
        size_t n;
        if (id >= 0 && tsri_text_piece_of(tokenizer, id, &n))
            status = tsri_text_set_role(tokenizer, (tsri_text_role)role, id);
    }
    if (status == TSR_OK && config)
        status = tsri_base_json_bool(config, path, "add_bos_token", &add_bos);
    if (status == TSR_OK && config)
        status = tsri_base_json_bool(config, path, "add_eos_token", &add_eos);
    if (status == TSR_OK && plain && tsri_text_role_id(tokenizer, TSRI_TEXT_BOS) < 0)
        add_bos = false;
    if (status == TSR_OK && plain &&
        (config || spec->bos >= 0)) /* SentencePiece itself adds nothing */
        status = tsri_text_set_affixes(tokenizer, add_bos, add_eos);
    json_decref(config);
    free(path);
    return status;
}

static tsr_status read_json(const char *path, tsri_text_tokenizer **out) {
    json_t *json = NULL;
    TRY(tsri_base_json_load(path, MOST, DEPTH, &json));
    const tsr_status status = tsri_text_from_json(json, out);
    json_decref(json);
    return status == TSR_OK ? TSR_OK : tsri_base_fail_within(status, "%s", path);
}

static tsr_status read_sentencepiece(const char *path, tsri_text_tokenizer **out) {
    tsri_bytes bytes = {0};
    TRY(tsri_base_read_whole(path, MOST, &bytes));
    const tsr_status status = tsri_text_from_sentencepiece(bytes.data, bytes.size, out);
    tsri_base_bytes_clear(&bytes);
    return status == TSR_OK ? TSR_OK : tsri_base_fail_within(status, "%s", path);
}

tsr_status tsri_model_folder_tokenizer(const char *folder, const tsri_model_spec *spec,
                                       tsri_text_tokenizer **out) {
    char *json = tsri_base_join(folder, "tokenizer.json"),
         *model = tsri_base_join(folder, "tokenizer.model");
    tsr_status status = json && model ? TSR_OK : TSR_E_HOST_MEMORY;
    *out = NULL;
    if (status == TSR_OK && tsri_base_is_file(json))
        status = read_json(json, out);
    else if (status == TSR_OK && tsri_base_is_file(model))
        status = read_sentencepiece(model, out);
    if (status == TSR_OK && *out)
        status = set_roles(folder, spec, !tsri_base_is_file(json), *out);
    if (status != TSR_OK)
        tsri_text_tokenizer_destroy(out);
    free(json);
    free(model);
    return status;
}

/* ---- GGUF ---- */

static tsr_status read_pieces(const tsri_io_archive *archive, const char *key,
                              tsri_text_piece **out, size_t *count) {
    const tsri_io_value *list = NULL;
    TRY(tsri_io_meta_list(archive, key, TSRI_IO_TEXT, &list));
    *count = list ? tsri_io_list_count(list) : 0;
    TRY(tsri_base_new(*count, sizeof **out, out));
    for (size_t i = 0; i < *count; i++)
        (*out)[i].text = tsri_io_list_text(list, i, &(*out)[i].size);
    return TSR_OK;
}

static tsr_status read_scores(const tsri_io_archive *archive, float **out, size_t *count) {
    const tsri_io_value *list = NULL;
    TRY(tsri_io_meta_list(archive, "tokenizer.ggml.scores", TSRI_IO_REAL, &list));
    if (!list)
        return TSR_OK;
    *count = tsri_io_list_count(list);
    TRY(tsri_base_new(*count, sizeof **out, out));
    for (size_t i = 0; i < *count; i++)
        (*out)[i] = (float)tsri_io_list_real(list, i);
    return TSR_OK;
}

static tsr_status read_types(const tsri_io_archive *archive, int32_t **out, size_t *count) {
    const tsri_io_value *list = NULL;
    TRY(tsri_io_meta_list(archive, "tokenizer.ggml.token_type", TSRI_IO_INT, &list));
    if (!list)
        return TSR_OK;
    *count = tsri_io_list_count(list);
    TRY(tsri_base_new(*count, sizeof **out, out));
    for (size_t i = 0; i < *count; i++) {
        const int64_t type = tsri_io_list_int(list, i);
        (*out)[i] = type < 0 || type > INT32_MAX ? -1 : (int32_t)type;
    }
    return TSR_OK;
}

static tsr_status read_flag(const tsri_io_archive *archive, const char *key, int *out) {
    bool flag = false;
    if (!tsri_io_meta(archive, key))
        return TSR_OK;
    TRY(tsri_io_meta_bool(archive, key, &flag));
    *out = flag;
    return TSR_OK;
}

static tsr_status read_specials(const tsri_io_archive *archive, tsri_text_gguf *gguf) {
    TRY(tsri_io_meta_int(archive, "tokenizer.ggml.bos_token_id", 0, UINT32_MAX, &gguf->bos));
    TRY(tsri_io_meta_int(archive, "tokenizer.ggml.eos_token_id", 0, UINT32_MAX, &gguf->eos));
    TRY(tsri_io_meta_int(archive, "tokenizer.ggml.unknown_token_id", 0, UINT32_MAX,
                         &gguf->unknown));
    TRY(tsri_io_meta_int(archive, "tokenizer.ggml.padding_token_id", 0, UINT32_MAX,
                         &gguf->padding));
    TRY(read_flag(archive, "tokenizer.ggml.add_bos_token", &gguf->add_bos));
    TRY(read_flag(archive, "tokenizer.ggml.add_eos_token", &gguf->add_eos));
    return read_flag(archive, "tokenizer.ggml.add_space_prefix", &gguf->add_space_prefix);
}

tsr_status tsri_model_gguf_tokenizer(const tsri_io_archive *archive, tsri_text_tokenizer **out) {
    tsri_text_gguf gguf = {.bos = -1,
                           .eos = -1,
                           .unknown = -1,
                           .padding = -1,
                           .add_bos = -1,
                           .add_eos = -1,
                           .add_space_prefix = -1};
    tsri_text_piece *tokens = NULL, *merges = NULL;
    float *scores = NULL;
    int32_t *types = NULL;
    *out = NULL;
    TRY(tsri_io_meta_text(archive, "tokenizer.ggml.model", &gguf.model, NULL));
    if (!gguf.model)
        return TSR_OK;
    tsr_status status = tsri_io_meta_text(archive, "tokenizer.ggml.pre", &gguf.pre, NULL);
    if (status == TSR_OK)
        status = read_pieces(archive, "tokenizer.ggml.tokens", &tokens, &gguf.token_count);
    if (status == TSR_OK)
        status = read_pieces(archive, "tokenizer.ggml.merges", &merges, &gguf.merge_count);
    if (status == TSR_OK)
        status = read_scores(archive, &scores, &gguf.score_count);
    if (status == TSR_OK)
        status = read_types(archive, &types, &gguf.type_count);
    if (status == TSR_OK)
        status = read_specials(archive, &gguf);
    if (status == TSR_OK) {
        gguf.tokens = tokens;
        gguf.merges = merges;
        gguf.scores = scores;
        gguf.types = types;
        status = tsri_text_from_gguf(&gguf, out);
        if (status != TSR_OK)
            tsri_base_fail_within(status, "%s", archive->path);
    }
    free(tokens);
    free(merges);
    free(scores);
    free(types);
    return status;
}

tsr_status tsri_model_llama2c_tokenizer(const char *folder, const tsri_model_spec *spec,
                                        tsri_text_tokenizer **out) {
    tsri_bytes bytes = {0};
    char *path = tsri_base_join(folder, "tokenizer.bin");
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    *out = NULL;
    if (status == TSR_OK && tsri_base_is_file(path)) {
        status = tsri_base_read_whole(path, MOST, &bytes);
        if (status == TSR_OK &&
            (status = tsri_text_from_llama2c(bytes.data, bytes.size, spec->vocab, out)) != TSR_OK)
            tsri_base_fail_within(status, "%s", path);
    }
    tsri_base_bytes_clear(&bytes);
    free(path);
    return status;
}

/* ---- without a model ---- */

static tsr_status tokenizer_in_file(const char *path, tsri_text_tokenizer **out) {
    tsri_io_archive *archive = NULL;
    tsri_io_format format = TSRI_IO_UNKNOWN;
    TRY(tsri_io_detect(path, &format));
    if (format == TSRI_IO_GGUF) {
        TRY(tsri_io_open(path, &archive));
        const tsr_status status = tsri_model_gguf_tokenizer(archive, out);
        tsri_io_close(&archive);
        return status;
    }
    const size_t n = strlen(path);
    if (n > 5 && !strcmp(path + n - 5, ".json"))
        return read_json(path, out);
    if (n > 6 && !strcmp(path + n - 6, ".model"))
        return read_sentencepiece(path, out);
    return TSR_OK;
}

tsr_status tsri_model_tokenizer_at(const char *path, tsri_text_tokenizer **out) {
    tsri_model_spec none;
    *out = NULL;
    if (!tsri_base_is_folder(path))
        return tokenizer_in_file(path, out);
    tsri_model_spec_defaults(&none);
    return tsri_model_folder_tokenizer(path, &none, out);
}
