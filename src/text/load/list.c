/* text/load/list.c - a vocabulary that is a list of pieces, and the tokenizer that cuts texts into
 * them. */
#include "base/error.h"
#include "base/memory.h"
#include "text/base/unicode.h"
#include "text/load/load.h"
#include "text/tokenizer/parts.h"

#include <stdlib.h>

/* Makes the token, if it has a piece, one that is found in a text on request. */
static tsr_status put_special(const tsri_text_added_token *token, bool left_out,
                              tsri_text_tokenizer *t) {
    size_t n;
    const char *piece = tsri_text_vocabulary_piece(&t->vocabulary, token->id, &n);
    if (!piece)
        return TSR_OK;
    TRY(tsri_text_added_put(&t->added, token, piece, n, NULL));
    return left_out ? tsri_text_mark_special(t, token->id) : TSR_OK;
}

static tsr_status read_pieces(const tsri_text_listed *listed, tsri_text_tokenizer *t) {
    if (listed->count == 0 || listed->count > TSRI_TEXT_IDS_LIMIT)
        return tsri_base_fail(TSR_E_FORMAT, "vocabulary: %zu pieces; 1 to %d are read",
                              listed->count, TSRI_TEXT_IDS_LIMIT);
    /* Backwards, because of equal pieces the last one that is put is found. */
    for (size_t i = listed->count; i-- > 0;)
        if (listed->pieces[i].size && listed->pieces[i].size <= TSRI_TEXT_PIECE_LIMIT &&
            tsri_text_utf8_valid(listed->pieces[i].text, listed->pieces[i].size))
            TRY(tsri_text_vocabulary_put(&t->vocabulary, (int64_t)i, listed->pieces[i].text,
                                         listed->pieces[i].size, true));
    for (size_t i = 0; i < listed->special_count; i++) {
        const tsri_text_added_token token = {.id = listed->specials[i],
                                             .special = true,
                                             .lstrip = listed->specials[i] == listed->mask};
        TRY(put_special(&token, true, t));
    }
    /* Decoded text has the unknown token, unless it is one of those. */
    const tsri_text_added_token unknown = {.id = listed->unknown, .special = true};
    if (!tsri_text_is_special(t, unknown.id))
        TRY(put_special(&unknown, false, t));
    t->roles[TSRI_TEXT_UNK] = listed->unknown;
    return TSR_OK;
}

/* The types of pieces are those that the segmenter has; decoding needs them. */
static tsr_status read_types(const tsri_text_tokenizer *segmenter, tsri_text_tokenizer *t) {
    TRY(tsri_base_new(t->vocabulary.count, sizeof *t->types, &t->types));
    t->type_count = t->vocabulary.count;
    for (size_t i = 0; i < t->type_count; i++) {
        size_t n;
        const char *piece = tsri_text_vocabulary_piece(&t->vocabulary, (int64_t)i, &n);
        const int32_t id = piece ? tsri_text_vocabulary_find(&segmenter->vocabulary, piece, n) : -1;
        t->types[i] = tsri_text_is_special(t, (int32_t)i)             ? TSRI_TEXT_CONTROL
                      : id >= 0 && (size_t)id < segmenter->type_count ? segmenter->types[id]
                                                                      : (uint8_t)TSRI_TEXT_NORMAL;
    }
    return TSR_OK;
}

/* If hardly any piece of one file is in the other, the files belong to two models. */
static tsr_status check_match(const tsri_text_tokenizer *segmenter, const tsri_text_tokenizer *t) {
    size_t known = 0, all = 0;
    for (size_t i = 0; i < segmenter->type_count; i++) {
        size_t n;
        const char *piece = tsri_text_vocabulary_piece(&segmenter->vocabulary, (int64_t)i, &n);
        if (!piece || segmenter->types[i] != TSRI_TEXT_NORMAL)
            continue;
        all++;
        known += tsri_text_vocabulary_find(&t->vocabulary, piece, n) >= 0;
    }
    if (4 * known >= all)
        return TSR_OK;
    return tsri_base_fail(TSR_E_FORMAT,
                          "only %zu of the SentencePiece model's %zu pieces have an id in the "
                          "vocabulary; the two files must belong to the same model",
                          known, all);
}

static tsr_status cut_by_segmenter(const tsri_text_listed *listed, tsri_text_tokenizer *t) {
    tsri_text_tokenizer *segmenter = *listed->segmenter;
    if (!segmenter->types || !segmenter->row || segmenter->pre_tokenizer)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "a separate vocabulary beside a %s tokenizer is not supported; "
                              "beside a SentencePiece model it is",
                              segmenter->source);
    TRY(check_match(segmenter, t));
    TRY(read_types(segmenter, t));
    const tsri_text_segmenter cuts = {segmenter->row, segmenter->model, &segmenter->vocabulary,
                                      segmenter->roles[TSRI_TEXT_UNK]};
    TRY(tsri_text_two_vocabularies_new(&cuts, &t->vocabulary, listed->unknown, &t->model));
    t->row = &tsri_text_two_vocabularies;
    t->cutter = segmenter; /* this tokenizer goes on using its model and symbols */
    *listed->segmenter = NULL;
    t->raw = segmenter->raw;
    t->normalizer = segmenter->normalizer;
    segmenter->normalizer = NULL;
    t->decoder = segmenter->decoder;
    segmenter->decoder = NULL;
    return TSR_OK;
}

static tsr_status cut_at_spaces(const tsri_text_listed *listed, tsri_text_tokenizer *t) {
    t->row = &tsri_text_word_level;
    TRY(tsri_text_word_level_new(listed->unknown, &t->model));
    TRY(tsri_text_pre_tokenizer_spaces(&t->pre_tokenizer));
    return tsri_text_decoder_load(NULL, &t->decoder);
}

tsr_status tsri_text_from_list(const tsri_text_listed *listed, tsri_text_tokenizer **out) {
    TRY(tsri_text_tokenizer_new(listed->source, out));
    tsr_status status = read_pieces(listed, *out);
    if (status == TSR_OK)
        status = listed->segmenter && *listed->segmenter ? cut_by_segmenter(listed, *out)
                                                         : cut_at_spaces(listed, *out);
    if (status != TSR_OK)
        tsri_text_tokenizer_destroy(out);
    return status;
}
