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

/* How a list of added tokens is read. */
typedef struct adding {
    const char *what; /* its name, for messages */
    int64_t rows;     /* of the model; 0: not known */
    bool over;        /* beside a vocabulary: the list has the last word on ids and flags */
} adding;

/* One entry of the list. */
static tsr_status read_added(const json_t *json, size_t number, const char *what,
                             const char **content, tsri_text_added_token *token) {
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
    if (!**content)
        return tsri_base_fail(TSR_E_FORMAT, "%s: the content of id %lld is empty", what,
                              (long long)id);
    return TSR_OK;
}

/* Gives a content its id, unless the model already has it under that id. A new one behind the rows is left
 * out: its id becomes -1. */
static tsr_status give_id(tsri_text_vocabulary *vocabulary, const char *content, const adding *how,
                          int32_t *id) {
    const size_t n = strlen(content);
    const int32_t known = tsri_text_vocabulary_find(vocabulary, content, n);
    if (known == *id)
        return TSR_OK;
    if (known >= 0 && !how->over)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"%.60s\" has the id %d, but the vocabulary has it as id %d",
                              how->what, content, (int)*id, (int)known);
    if (how->rows && *id >= how->rows) {
        *id = -1;
        return TSR_OK;
    }
    if (*id > 4 * (int64_t)(vocabulary->count + 1) + WIDEST_GAP)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: the id of \"%.60s\" is %d, far above the %zu pieces of the vocabulary", how->what,
            content, (int)*id, vocabulary->count);
    return tsri_text_vocabulary_add(vocabulary, *id, content, n, how->over);
}

/* SentencePiece's normalizer would put a space before the token, so there it is found in the text as it is
 * written. What the vocabulary's file has as a special token stays one. */
static tsr_status put_added(tsri_text_added_token token, const char *content, const adding *how,
                            tsri_text_tokenizer *t) {
    const size_t n = strlen(content);
    tsri_text_added_token *old = how->over ? tsri_text_added_find(&t->added, content, n) : NULL;
    token.normalized = token.normalized && !old && !(how->over && t->types);
    token.special = token.special || (old && old->special);
    if (t->types && (size_t)token.id < t->type_count && t->vocabulary.entries[token.id].added)
        t->types[token.id] = TSRI_TEXT_USER_DEFINED; /* it was a piece of any type */
    if (token.special)
        TRY(tsri_text_mark_special(t, token.id));
    if (!old)
        return tsri_text_added_put(&t->added, &token, content, n, t->normalizer);
    *old = token;
    return TSR_OK;
}

static tsr_status load_added(const json_t *json, const adding *how, tsri_text_tokenizer *t) {
    if (!json || json_is_null(json))
        return TSR_OK;
    if (!json_is_array(json))
        return tsri_base_fail(TSR_E_FORMAT, "\"%s\" is not a list", how->what);
    if (json_array_size(json) > ADDED_LIMIT)
        return tsri_base_fail(TSR_E_FORMAT, "%s: %zu of them; at most %d are read", how->what,
                              json_array_size(json), ADDED_LIMIT);
    /* Of tokens that are equal after normalization the special one is found first. */
    for (int special = 1; special >= 0; special--) {
        for (size_t i = 0; i < json_array_size(json); i++) {
            const char *content;
            tsri_text_added_token token = {0};
            TRY(read_added(json_array_get(json, i), i, how->what, &content, &token));
            TRY(give_id(&t->vocabulary, content, how, &token.id));
            if (token.id >= 0 && token.special == (special == 1))
                TRY(put_added(token, content, how, t));
        }
    }
    return TSR_OK;
}

tsr_status tsri_text_add_tokens(const json_t *list, const char *what, int64_t rows,
                                tsri_text_tokenizer *tokenizer) {
    return load_added(list, &(adding){what, rows, true}, tokenizer);
}

/* What is known beside a file. */
typedef struct beside {
    int64_t rows;
    const json_t *steps;
} beside;

/* A step with the members that `steps` has for its type; the caller releases it. */
static tsr_status stated(json_t *step, const json_t *steps, json_t **out) {
    const char *type = json_string_value(json_object_get(step, "type"));
    json_t *members = type ? json_object_get(steps, type) : NULL;
    *out = members ? json_copy(step) : json_incref(step);
    if (members && (!*out || json_object_update(*out, members)))
        return tsri_base_fail(TSR_E_HOST_MEMORY, "no memory for a step of a tokenizer");
    return TSR_OK;
}

