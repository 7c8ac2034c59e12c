/* model/tokens/ranks.c - reads tekken.json and files of tiktoken, with the special tokens that
 * tokenizer_config.json gives. */
#include "model/tokens/families.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "text/load/load.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 30 };

/* "added_tokens_decoder": {"163584": {"content": "[BOS]"}, ...} */
static tsr_status read_names(const tsri_model_place *place, tsri_text_named_id **out, size_t *n) {
    const json_t *names = json_object_get(place->config, "added_tokens_decoder");
    const char *key;
    json_t *entry;
    *n = 0;
    TRY(tsri_base_new(json_object_size(names), sizeof **out, out));
    json_object_foreach((json_t *)(uintptr_t)names, key, entry) {
        char *end;
        const long long id = strtoll(key, &end, 10);
        const char *content = NULL;
        TRY(tsri_base_json_text(entry, "added_tokens_decoder", "content", &content));
        if (*end || id < 0 || !content || !*content)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: added_tokens_decoder: \"%.40s\" is not the id of a token "
                                  "with a \"content\"",
                                  place->config_path, key);
        (*out)[(*n)++] = (tsri_text_named_id){id, content};
    }
    return TSR_OK;
}

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static tsr_status read_tiktoken(const tsri_model_place *place, const char *path,
                                const tsri_bytes *bytes, tsri_text_tokenizer **out) {
    tsri_text_named_id *names = NULL;
    tsri_text_tiktoken options = {
        .model_type = json_string_value(json_object_get(place->model_config, "model_type")),
        .file = name_of(path)};
    tsr_status status = read_names(place, &names, &options.special_count);
    options.specials = names;
    if (status == TSR_OK)
        status = tsri_text_from_tiktoken(bytes->data, bytes->size, &options, out);
    free(names);
    return status;
}

tsr_status tsri_model_read_ranks(const tsri_model_place *place, const char *path,
                                 tsri_text_tokenizer **out) {
    tsri_bytes bytes = {0};
    *out = NULL;
    TRY(tsri_base_read_whole(path, MOST, &bytes));
    tsr_status status = TSR_OK;
    if (tsri_text_is_tiktoken(bytes.data, bytes.size))
        status = read_tiktoken(place, path, &bytes, out);
    else if (!strcmp(name_of(path), "tekken.json") || tsri_text_is_tekken(bytes.data, bytes.size))
        status = tsri_text_from_tekken(bytes.data, bytes.size, out);
    tsri_base_bytes_clear(&bytes);
    return status == TSR_OK ? TSR_OK : tsri_base_fail_within(status, "%s", path);
}
