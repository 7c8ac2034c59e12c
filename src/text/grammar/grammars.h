/* text/grammar/grammars.h - the grammars of one vocabulary: those that were used last are kept, with their
 * masks, because requests tend to ask for the same ones again. */
#ifndef TSRI_TEXT_GRAMMAR_GRAMMARS_H
#define TSRI_TEXT_GRAMMAR_GRAMMARS_H

#include "text/grammar/grammar.h"

typedef enum tsri_text_language_of_grammar {
    TSRI_TEXT_GBNF,
    TSRI_TEXT_JSON_SCHEMA
} tsri_text_language_of_grammar;

typedef struct tsri_text_grammars tsri_text_grammars;

/* The tokenizer is borrowed; nothing is made of it before the first grammar is. */
tsr_status tsri_text_grammars_create(const tsri_text_tokenizer *tokenizer,
                                     tsri_text_grammars **out);
void tsri_text_grammars_destroy(tsri_text_grammars **grammars);

/* Begins a text in a grammar, which ends with a 0 byte.
 * error  TSR_E_ARGUMENT, TSR_E_UNSUPPORTED  as the readers (read.h) and tsri_text_grammar_create */
tsr_status tsri_text_grammars_match(tsri_text_grammars *grammars,
                                    tsri_text_language_of_grammar language, const char *text,
                                    tsri_text_matcher **out);
/* The same errors, without a vocabulary. */
tsr_status tsri_text_grammar_check(tsri_text_language_of_grammar language, const char *text);

#endif
