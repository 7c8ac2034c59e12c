/* text/load/json.c - Hugging Face's tokenizer.json. */
#include "base/error.h"
#include "text/base/pattern_json.h"
#include "text/load/load.h"
#include "text/tokenizer/parts.h"

#include <string.h>

enum { DEPTH = 64, ADDED_LIMIT = 1 << 20, WIDEST_GAP = 65536 };

static const tsri_text_model_row *const models[] = {&tsri_text_bpe, &tsri_text_word_level,
                                                    &tsri_text_word_piece, &tsri_text_unigram};

static tsr_status load_model(const tsri_text_model_file *file, tsri_text_tokenizer *t) {
    const json_t *json = file->json;
    const char *type = NULL;
    if (!json_is_object(json))
        return tsri_base_fail(TSR_E_FORMAT, "\"model\" is not an object");
    TRY(tsri_base_json_text(json, "model", "type", &type));
    if (!type && json_object_get(json, "merges"))
        type = "BPE"; /* older files have no type */
    if (!type && json_is_array(json_object_get(json, "vocab")))
        type = "Unigram";
    if (!type)
        return tsri_base_fail(TSR_E_FORMAT, "model has no \"type\"");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (strcmp(models[i]->type, type) != 0)
            continue;
        t->row = models[i];
        return t->row->load(file, &t->vocabulary, &t->roles[TSRI_TEXT_UNK], &t->model);
    }
    return tsri_base_fail(
        TSR_E_UNSUPPORTED,
        "model \"%s\" is not supported; BPE, Unigram, WordLevel and WordPiece are", type);
}

/* One entry of "added_tokens": its content gets its id, unless the model already has it under that
 * id. */
static tsr_status read_added(const json_t *json, size_t number, tsri_text_tokenizer *t,
                             const char **content, tsri_text_added_token *token) {
    static const char what[] = "added_tokens";
    int64_t id = -1;
    *content = NULL;
    if (!json_is_object(json))
        return tsri_base_fail(TSR_E_FORMAT, "%s: number %zu is not an object", what, number);
    TRY(tsri_base_json_text(json, what, "content", content));
    TRY(tsri_base_json_int(json, what, "id", 0, TSRI_TEXT_IDS_LIMIT - 1, &id));
    TRY(tsri_base_json_bool(json, what, "special", &token->special));
    TRY(tsri_base_json_bool(json, what, "single_word", &token->single_word));
    TRY(tsri_base_json_bool(json, what, "lstrip", &token->lstrip));
    TRY(tsri_base_json_bool(json, what, "rstrip", &token->rstrip));
    token->normalized = !token->special;
    TRY(tsri_base_json_bool(json, what, "normalized", &token->normalized));
    if (!*content || id < 0)
        return tsri_base_fail(TSR_E_FORMAT, "%s: number %zu has no \"%s\"", what, number,
                              *content ? "id" : "content");
    token->id = (int32_t)id;
    const size_t n = strlen(*content);
    if (n == 0)
        return tsri_base_fail(TSR_E_FORMAT, "%s: the content of id %lld is empty", what,
                              (long long)id);
    const int32_t known = tsri_text_vocabulary_find(&t->vocabulary, *content, n);
    if (known == id)
        return TSR_OK;
    if (known >= 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"%.60s\" has the id %lld, but the vocabulary has it as id %d",
                              what, *content, (long long)id, (int)known);
    if (id > 4 * (int64_t)(t->vocabulary.count + 1) + WIDEST_GAP)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: the id of \"%.60s\" is %lld, far above the %zu pieces of the vocabulary", what,
            *content, (long long)id, t->vocabulary.count);
    return tsri_text_vocabulary_put(&t->vocabulary, id, *content, n, false);
}

