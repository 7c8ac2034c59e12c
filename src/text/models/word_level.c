/* text/models/word_level.c - a word is one piece or unknown. The reader of a "vocab" object, which
 * every model uses, is here too. */
#include "base/error.h"
#include "base/memory.h"
#include "text/models/model.h"

#include <stdlib.h>
#include <string.h>

enum { WIDEST_GAP = 65536 };

typedef struct word_level {
    int32_t unknown;
} word_level;

tsr_status tsri_text_model_vocabulary(const json_t *json, const char *what,
                                      tsri_text_vocabulary *vocabulary) {
    json_t *vocab = json_object_get(json, "vocab");
    if (!json_is_object(vocab))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"vocab\" is not an object of pieces and ids",
                              what);
    /* Ids far above the number of pieces would let a few bytes of file claim much memory. */
    const int64_t most = 4 * (int64_t)json_object_size(vocab) + WIDEST_GAP;
    const char *piece;
    json_t *id;
    json_object_foreach(vocab, piece, id) {
        if (!json_is_integer(id))
            return tsri_base_fail(TSR_E_FORMAT, "%s: the id of \"%.60s\" is not a whole number",
                                  what, piece);
        if (json_integer_value(id) >= most)
            return tsri_base_fail(
                TSR_E_FORMAT, "%s: the id of \"%.60s\" is %lld, far above the %zu pieces there are",
                what, piece, (long long)json_integer_value(id), json_object_size(vocab));
        TRY(tsri_text_vocabulary_put(vocabulary, json_integer_value(id), piece, strlen(piece),
                                     false));
    }
    return TSR_OK;
}

tsr_status tsri_text_word_level_new(int32_t unknown, void **model) {
    word_level *m = NULL;
    TRY(tsri_base_new(1, sizeof *m, &m));
    m->unknown = unknown;
    *model = m;
    return TSR_OK;
}

static tsr_status load(const json_t *json, tsri_text_vocabulary *vocabulary, int32_t *unknown,
                       void **model) {
    static const char what[] = "model WordLevel";
    const char *unk = NULL;
    TRY(tsri_text_model_vocabulary(json, what, vocabulary));
    TRY(tsri_base_json_text(json, what, "unk_token", &unk));
    const int32_t id = unk ? tsri_text_vocabulary_find(vocabulary, unk, strlen(unk)) : -1;
    if (id >= 0)
        *unknown = id;
    return tsri_text_word_level_new(id, model);
}

static tsr_status encode(const void *model, const tsri_text_vocabulary *vocabulary,
                         tsri_text_work *work, const char *word, size_t n, tsri_text_ids *ids) {
    int32_t id = tsri_text_vocabulary_find(vocabulary, word, n);
    if (id < 0)
        id = ((const word_level *)model)->unknown;
    if (id < 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "model WordLevel: \"%.*s\" is not in the vocabulary, and the "
                              "vocabulary has no unknown token",
                              (int)(n < 60 ? n : 60), word);
    return tsri_text_emit(work, ids, id, 0, n);
}

static tsr_status describe(const void *model, tsri_bytes *out) {
    return tsri_base_bytes_printf(
        out, "%s", ((const word_level *)model)->unknown < 0 ? "no unknown token" : "unknown token");
}

const tsri_text_model_row tsri_text_word_level = {"WordLevel", load, encode, describe, free, false};
