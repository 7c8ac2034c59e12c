/* text/load/pieces.c - fills a tokenizer from pieces that have scores and types. */
#include "text/load/pieces.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static tsr_status add_piece(const tsri_text_scored *piece, int32_t id,
                            const tsri_text_scored_rules *rules, tsri_text_tokenizer *t) {
    if (piece->type < TSRI_TEXT_NORMAL || piece->type > TSRI_TEXT_BYTE)
        return tsri_base_fail(TSR_E_FORMAT, "vocabulary: the type of id %d is %d; 1 to 6 are known",
                              id, piece->type);
    if (!isfinite(piece->score))
        return tsri_base_fail(TSR_E_FORMAT, "vocabulary: the score of id %d is not finite", id);
    TRY(tsri_text_vocabulary_put(&t->vocabulary, id, piece->text, piece->size, rules->duplicates));
    if (piece->type == TSRI_TEXT_BYTE && tsri_text_byte_of_piece(piece->text, piece->size) < 0)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "vocabulary: \"%.*s\" (id %d) has type byte, which only <0x00> to <0xFF> may have",
            (int)(piece->size < 60 ? piece->size : 60), piece->text, id);
    /* Both are found in a text on request; the unknown piece has a surface when it is decoded. */
    const bool control = piece->type == TSRI_TEXT_CONTROL,
               special = control || piece->type == TSRI_TEXT_UNKNOWN;
    if (control)
        TRY(tsri_text_mark_special(t, id));
    if (piece->type == TSRI_TEXT_UNKNOWN && t->roles[TSRI_TEXT_UNK] < 0)
        t->roles[TSRI_TEXT_UNK] = id;
    if (piece->type == TSRI_TEXT_USER_DEFINED && rules->whole_in_model)
        return tsri_text_matcher_add(&t->whole, piece->text, piece->size, id);
    if (!special && piece->type != TSRI_TEXT_USER_DEFINED)
        return TSR_OK;
    const tsri_text_added_token token = {.id = id, .special = special};
    return tsri_text_added_put(&t->added, &token, piece->text, piece->size, NULL);
}

tsr_status tsri_text_load_scored(const tsri_text_scored *pieces, size_t count,
                                 const tsri_text_scored_rules *rules, tsri_text_tokenizer *t) {
    tsri_text_charsmap *none = NULL;
    float *scores = NULL;
    if (count == 0 || count > TSRI_TEXT_IDS_LIMIT)
        return tsri_base_fail(TSR_E_FORMAT, "vocabulary: %zu pieces; 1 to %d are read", count,
                              TSRI_TEXT_IDS_LIMIT);
    tsr_status status = tsri_base_new(count, sizeof *t->types, &t->types);
    t->type_count = count;
    if (status == TSR_OK)
        status = tsri_base_new(count, sizeof *scores, &scores);
    if (status != TSR_OK)
        goto out;
    for (size_t i = 0; i < count; i++) {
        t->types[i] = pieces[i].type;
        scores[i] = pieces[i].score;
        status = add_piece(&pieces[i], (int32_t)i, rules, t);
        if (status != TSR_OK)
            goto out;
    }
    if (rules->unknown >= 0)
        status = tsri_text_set_role(t, TSRI_TEXT_UNK, rules->unknown);
    if (status != TSR_OK)
        goto out;
    t->row = rules->unigram ? &tsri_text_sentencepiece_unigram : &tsri_text_sentencepiece_bpe;
    const tsri_text_sentencepiece options = {.scores = scores,
                                             .types = t->types,
                                             .count = count,
                                             .unknown = t->roles[TSRI_TEXT_UNK],
                                             .whole = &t->whole};
    status = rules->unigram ? tsri_text_unigram_new(&options, &t->vocabulary, &t->model)
                            : tsri_text_sentencepiece_new(&options, &t->vocabulary, &t->model);
    t->raw = rules->map && *rules->map;
    if (status == TSR_OK)
        status = tsri_text_normalizer_spaces(rules->spaces, t->whole.nodes ? &t->whole : NULL,
                                             rules->map ? rules->map : &none, &t->normalizer);
    if (status == TSR_OK)
        status = tsri_text_decoder_sentencepiece(rules->space, rules->spaces.add_prefix,
                                                 rules->spaces.remove_extra, rules->surface,
                                                 &t->decoder);
out:
    free(scores);
    return status;
}
