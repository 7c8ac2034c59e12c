/* text/stages/bert.h - what BERT does to a text before WordPiece: clean it, set Chinese
 * characters apart, take accents away, lower its case; and where its words end. */
#ifndef TSRI_TEXT_STAGES_BERT_H
#define TSRI_TEXT_STAGES_BERT_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tsri_text_bert_rules {
    bool clean;         /* control characters go, white space becomes a space */
    bool chinese;       /* a space on both sides of each character of the CJK blocks */
    bool strip_accents; /* NFD, then no nonspacing marks */
    bool lowercase;
} tsri_text_bert_rules;

/* Appends text (valid UTF-8) as the rules say. */
tsr_status tsri_text_bert_normalize(const tsri_text_bert_rules *rules, const char *text, size_t n,
                                    tsri_bytes *out);
/* A character that is a word of its own: ASCII symbols, and what Unicode 8 had for punctuation.
 * Hugging Face's other pre-tokenizers ask the same. */
bool tsri_text_bert_is_punctuation(int32_t c);

#endif
