/* model/tokens/added.c - the tokens that were added to a vocabulary whose own file has no list of them:
 * added_tokens_decoder of tokenizer_config.json or, before there was that, added_tokens.json. */
#include "model/tokens/families.h"

#include "base/error.h"
#include "base/files.h"
#include "text/load/load.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 30, DEPTH = 64 };

static const char decoder_key[] = "added_tokens_decoder", names_file[] = "added_tokens.json";

/* {"163584": {"content": "[BOS]"}} becomes [{"id": 163584, "content": "[BOS]"}]. */
tsr_status tsri_model_added_decoder(const tsri_model_place *place, json_t **out) {
    json_t *decoder = json_object_get(place->config, decoder_key), *entry;
    const char *key;
    *out = json_array();
    if (decoder && !json_is_object(decoder) && !json_is_null(decoder))
        return tsri_base_fail(TSR_E_FORMAT, "%s: %s: an object of ids and tokens was expected",
                              place->config_path, decoder_key);
    json_object_foreach(decoder, key, entry) {
        char *end;
        const long long id = strtoll(key, &end, 10);
        const char *content = json_string_value(json_object_get(entry, "content"));
        if (*end || id < 0 || !content || !*content)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: %s: \"%.40s\" is not the id of a token with a \"content\"",
                                  place->config_path, decoder_key, key);
        json_t *copy = json_copy(entry);
        tsri_base_json_put(copy, "id", json_integer(id));
        tsri_base_json_append(*out, copy);
    }
    return tsri_base_json_made(*out, decoder_key);
}

tsr_status tsri_model_load_if(const tsri_model_place *place, const char *name, json_t **out) {
    char *path = tsri_base_join(place->folder, name);
    const tsr_status status = !path ? TSR_E_HOST_MEMORY
                              : tsri_base_is_file(path)
                                  ? tsri_base_json_load(path, MOST, DEPTH, out)
                                  : TSR_OK;
    free(path);
    return status;
}

/* Whether a value names a token: "<s>", {"content": "<s>"}, or a list of these. */
static bool is_token(const json_t *value, const char *content) {
    const char *text =
        json_string_value(json_is_object(value) ? json_object_get(value, "content") : value);
    bool found = text && !strcmp(text, content);
    for (size_t i = 0; i < json_array_size(value) && !found; i++)
        found =
            !json_is_array(json_array_get(value, i)) && is_token(json_array_get(value, i), content);
    return found;
}

/* Whether a config has the token as its bos_token, pad_token, ... or among its additional_special_tokens. */
static bool is_special(const json_t *config, const char *content) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)config, key, value) {
        const size_t n = strlen(key);
        if (((n > 6 && !strcmp(key + n - 6, "_token")) ||
             !strcmp(key, "additional_special_tokens")) &&
            is_token(value, content))
            return true;
    }
    return false;
}

/* {"<tool>": 32000} becomes [{"content": "<tool>", "id": 32000, "special": ...}]. */
static tsr_status read_names(const tsri_model_place *place, json_t **out) {
    json_t *names = NULL, *specials = NULL, *id;
    const char *content;
    *out = NULL;
    TRY(tsri_model_load_if(place, names_file, &names));
    tsr_status status =
        names ? tsri_model_load_if(place, "special_tokens_map.json", &specials) : TSR_OK;
    if (status == TSR_OK && names && !json_is_object(names))
        status = tsri_base_fail(TSR_E_FORMAT, "%s/%s: an object of tokens and ids was expected",
                                place->folder, names_file);
    *out = json_array();
    json_object_foreach(names, content, id) {
        const bool special = is_special(place->config, content) || is_special(specials, content);
        tsri_base_json_append(
            *out, json_pack("{s:s, s:O, s:b}", "content", content, "id", id, "special", special));
    }
    json_decref(names);
    json_decref(specials);
    return status == TSR_OK ? tsri_base_json_made(*out, names_file) : status;
}

tsr_status tsri_model_add_tokens(const tsri_model_place *place, tsri_text_tokenizer *tokenizer) {
    const char *what = decoder_key;
    json_t *list = NULL;
    tsr_status status = tsri_model_added_decoder(place, &list);
    if (status == TSR_OK && !json_array_size(list)) {
        json_decref(list);
        what = names_file;
        status = read_names(place, &list);
    }
    if (status == TSR_OK &&
        (status = tsri_text_add_tokens(list, what, place->spec->vocab, tokenizer)) != TSR_OK)
        tsri_base_fail_within(status, "%s", place->folder);
    json_decref(list);
    return status;
}
