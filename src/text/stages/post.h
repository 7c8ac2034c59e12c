/* text/stages/post.h - the tokens that are put around one text, or two: Hugging Face's
 * post-processors as two lists. */
#ifndef TSRI_TEXT_STAGES_POST_H
#define TSRI_TEXT_STAGES_POST_H

#include "base/json.h"
#include "text/base/ids.h"
#include "text/base/vocabulary.h"

enum { TSRI_TEXT_SEQUENCE_A = -1, TSRI_TEXT_SEQUENCE_B = -2 };

typedef struct tsri_text_post_item {
    int32_t id;   /* a token, or TSRI_TEXT_SEQUENCE_A, _B */
    int32_t type; /* segment of these ids */
} tsri_text_post_item;

typedef struct tsri_text_post_list {
    tsri_text_post_item *items;
    size_t count, capacity;
} tsri_text_post_list;

/* Without a template nothing is added, and a pair is A then B, in segments 0 and 1. An empty template
 * leaves nothing of a text. */
typedef struct tsri_text_post {
    tsri_text_post_list single, pair;
    bool given; /* a template */
} tsri_text_post;

/* json is the "post_processor" of a tokenizer.json; NULL and null leave *post empty. */
tsr_status tsri_text_post_load(const json_t *json, const tsri_text_vocabulary *vocabulary,
                               tsri_text_post *post);
/* BERT's: cls A sep, and B sep in segment 1. Replaces the lists. */
tsr_status tsri_text_post_bert(int32_t cls, int32_t sep, tsri_text_post *post);
/* RoBERTa's: cls A sep, and sep B sep, all in segment 0. Replaces the lists. */
tsr_status tsri_text_post_roberta(int32_t cls, int32_t sep, tsri_text_post *post);
/* bos (-1: none) before and eos (-1: none) after each text. Replaces the lists. */
tsr_status tsri_text_post_affixes(int32_t bos, int32_t eos, tsri_text_post *post);
/* llama.cpp's: bos A eos, and sep B eos behind it, all in segment 0; each -1: none. Replaces the lists. */
tsr_status tsri_text_post_joined(int32_t bos, int32_t eos, int32_t sep, tsri_text_post *post);
/* Appends the ids of the list around a and b (b is NULL for a single text), without the list's
 * tokens unless `special`. */
tsr_status tsri_text_post_apply(const tsri_text_post *post, const tsri_text_ids *a,
                                const tsri_text_ids *b, bool special, tsri_text_ids *ids,
                                tsri_text_ids *types);
void tsri_text_post_clear(tsri_text_post *post);

#endif
