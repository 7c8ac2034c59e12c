/* text/grammar/read.h - the languages that grammars are written in. */
#ifndef TSRI_TEXT_GRAMMAR_READ_H
#define TSRI_TEXT_GRAMMAR_READ_H

#include "text/grammar/tree.h"
#include "text/tokenizer/tokenizer.h"

/* GBNF, as llama.cpp reads it, with %json {...} for JSON that a schema allows. tokenizer: whose tokens it names; NULL:
 * any names are taken. The caller clears *tree, after a failure, too.
 *
 * error  TSR_E_ARGUMENT     it is not GBNF, has no rule "root", or names a token that is not there; the sentence names
 *                           the line
 *        TSR_E_UNSUPPORTED  it asks for any token but one (!<...>)
 *        and those of a schema */
tsr_status tsri_text_gbnf_read(const char *text, size_t n, const tsri_text_tokenizer *tokenizer,
                               tsri_text_tree *tree);

/* A JSON schema. The caller clears *tree, after a failure, too.
 *
 * error  TSR_E_FORMAT       it is not JSON
 *        TSR_E_ARGUMENT     it is not a schema, allows nothing, or is too large; the sentence names the place
 *        TSR_E_UNSUPPORTED  it has a keyword, or a value of one, that is not served */
tsr_status tsri_text_schema_read_text(const char *text, size_t n, tsri_text_tree *tree);

/* The same as a further rule of a tree. */
tsr_status tsri_text_schema_add(const char *text, size_t n, tsri_text_tree *tree, int32_t *rule);

#endif
