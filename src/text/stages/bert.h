/* text/stages/bert.h - what BERT does to a text before WordPiece (cleans it, sets Chinese
 * characters apart, strips accents, lowercases) and where its words end. */
#ifndef TSRI_TEXT_STAGES_BERT_H
#define TSRI_TEXT_STAGES_BERT_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tsri_text_bert_rules {
    bool clean;         /* control characters are removed, white space becomes a space */
    bool chinese;       /* a space on both sides of each character of the CJK blocks */
    bool strip_accents; /* NFD, then nonspacing marks are removed */
    bool lowercase;
} tsri_text_bert_rules;

/* Appends text (valid UTF-8), normalized by the rules. */
tsr_status tsri_text_bert_normalize(const tsri_text_bert_rules *rules, const char *text, size_t n,
                                    tsri_bytes *out);
/* Whether the character is a word of its own: an ASCII symbol, or punctuation by Unicode 8. Hugging
 * Face's other pre-tokenizers ask the same. */
bool tsri_text_bert_is_punctuation(int32_t c);

#endif
