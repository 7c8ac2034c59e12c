/* text/stages/pre_tokenize.h - cuts a normalized text into words: Hugging Face's pre-tokenizers. */
#ifndef TSRI_TEXT_STAGES_PRE_TOKENIZE_H
#define TSRI_TEXT_STAGES_PRE_TOKENIZE_H

#include "base/json.h"
#include "text/base/allowance.h"
#include "text/base/splits.h"

typedef struct tsri_text_pre_tokenizer tsri_text_pre_tokenizer;

/* json is the "pre_tokenizer" of a tokenizer.json; NULL and null make *out NULL: the text stays
 * whole. TSR_E_UNSUPPORTED names a type that is not supported. */
tsr_status tsri_text_pre_tokenizer_load(const json_t *json, tsri_text_pre_tokenizer **out);
/* The steps that byte-level GGUF vocabularies name: each pattern isolates its matches, then bytes
 * become characters. */
tsr_status tsri_text_pre_tokenizer_patterns(const char *const *patterns, size_t count,
                                            tsri_text_pre_tokenizer **out);
/* Drops white space; each punctuation character is a word. */
tsr_status tsri_text_pre_tokenizer_bert(tsri_text_pre_tokenizer **out);
/* Cuts at spaces. */
tsr_status tsri_text_pre_tokenizer_spaces(tsri_text_pre_tokenizer **out);
/* Rewrites *splits; pieces that are already ids stay. `spare` is scratch memory. TSR_E_FORMAT where
 * a step exceeds the allowance. */
tsr_status tsri_text_pre_tokenizer_apply(const tsri_text_pre_tokenizer *p,
                                         tsri_text_allowance *allowance, tsri_text_splits *splits,
                                         tsri_text_splits *spare);
/* Appends the names of the steps, such as "Split (Llama 3), ByteLevel". */
tsr_status tsri_text_pre_tokenizer_describe(const tsri_text_pre_tokenizer *p, tsri_bytes *out);
void tsri_text_pre_tokenizer_destroy(tsri_text_pre_tokenizer **p);

#endif
