/* model/load/sentence_text.c - reads what a sentence-transformers folder says of its Transformer: how a text
 * becomes tokens. */
#include "model/load/sentence_modules.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

const char *const tsri_model_sentence_transformer_files[] = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",      NULL};

/* Loads what the folder says of its Transformer, an object under one of several names; *out is NULL if it has none. */
static tsr_status load_transformer(const char *folder, json_t **out, char **path) {
    const char *const *names = tsri_model_sentence_transformer_files;
    tsr_status status = TSR_OK;
    *out = NULL;
    *path = NULL;
    for (size_t i = 0; status == TSR_OK && !*out && names[i]; i++) {
        free(*path);
        status = tsri_model_sentence_load(folder, names[i], out, path);
    }
    return status == TSR_OK && *out && !json_is_object(*out)
               ? tsri_base_fail(TSR_E_FORMAT, "%s: an object was expected", *path)
               : status;
}

/* An object under this key; *out is NULL if there is none. */
static tsr_status object_of(const json_t *json, const char *path, const char *key, json_t **out) {
    *out = json_object_get(json, key);
    if (json_is_null(*out))
        *out = NULL;
    return !*out || json_is_object(*out)
               ? TSR_OK
               : tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" is not an object", path, key);
}

tsr_status tsri_model_sentence_task(const char *folder, char **out) {
    json_t *json = NULL;
    char *path = NULL;
    const char *name = NULL;
    *out = NULL;
    tsr_status status = load_transformer(folder, &json, &path);
    if (status == TSR_OK && json)
        status =
            tsri_base_json_text(json_object_get(json, "model_args"), path, "default_task", &name);
    if (status == TSR_OK && name && *name && !(*out = tsri_base_copy_text(name, strlen(name))))
        status = TSR_E_HOST_MEMORY;
    json_decref(json);
    free(path);
    return status;
}

/* ---- modalities ---- */

static const char modalities[] = "modality_config", message[] = "message";

static tsr_status need_word(const json_t *json, const char *path, const char *key,
                            const char *served) {
    const char *word = served;
    TRY(tsri_base_json_text(json, path, key, &word));
    return !strcmp(word, served)
               ? TSR_OK
               : tsri_base_fail(TSR_E_UNSUPPORTED,
                                "%s: \"%s\" of \"text\" in \"%s\" is \"%s\", which is not served; "
                                "\"%s\" is",
                                path, key, modalities, word, served);
}

/* sentence-transformers makes a conversation of every text where "message" is one of the modalities. */
static tsr_status check_modalities(const json_t *json, const char *path) {
    json_t *list, *text;
    TRY(object_of(json, path, modalities, &list));
    if (!list)
        return TSR_OK;
    if (json_object_get(list, message))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"%s\" has \"%s\", so sentence-transformers puts each text into "
                              "the tokenizer's chat template, which is not served; a model with "
                              "\"text\" alone is",
                              path, modalities, message);
    TRY(object_of(list, path, "text", &text));
    if (!text)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"%s\" has no \"text\", so the model reads no texts", path,
                              modalities);
    TRY(need_word(text, path, "method", "forward"));
    return need_word(text, path, "method_output_name", "last_hidden_state");
}

tsr_status tsri_model_sentence_in_template(const char *folder, bool *out) {
    json_t *json = NULL;
    char *path = NULL;
    const tsr_status status = load_transformer(folder, &json, &path);
    *out = json_object_get(json_object_get(json, modalities), message) != NULL;
    json_decref(json);
    free(path);
    return status;
}

/* ---- arguments of the tokenizer ---- */

/* Those that change no token of a text: of the tokenizer itself, and of its calls. */
static const char *const of_tokenizer[] = {"padding_side",
                                           "use_fast",
                                           "trust_remote_code",
                                           "chat_template",
                                           "clean_up_tokenization_spaces",
                                           "revision",
                                           "cache_dir",
                                           "token",
                                           "local_files_only",
                                           NULL},
                         *const of_calls[] = {"padding",
                                              "padding_side",
                                              "return_tensors",
                                              "pad_to_multiple_of",
                                              "logits_to_keep",
                                              "return_token_type_ids",
                                              NULL},
                         *const of_calls_if_usual[] = {"truncation", "add_special_tokens", NULL};

static bool is_one_of(const char *const *names, const char *name) {
    for (size_t i = 0; names[i]; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static bool is_harmless(const char *const *fine, const char *name, const json_t *value) {
    const char *word = json_string_value(value);
    const bool usual = json_is_true(value) || (word && !strcmp(word, "longest_first"));
    return json_is_null(value) || is_one_of(fine, name) ||
           (usual && is_one_of(of_calls_if_usual, name));
}

/* Reads the greatest length from the arguments under `key`, and refuses those that would change tokens. */
static tsr_status read_arguments(const json_t *json, const char *path, const char *key,
                                 const char *length, const char *const *fine,
                                 tsri_model_sentence *s) {
    json_t *list, *value;
    const char *name;
    double most = 0;
    TRY(object_of(json, path, key, &list));
    json_object_foreach(list, name, value) {
        if (strcmp(name, length) != 0 && !is_harmless(fine, name, value))
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: \"%s\" in \"%s\" may change the tokens of a text, and is "
                                  "not served; \"%s\" is",
                                  path, name, key, length);
    }
    TRY(tsri_base_json_real(list, path, length, 1, 1e300, &most));
    if (most > 0)
        s->max_tokens = most < INT32_MAX ? (int64_t)most : INT32_MAX;
    return TSR_OK;
}

/* A length among the arguments precedes max_seq_length, one of the calls precedes the tokenizer's. */
static tsr_status read_all_arguments(const json_t *json, const char *path, tsri_model_sentence *s) {
    static const char *const names[] = {"tokenizer_args", "processor_kwargs"}; /* old, new */
    const bool new = !json_object_get(json, names[0]);
    json_t *calls;
    TRY(read_arguments(json, path, names[new], "model_max_length", of_tokenizer, s));
    TRY(object_of(json, path, "processing_kwargs", &calls));
    TRY(read_arguments(calls, path, "text", "max_length", of_calls, s));
    return read_arguments(calls, path, "common", "max_length", of_calls, s);
}

/* ---- the whole ---- */

static tsr_status read_settings(const json_t *json, const char *path, tsri_model_sentence *s) {
    static const char other[] = "tokenizer_name_or_path";
    const char *name = NULL;
    TRY(tsri_base_json_int(json, path, "max_seq_length", 1, INT32_MAX, &s->max_tokens));
    TRY(tsri_base_json_bool(json, path, "do_lower_case", &s->lower_case));
    TRY(check_modalities(json, path));
    TRY(read_all_arguments(json, path, s));
    TRY(tsri_base_json_text(json, path, other, &name));
    return !name ? TSR_OK
                 : tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: \"%s\" is \"%s\", which is not served; the tokenizer in the "
                                  "model's own folder is",
                                  path, other, name);
}

tsr_status tsri_model_sentence_text(const char *folder, int64_t context, tsri_model_sentence *s) {
    json_t *json = NULL;
    char *path = NULL;
    tsr_status status = load_transformer(folder, &json, &path);
    if (status == TSR_OK && json)
        status = read_settings(json, path, s);
    if (s->max_tokens > context) /* RoBERTa's 514 positions, of which a text has 512 */
        s->max_tokens = context;
    json_decref(json);
    free(path);
    return status;
}
