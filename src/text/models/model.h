/* text/models/model.h - what turns one word into ids. Each kind of model is one file and one
 * tsri_text_model_row. */
#ifndef TSRI_TEXT_MODELS_MODEL_H
#define TSRI_TEXT_MODELS_MODEL_H

#include "base/bytes.h"
#include "base/json.h"
#include "text/base/entries.h"
#include "text/base/ids.h"
#include "text/base/matcher.h"
#include "text/base/merge.h"
#include "text/base/vocabulary.h"

typedef struct tsri_text_model_row {
    const char *type; /* the "type" of a tokenizer.json's model */
    /* Reads the model and fills the vocabulary; *unknown becomes the unknown token's id, or stays
     * as it is. NULL: this model is never read from JSON. */
    tsr_status (*load)(const tsri_text_model_file *file, tsri_text_vocabulary *vocabulary,
                       int32_t *unknown, void **model);
    /* Appends the word's ids. The word is valid UTF-8, n >= 1. */
    tsr_status (*encode)(const void *model, const tsri_text_vocabulary *vocabulary,
                         tsri_text_work *work, const char *word, size_t n, tsri_text_ids *ids);
    tsr_status (*describe)(const void *model,
                           tsri_bytes *out); /* appends "400 merges, byte fallback" */
    void (*destroy)(void *model);
    bool merges; /* its encode merges neighbours, so merges can be left out */
} tsri_text_model_row;

extern const tsri_text_model_row tsri_text_bpe, tsri_text_word_level, tsri_text_word_piece,
    tsri_text_unigram, tsri_text_sentencepiece_bpe, tsri_text_sentencepiece_unigram,
    tsri_text_two_vocabularies;

/* "vocab": {piece: id}. Ids may have gaps, but no wide ones. */
tsr_status tsri_text_model_vocabulary(const tsri_text_model_file *file, const char *what,
                                      tsri_text_vocabulary *vocabulary);

/* Options of a byte-pair model, from JSON or from another file. */
typedef struct tsri_text_bpe_options {
    int32_t unknown; /* -1: characters that are not in the vocabulary are left out */
    bool fuse_unknown, byte_fallback, ignore_merges;
    const char *prefix,
        *suffix; /* the prefix of pieces inside a word, the suffix of a word's last piece;
                    borrowed, NULL for none */
} tsri_text_bpe_options;

tsr_status tsri_text_bpe_new(const tsri_text_bpe_options *options,
                             const tsri_text_vocabulary *vocabulary, void **model);
/* Adds the merge with the next rank: both pieces and their concatenation must be in the
 * vocabulary. */
tsr_status tsri_text_bpe_add(void *model, const tsri_text_vocabulary *vocabulary, const char *a,
                             size_t na, const char *b, size_t nb);

/* Instead of merges: two neighbours whose concatenation is a piece are merged, and the id of that piece
 * is their rank. The model's own pieces are those with the ids first ... end - 1. */
tsr_status tsri_text_bpe_add_ranked(void *model, const tsri_text_vocabulary *vocabulary,
                                    int32_t first, int32_t end);

/* A word is one piece, or `unknown`; with -1, a word that has no piece is an error. */
tsr_status tsri_text_word_level_new(int32_t unknown, void **model);

/* Options of a WordPiece model, from JSON or from another file. */
typedef struct tsri_text_word_piece_options {
    int32_t unknown;                         /* -1: a word without pieces is an error */
    int64_t longest_word;                    /* in characters; longer ones are unknown */
    const char *first_prefix, *inner_prefix; /* the prefix of a word's first piece in the
                                                vocabulary, and of its other pieces; borrowed,
                                                NULL for none */
} tsri_text_word_piece_options;

tsr_status tsri_text_word_piece_new(const tsri_text_word_piece_options *options,
                                    const tsri_text_vocabulary *vocabulary, void **model);

/* What cuts a text for a model that gives its pieces other ids; borrowed for as long as the model
 * is used. */
typedef struct tsri_text_segmenter {
    const tsri_text_model_row *row;
    const void *model;
    const tsri_text_vocabulary *vocabulary;
    int32_t unknown; /* -1: none */
} tsri_text_segmenter;

/* The ids are those that `vocabulary` has for the text of each piece. */
tsr_status tsri_text_two_vocabularies_new(const tsri_text_segmenter *segmenter,
                                          const tsri_text_vocabulary *vocabulary, int32_t unknown,
                                          void **model);

/* scores and types: by id, `count` of them, copied. whole: symbols that are one piece wherever they
 * stand; borrowed for as long as the model is used. */
typedef struct tsri_text_sentencepiece {
    const float *scores;
    const uint8_t *types;
    size_t count;
    int32_t unknown;
    const tsri_text_matcher *whole;
} tsri_text_sentencepiece;

tsr_status tsri_text_sentencepiece_new(const tsri_text_sentencepiece *options,
                                       const tsri_text_vocabulary *vocabulary, void **model);
/* Takes the same pieces, and finds the most probable cut. */
tsr_status tsri_text_unigram_new(const tsri_text_sentencepiece *options,
                                 const tsri_text_vocabulary *vocabulary, void **model);

#endif
