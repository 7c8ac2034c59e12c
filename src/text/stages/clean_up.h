/* text/stages/clean_up.h - removes spaces that are not written in English, as transformers'
 * clean_up_tokenization does: one rule after the other over the whole text. */
#ifndef TSRI_TEXT_STAGES_CLEAN_UP_H
#define TSRI_TEXT_STAGES_CLEAN_UP_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

enum { TSRI_TEXT_CLEAN_UP_RULES = 11 };

/* Cleans a piece of text in place. `do_not`: " do not" becomes " don't", too, as in the WordPiece
 * decoder of the tokenizers library. */
void tsri_text_clean_up(char *text, size_t *n, bool do_not);

/* A text that comes in parts: what each rule holds back, because it may begin what the rule
 * replaces. All zero: nothing. */
typedef struct tsri_text_cleaning {
    tsri_bytes held[TSRI_TEXT_CLEAN_UP_RULES];
} tsri_text_cleaning;

/* Takes the next part of a text, and appends what can no longer change; the outputs of all pushes
 * and of finish together are the whole text, cleaned. */
tsr_status tsri_text_cleaning_push(tsri_text_cleaning *c, const char *text, size_t n,
                                   tsri_bytes *out);
/* Appends what was held back; then the cleaning is as new. */
tsr_status tsri_text_cleaning_finish(tsri_text_cleaning *c, tsri_bytes *out);
/* Forgets what was held back. */
void tsri_text_cleaning_drop(tsri_text_cleaning *c);
void tsri_text_cleaning_clear(tsri_text_cleaning *c);

#endif
