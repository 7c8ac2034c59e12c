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

typedef struct pieces {
    const char *what;
    tsri_text_vocabulary *vocabulary;
    size_t count;
} pieces;

static tsr_status put_piece(void *data, size_t number, const tsri_text_item *item) {
    const pieces *p = data;
    const int shown = (int)(item->size[0] < 60 ? item->size[0] : 60);
    (void)number;
    if (!item->whole)
        return tsri_base_fail(TSR_E_FORMAT, "%s: the id of \"%.*s\" is not a whole number", p->what,
                              shown, item->text[0]);
    /* Ids far above the number of pieces would let a few bytes of file claim much memory. */
    if (item->integer >= 4 * (int64_t)p->count + WIDEST_GAP)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: the id of \"%.*s\" is %lld, far above the %zu pieces there are",
                              p->what, shown, item->text[0], (long long)item->integer, p->count);
    return item->size[0] ? tsri_text_vocabulary_put(p->vocabulary, item->integer, item->text[0],
                                                    item->size[0], false)
                         : tsri_text_vocabulary_skip(p->vocabulary, item->integer);
}

tsr_status tsri_text_model_vocabulary(const tsri_text_model_file *file, const char *what,
                                      tsri_text_vocabulary *vocabulary) {
    pieces p = {what, vocabulary, tsri_text_count_entries(file, "vocab")};
    if (!json_is_object(json_object_get(file->json, "vocab")))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"vocab\" is not an object of pieces and ids",
                              what);
    TRY(tsri_text_vocabulary_reserve(vocabulary, p.count));
    return tsri_text_each_entry(file, "vocab", put_piece, &p);
}

tsr_status tsri_text_word_level_new(int32_t unknown, void **model) {
    word_level *m = NULL;
    TRY(tsri_base_new(1, sizeof *m, &m));
    m->unknown = unknown;
    *model = m;
    return TSR_OK;
}

static tsr_status load(const tsri_text_model_file *file, tsri_text_vocabulary *vocabulary,
                       int32_t *unknown, void **model) {
    const json_t *json = file->json;
    static const char what[] = "model WordLevel";
    const char *unk = NULL;
    TRY(tsri_text_model_vocabulary(file, what, vocabulary));
    TRY(tsri_base_json_text(json, what, "unk_token", &unk));
    const int32_t id = unk ? tsri_text_vocabulary_find(vocabulary, unk, strlen(unk)) : -1;
    if (id >= 0)
        *unknown = id;
    return tsri_text_word_level_new(id, model);
}

static tsr_status encode(const void *model, const tsri_text_vocabulary *vocabulary,
                         tsri_text_work *work, const char *word, size_t n, tsri_text_ids *ids) {
    int32_t id = tsri_text_vocabulary_find_own(vocabulary, word, n);
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