static tsr_status load_added(const json_t *json, tsri_text_tokenizer *t) {
    if (!json || json_is_null(json))
        return TSR_OK;
    if (!json_is_array(json))
        return tsri_base_fail(TSR_E_FORMAT, "\"added_tokens\" is not a list");
    if (json_array_size(json) > ADDED_LIMIT)
        return tsri_base_fail(TSR_E_FORMAT, "added_tokens: %zu of them; at most %d are read",
                              json_array_size(json), ADDED_LIMIT);
    /* Of tokens that are equal after normalization the special one is found first. */
    for (int special = 1; special >= 0; special--) {
        for (size_t i = 0; i < json_array_size(json); i++) {
            const char *content;
            tsri_text_added_token token = {0};
            TRY(read_added(json_array_get(json, i), i, t, &content, &token));
            if (token.special != (special == 1))
                continue;
            TRY(tsri_text_added_put(&t->added, &token, content, strlen(content), t->normalizer));
            if (token.special)
                TRY(tsri_text_mark_special(t, token.id));
        }
    }
    return TSR_OK;
}

/* `lists`: the long ones, where they are not in the JSON. */
static tsr_status load(const json_t *json, const tsri_text_model_file *lists,
                       tsri_text_tokenizer *t) {
    if (!json_is_object(json))
        return tsri_base_fail(TSR_E_FORMAT, "a tokenizer.json must be a JSON object");
    int64_t length = 0;
    const json_t *truncation = json_object_get(json, "truncation");
    tsri_text_model_file model = *lists;
    model.json = json_object_get(json, "model");
    if (json_is_object(truncation))
        TRY(tsri_base_json_int(truncation, "truncation", "max_length", 0, INT64_MAX, &length));
    tsri_text_set_max_length(t, length);
    TRY(load_model(&model, t));
    TRY(tsri_text_normalizer_load(json_object_get(json, "normalizer"), &t->normalizer));
    TRY(load_added(json_object_get(json, "added_tokens"), t));
    TRY(tsri_text_pre_tokenizer_load(json_object_get(json, "pre_tokenizer"), &t->pre_tokenizer));
    TRY(tsri_text_post_load(json_object_get(json, "post_processor"), &t->vocabulary, &t->post));
    return tsri_text_decoder_load(json_object_get(json, "decoder"), &t->decoder);
}

static tsr_status make(const json_t *json, const tsri_text_model_file *lists,
                       tsri_text_tokenizer **out) {
    TRY(tsri_text_tokenizer_new("tokenizer.json", out));
    const tsr_status status = load(json, lists, *out);
    if (status != TSR_OK)
        tsri_text_tokenizer_destroy(out);
    return status;
}

tsr_status tsri_text_from_json(const json_t *json, tsri_text_tokenizer **out) {
    return make(json, &(tsri_text_model_file){0}, out);
}

/* Parses a text without its long lists, which are read from the text itself. */
static tsr_status from_cut_text(const char *text, size_t n, tsri_text_tokenizer **out) {
    tsri_text_model_file lists = {0};
    tsri_bytes rest = {0};
    json_t *json = NULL;
    tsr_status status = tsri_text_cut_lists(text, n, &lists, &rest);
    if (status == TSR_OK)
        status = tsri_base_json_parse(rest.data, rest.size, DEPTH, "tokenizer.json", &json);
    if (status == TSR_OK)
        status = make(json, &lists, out);
    json_decref(json);
    tsri_base_bytes_clear(&rest);
    return status;
}

tsr_status tsri_text_from_json_text(const char *text, size_t n, const char *what,
                                    tsri_text_tokenizer **out) {
    json_t *json = NULL;
    *out = NULL;
    tsr_status status = from_cut_text(text, n, out);
    if (status == TSR_OK || status == TSR_E_HOST_MEMORY)
        return status;
    /* What is wrong is said by the parser of the whole text, which knows the line. */
    TRY(tsri_base_json_parse(text, n, DEPTH, what, &json));
    status = tsri_text_from_json(json, out);
    json_decref(json);
    return status == TSR_OK ? TSR_OK : tsri_base_fail_within(status, "%s", what);
}
