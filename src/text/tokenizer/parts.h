/* text/tokenizer/parts.h - what a tokenizer consists of, for the loaders, which fill it. */
#ifndef TSRI_TEXT_TOKENIZER_PARTS_H
#define TSRI_TEXT_TOKENIZER_PARTS_H

#include "text/base/vocabulary.h"
#include "text/models/model.h"
#include "text/stages/added.h"
#include "text/stages/decode.h"
#include "text/stages/normalize.h"
#include "text/stages/post.h"
#include "text/stages/pre_tokenize.h"
#include "text/tokenizer/languages.h"
#include "text/tokenizer/tokenizer.h"

typedef struct tsri_text_language_item {
    char *code;
    int32_t id;
} tsri_text_language_item;

typedef struct tsri_text_language_pair {
    char *from, *to, *prefix; /* prefix may be NULL */
} tsri_text_language_pair;

/* All zero: no languages. */
typedef struct tsri_text_languages {
    tsri_text_language_rule rule;
    tsri_text_language_item *items;
    size_t count, capacity;
    tsri_text_language_pair *pairs;
    size_t pair_count, pair_capacity;
    char *from, *to; /* used where the caller names none; NULL: none */
} tsri_text_languages;

struct tsri_text_tokenizer {
    const char *source;              /* "tokenizer.json", "SentencePiece", ... */
    tsri_text_vocabulary vocabulary; /* including added tokens */
    tsri_text_added added;
    tsri_text_matcher whole;                /* SentencePiece: symbols that are pieces wherever
                                               they stand */
    bool raw;                               /* the normalizer takes bytes that are not UTF-8 */
    tsri_text_normalizer *normalizer;       /* NULL: none */
    tsri_text_pre_tokenizer *pre_tokenizer; /* NULL: none */
    const tsri_text_model_row *row;
    void *model;
    tsri_text_post post;
    tsri_text_decoder *decoder;
    bool clean_up;  /* texts of ids lose the spaces that stages/clean_up.h removes */
    uint8_t *types; /* by id; NULL: all normal */
    size_t type_count;
    bool *special; /* by id */
    size_t special_count;
    int32_t roles[TSRI_TEXT_ROLES];
    bool unnamed[TSRI_TEXT_ROLES]; /* tsri_text_set_role_unnamed */
    tsri_text_tokenizer *cutter;   /* the tokenizer whose parts this one uses; NULL: none */
    int64_t max_length;            /* 0: not given */
    tsri_text_dropout *dropout;    /* NULL: none */
    tsri_text_languages languages;
    tsri_text_tokenizer *target; /* the tokenizer of the other side; NULL: this one serves both */
};

/* A new tokenizer without content and with all roles unknown. tsri_text_tokenizer_destroy frees
 * whatever has been filled in. */
tsr_status tsri_text_tokenizer_new(const char *source, tsri_text_tokenizer **out);
tsr_status tsri_text_mark_special(tsri_text_tokenizer *tokenizer, int32_t id);

#endif
