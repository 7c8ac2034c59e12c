/* text/stages/normalize.h - what happens to a text before it is cut: Hugging Face's normalizers and
 * SentencePiece's. */
#ifndef TSRI_TEXT_STAGES_NORMALIZE_H
#define TSRI_TEXT_STAGES_NORMALIZE_H

#include "base/bytes.h"
#include "base/json.h"
#include "text/base/allowance.h"
#include "text/base/matcher.h"
#include "text/stages/bert.h"
#include "text/stages/charsmap.h"

typedef struct tsri_text_normalizer tsri_text_normalizer;

/* SentencePiece's rules for spaces, all off by default. */
typedef struct tsri_text_space_rules {
    bool add_prefix;   /* a space before the text (add_dummy_prefix) */
    bool first_only;   /* that space only before what a text begins with, where it is not a space
                          (legacy: false of Llama's tokenizer) */
    bool remove_extra; /* leading, trailing and repeated spaces are removed
                          (remove_extra_whitespaces) */
    bool escape;       /* a space becomes U+2581 (escape_whitespaces) */
    bool suffix;       /* the added space goes after the text (treat_whitespace_as_suffix) */
} tsri_text_space_rules;

/* json is the "normalizer" of a tokenizer.json; NULL and null make *out NULL: nothing to do.
 * TSR_E_UNSUPPORTED names a type that is not supported. */
tsr_status tsri_text_normalizer_load(const json_t *json, tsri_text_normalizer **out);
/* `whole` (borrowed, may be NULL) holds symbols that pass unchanged; `map` (taken over and set to
 * NULL; NULL: "identity") holds the replacements. The text need not be UTF-8. */
tsr_status tsri_text_normalizer_spaces(tsri_text_space_rules rules, const tsri_text_matcher *whole,
                                       tsri_text_charsmap **map, tsri_text_normalizer **out);
tsr_status tsri_text_normalizer_bert(const tsri_text_bert_rules *rules, tsri_text_normalizer **out);
/* Changes the rules for the space before a text: none, or first_only. Of other steps than SentencePiece's, and without a
 * normalizer, nothing changes. */
void tsri_text_normalizer_set_prefix(tsri_text_normalizer *normalizer, bool add, bool first_only);
/* Appends the normalized text; a NULL normalizer copies. first: it is what a text begins with. Sets *moved where characters
 * at the very start were removed. The largest output of a step is taken from the allowance; beyond it,
 * TSR_E_FORMAT. */
tsr_status tsri_text_normalizer_apply(const tsri_text_normalizer *normalizer, const char *text,
                                      size_t n, bool first, tsri_text_allowance *allowance,
                                      tsri_bytes *out, bool *moved);
/* Appends the names of the steps, such as "NFC, Prepend". */
tsr_status tsri_text_normalizer_describe(const tsri_text_normalizer *normalizer, tsri_bytes *out);
void tsri_text_normalizer_destroy(tsri_text_normalizer **normalizer);

#endif
