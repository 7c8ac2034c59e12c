/* text/tokenizer_parts.h - what a tokenizer is made of; for the loaders, which fill it. */
#ifndef TSRI_TEXT_TOKENIZER_PARTS_H
#define TSRI_TEXT_TOKENIZER_PARTS_H

#include "text/added.h"
#include "text/decode.h"
#include "text/model.h"
#include "text/normalize.h"
#include "text/post.h"
#include "text/pre_tokenize.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

struct tsri_text_tokenizer {
    const char *source;              /* "tokenizer.json", "SentencePiece", ... */
    tsri_text_vocabulary vocabulary; /* added tokens too */
    tsri_text_added added;
    tsri_text_normalizer *normalizer;       /* NULL: none */
    tsri_text_pre_tokenizer *pre_tokenizer; /* NULL: none */
    const tsri_text_model_row *row;
    void *model;
    tsri_text_post post;
    tsri_text_decoder *decoder;
    uint8_t *types; /* by id; NULL: all normal */
    size_t type_count;
    bool *special; /* by id */
    size_t special_count;
    int32_t roles[TSRI_TEXT_ROLES];
};

/* An empty one with all roles unknown. Destroyed by tsri_text_tokenizer_destroy whatever has been
 * filled. */
tsr_status tsri_text_tokenizer_new(const char *source, tsri_text_tokenizer **out);
tsr_status tsri_text_mark_special(tsri_text_tokenizer *tokenizer, int32_t id);

#endif
