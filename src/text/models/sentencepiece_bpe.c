/* text/models/sentencepiece_bpe.c - SentencePiece's BPE: neighbours merge when their concatenation
 * is a piece, the best score first.
 * source  Kudo, Richardson 2018, arXiv:1808.06226 */
#include "base/error.h"
#include "base/memory.h"
#include "text/base/unicode.h"
#include "text/models/model.h"

#include <stdlib.h>
#include <string.h>

typedef struct sentencepiece {
    const tsri_text_vocabulary *vocabulary;
    float *scores;
    uint8_t *types;
    size_t count;
    int32_t unknown, bytes[256];
    bool has_bytes, has_unused;
    const tsri_text_matcher *whole;
} sentencepiece;

static void destroy(void *model) {
    sentencepiece *m = model;
    free(m->scores);
    free(m->types);
    free(m);
}

tsr_status tsri_text_sentencepiece_new(const tsri_text_sentencepiece *options,
                                       const tsri_text_vocabulary *vocabulary, void **model) {
    sentencepiece *m = NULL;
    TRY(tsri_base_new(1, sizeof *m, &m));
    m->vocabulary = vocabulary;
    m->count = options->count;
    m->unknown = options->unknown;
    m->whole = options->whole;
    tsr_status status = tsri_base_new(m->count, sizeof *m->scores, &m->scores);
    if (status == TSR_OK)
        status = tsri_base_new(m->count, sizeof *m->types, &m->types);
    if (status != TSR_OK) {
        destroy(m);
        return status;
    }
    for (size_t i = 0; i < m->count; i++) {
        m->scores[i] = options->scores[i];
        m->types[i] = options->types[i];
        m->has_unused |= m->types[i] == TSRI_TEXT_UNUSED;
    }
    tsri_text_vocabulary_byte_ids(vocabulary, m->bytes);
    m->has_bytes = true;
    for (size_t b = 0; b < 256; b++) /* the fallback needs all of them, as in SentencePiece */
        m->has_bytes = m->has_bytes && m->bytes[b] >= 0 && m->types[m->bytes[b]] == TSRI_TEXT_BYTE;
    *model = m;
    return TSR_OK;
}

/* A piece that text can become: not a control symbol, a byte or the unknown piece. */
static int32_t text_piece(const sentencepiece *m, const char *text, size_t n) {
    const int32_t id = tsri_text_vocabulary_find_own(m->vocabulary, text, n);
    if (id < 0)
        return -1;
    const uint8_t type = m->types[id];
    return type == TSRI_TEXT_NORMAL || type == TSRI_TEXT_USER_DEFINED || type == TSRI_TEXT_UNUSED
               ? id
               : -1;
}

/* Higher scores get lower numbers: the bits of an IEEE number, mirrored if negative, sort as
 * integers. */
static uint32_t order_of(float score) {
    const float descending = 0.0f - score; /* never -0, which would sort before 0 */
    uint32_t bits;
    memcpy(&bits, &descending, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static bool joined(const void *model, tsri_text_work *work, const tsri_text_symbol *left,
                   const tsri_text_symbol *right, uint32_t *order, int32_t *id) {
    const sentencepiece *m = model;
    *id = text_piece(m, work->word + left->start, (size_t)left->size + right->size);
    if (*id < 0)
        return false;
    *order = order_of(m->scores[*id]);
    if (m->types[*id] == TSRI_TEXT_UNUSED)
        work->cuts[*id] = left->size;
    return true;
}

/* Writes the ids of the remaining symbols; consecutive unknown symbols become one unknown token. */
typedef struct writer {
    const sentencepiece *model;
    tsri_text_work *work;
    tsri_text_ids *ids;
    bool after_unknown;
} writer;

static tsr_status write_unknown(writer *w, size_t start, size_t end) {
    const sentencepiece *m = w->model;
    tsri_text_ranges *places = w->work->places;
    for (size_t i = start; m->has_bytes && i < end; i++)
        TRY(tsri_text_emit(w->work, w->ids, m->bytes[(unsigned char)w->work->word[i]], i, i + 1));
    if (!m->has_bytes && !w->after_unknown && m->unknown >= 0)
        TRY(tsri_text_emit(w->work, w->ids, m->unknown, start, end));
    else if (!m->has_bytes && m->unknown >= 0 && places && places->count)
        places->items[places->count - 1].end = end;
    w->after_unknown = true;
    return TSR_OK;
}

/* An unused piece gives its two parts instead. Each recursive call has a shorter text, so the depth
 * is at most TSRI_TEXT_PIECE_LIMIT. */
static tsr_status write_piece(writer *w, size_t start, size_t end) {
    const sentencepiece *m = w->model;
    const int32_t id = text_piece(m, w->work->word + start, end - start);
    if (id < 0)
        return write_unknown(w, start, end);
    const uint32_t cut = m->types[id] == TSRI_TEXT_UNUSED ? w->work->cuts[id] : 0;
    if (cut > 0 && cut < end - start) {
        TRY(write_piece(w, start, start + cut));
        return write_piece(w, start + cut, end);
    }
    w->after_unknown = false;
    return tsri_text_emit(w->work, w->ids, id, start, end);
}

static tsr_status encode(const void *model, const tsri_text_vocabulary *vocabulary,
                         tsri_text_work *work, const char *word, size_t n, tsri_text_ids *ids) {
    (void)vocabulary;
    const sentencepiece *m = model;
    if (m->has_unused) {
        TRY(tsri_base_grow(&work->cuts, &work->cut_count, m->count, sizeof *work->cuts));
        memset(work->cuts, 0, m->count * sizeof *work->cuts);
    }
    work->word = word;
    work->count = 0;
    for (size_t at = 0; at < n;) {
        int32_t c, symbol;
        const size_t frozen = tsri_text_matcher_longest(m->whole, word + at, n - at, &symbol);
        const size_t size = frozen ? frozen : tsri_text_utf8_next(word + at, n - at, &c);
        TRY(tsri_text_symbol_add(work, at, size, 0, frozen != 0));
        at += size;
    }
    TRY(tsri_text_merge(work, joined, m));
    writer w = {m, work, ids, false};
    for (size_t i = 0; i < work->count; i++) {
        const tsri_text_symbol *symbol = &work->symbols[i];
        if (symbol->size)
            TRY(write_piece(&w, symbol->start, (size_t)symbol->start + symbol->size));
    }
    return TSR_OK;
}

static tsr_status describe(const void *model, tsri_bytes *out) {
    return tsri_base_bytes_printf(
        out, "scores%s", ((const sentencepiece *)model)->has_bytes ? ", byte fallback" : "");
}

const tsri_text_model_row tsri_text_sentencepiece_bpe = {
    "SentencePiece BPE", NULL, encode, describe, destroy, .merges = true};
