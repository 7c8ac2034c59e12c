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

/* The names are those of the list. */
static tsr_status names_of(const json_t *list, tsri_text_named_id **out, size_t *n) {
    *n = json_array_size(list);
    TRY(tsri_base_new(*n, sizeof **out, out));
    for (size_t i = 0; i < *n; i++) {
        const json_t *entry = json_array_get(list, i);
        (*out)[i] = (tsri_text_named_id){json_integer_value(json_object_get(entry, "id")),
                                         json_string_value(json_object_get(entry, "content"))};
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
    json_t *list = NULL;
    tsri_text_tiktoken options = {
        .model_type = json_string_value(json_object_get(place->model_config, "model_type")),
        .file = name_of(path)};
    tsr_status status = tsri_model_added_decoder(place, &list);
    if (status == TSR_OK)
        status = names_of(list, &names, &options.special_count);
    options.specials = names;
    if (status == TSR_OK)
        status = tsri_text_from_tiktoken(bytes->data, bytes->size, &options, out);
    free(names);
    json_decref(list);
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
