/* text/models/word_piece.c - WordPiece: a word is cut into the longest pieces from its left; a word
 * that can't be cut so is unknown as a whole.
 * source  Schuster, Nakajima 2012; Song et al. 2021, arXiv:2012.15524 */
#include "base/error.h"
#include "base/memory.h"
#include "text/base/unicode.h"
#include "text/models/model.h"

#include <stdlib.h>
#include <string.h>

typedef struct word_piece {
    tsri_text_matcher pieces;
    uint32_t first, inner; /* the nodes where the search for a word's first piece, and for its
                              others, starts */
    int32_t unknown;
    int64_t longest_word; /* in characters */
} word_piece;

static void destroy(void *model) {
    word_piece *m = model;
    tsri_text_matcher_clear(&m->pieces);
    free(m);
}

/* The node at the end of a prefix; false where no piece begins with the prefix. */
static bool node_of(const tsri_text_matcher *m, const char *prefix, uint32_t *node) {
    *node = TSRI_TEXT_ROOT;
    for (const char *p = prefix; p && *p; p++) {
        *node = tsri_text_matcher_step(m, *node, (unsigned char)*p);
        if (*node == 0)
            return false;
    }
    return true;
}

tsr_status tsri_text_word_piece_new(const tsri_text_word_piece_options *options,
                                    const tsri_text_vocabulary *vocabulary, void **model) {
    word_piece *m = NULL;
    TRY(tsri_base_new(1, sizeof *m, &m));
    m->unknown = options->unknown;
    m->longest_word = options->longest_word;
    tsr_status status = TSR_OK;
    for (size_t id = 0; id < vocabulary->count && status == TSR_OK; id++) {
        size_t n;
        const char *piece = tsri_text_vocabulary_piece(vocabulary, (int64_t)id, &n);
        if (piece) /* of two ids with the same piece, the one that the vocabulary finds */
            status = tsri_text_matcher_add(&m->pieces, piece, n,
                                           tsri_text_vocabulary_find(vocabulary, piece, n));
    }
    /* A prefix that no piece begins with gets a node without children. */
    const char *const prefixes[] = {options->first_prefix, options->inner_prefix};
    uint32_t *const nodes[] = {&m->first, &m->inner};
    for (int i = 0; i < 2 && status == TSR_OK; i++) {
        if (node_of(&m->pieces, prefixes[i], nodes[i]))
            continue;
        status = tsri_text_matcher_add(&m->pieces, prefixes[i], strlen(prefixes[i]), -1);
        node_of(&m->pieces, prefixes[i], nodes[i]);
    }
    if (status != TSR_OK)
        destroy(m);
    else
        *model = m;
    return status;
}

static tsr_status load(const tsri_text_model_file *file, tsri_text_vocabulary *vocabulary,
                       int32_t *unknown, void **model) {
    const json_t *json = file->json;
    static const char what[] = "model WordPiece";
    const char *unk = "[UNK]", *prefix = "##";
    tsri_text_word_piece_options options = {.longest_word = 100};
    TRY(tsri_text_model_vocabulary(file, what, vocabulary));
    TRY(tsri_base_json_text(json, what, "unk_token", &unk));
    TRY(tsri_base_json_text(json, what, "continuing_subword_prefix", &prefix));
    TRY(tsri_base_json_int(json, what, "max_input_chars_per_word", 0, INT64_MAX,
                           &options.longest_word));
    options.inner_prefix = prefix;
    options.unknown = tsri_text_vocabulary_find(vocabulary, unk, strlen(unk));
    if (options.unknown >= 0)
        *unknown = options.unknown;
    return tsri_text_word_piece_new(&options, vocabulary, model);
}

static int64_t characters(const char *text, size_t n) {
    int64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

static tsr_status encode(const void *model, const tsri_text_vocabulary *vocabulary,
                         tsri_text_work *work, const char *word, size_t n, tsri_text_ids *ids) {
    (void)vocabulary;
    const word_piece *m = model;
    const size_t before = ids->count, places = work->places ? work->places->count : 0;
    const bool whole = (int64_t)n > m->longest_word && characters(word, n) > m->longest_word;
    size_t at = 0;
    while (!whole && at < n) {
        int32_t id = -1;
        const size_t size = tsri_text_matcher_longest_from(&m->pieces, at ? m->inner : m->first,
                                                           word + at, n - at, &id);
        if (size == 0)
            break;
        TRY(tsri_text_emit(work, ids, id, at, at + size));
        at += size;
    }
    if (at == n)
        return TSR_OK;
    ids->count = before;
    if (work->places)
        work->places->count = places;
    if (m->unknown < 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "model WordPiece: \"%.*s\" has no pieces in the vocabulary, and the "
                              "vocabulary has no unknown token",
                              (int)(n < 60 ? n : 60), word);
    return tsri_text_emit(work, ids, m->unknown, 0, n);
}

static tsr_status describe(const void *model, tsri_bytes *out) {
    return tsri_base_bytes_printf(out, "words of up to %lld characters",
                                  (long long)((const word_piece *)model)->longest_word);
}

const tsri_text_model_row tsri_text_word_piece = {"WordPiece", load,    encode,
                                                  describe,    destroy, false};