static tsr_status load_steps(const json_t *json, const beside *beside, const adding *how,
                             tsri_text_tokenizer *t) {
    json_t *normalizer = NULL, *words = NULL;
    tsr_status status = stated(json_object_get(json, "normalizer"), beside->steps, &normalizer);
    if (status == TSR_OK)
        status = tsri_text_normalizer_load(normalizer, &t->normalizer);
    if (status == TSR_OK)
        status = load_added(json_object_get(json, how->what), how, t);
    if (status == TSR_OK)
        status = stated(json_object_get(json, "pre_tokenizer"), beside->steps, &words);
    if (status == TSR_OK)
        status = tsri_text_pre_tokenizer_load(words, &t->pre_tokenizer);
    json_decref(normalizer);
    json_decref(words);
    return status;
}

/* `lists`: the long ones, where they are not in the JSON. */
static tsr_status load(const json_t *json, const tsri_text_model_file *lists, const beside *beside,
                       tsri_text_tokenizer *t) {
    if (!json_is_object(json))
        return tsri_base_fail(TSR_E_FORMAT, "a tokenizer.json must be a JSON object");
    const adding how = {"added_tokens", beside->rows, false};
    int64_t length = 0;
    const json_t *truncation = json_object_get(json, "truncation");
    tsri_text_model_file model = *lists;
    model.json = json_object_get(json, "model");
    if (json_is_object(truncation))
        TRY(tsri_base_json_int(truncation, "truncation", "max_length", 0, INT64_MAX, &length));
    tsri_text_set_max_length(t, length);
    TRY(load_model(&model, t));
    TRY(load_steps(json, beside, &how, t));
    TRY(tsri_text_post_load(json_object_get(json, "post_processor"), &t->vocabulary, &t->post));
    return tsri_text_decoder_load(json_object_get(json, "decoder"), &t->decoder);
}

static tsr_status make(const json_t *json, const tsri_text_model_file *lists, const beside *beside,
                       tsri_text_tokenizer **out) {
    TRY(tsri_text_tokenizer_new("tokenizer.json", out));
    const tsr_status status = load(json, lists, beside, *out);
    if (status != TSR_OK)
        tsri_text_tokenizer_destroy(out);
    return status;
}

tsr_status tsri_text_from_json(const json_t *json, tsri_text_tokenizer **out) {
    return make(json, &(tsri_text_model_file){0}, &(beside){0}, out);
}

/* Parses a text without its long lists, which are read from the text itself. */
static tsr_status from_cut_text(const char *text, size_t n, const beside *beside,
                                tsri_text_tokenizer **out) {
    tsri_text_model_file lists = {0};
    tsri_bytes rest = {0};
    json_t *json = NULL;
    tsr_status status = tsri_text_cut_lists(text, n, &lists, &rest);
    if (status == TSR_OK)
        status = tsri_base_json_parse(rest.data, rest.size, DEPTH, "tokenizer.json", &json);
    if (status == TSR_OK)
        status = make(json, &lists, beside, out);
    json_decref(json);
    tsri_base_bytes_clear(&rest);
    return status;
}

tsr_status tsri_text_from_json_text(const char *text, size_t n, const char *what,
                                    tsri_text_tokenizer **out) {
    return tsri_text_from_json_for(text, n, what, 0, NULL, out);
}

tsr_status tsri_text_from_json_for(const char *text, size_t n, const char *what, int64_t rows,
                                   const json_t *steps, tsri_text_tokenizer **out) {
    const beside beside = {rows, steps};
    json_t *json = NULL;
    *out = NULL;
    tsr_status status = from_cut_text(text, n, &beside, out);
    if (status == TSR_OK || status == TSR_E_HOST_MEMORY)
        return status;
    /* What is wrong is said by the parser of the whole text, which knows the line. */
    TRY(tsri_base_json_parse(text, n, DEPTH, what, &json));
    status = make(json, &(tsri_text_model_file){0}, &beside, out);
    json_decref(json);
    return status == TSR_OK ? TSR_OK : tsri_base_fail_within(status, "%s", what);
}
