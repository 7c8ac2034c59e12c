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
    bool remove_extra; /* leading, trailing and repeated spaces go (remove_extra_whitespaces) */
    bool escape;       /* a space becomes U+2581 (escape_whitespaces) */
    bool suffix;       /* the added space goes behind (treat_whitespace_as_suffix) */
} tsri_text_space_rules;

/* json is the "normalizer" of a tokenizer.json; NULL and null give *out NULL: nothing to do. A type
 * that is not supported is TSR_E_UNSUPPORTED, by name. */
tsr_status tsri_text_normalizer_load(const json_t *json, tsri_text_normalizer **out);
/* `whole` (borrowed, may be NULL) holds symbols that pass as they are; `map` (taken over and set to
 * NULL; NULL: "identity") what stands for what. The text needn't be UTF-8. */
tsr_status tsri_text_normalizer_spaces(tsri_text_space_rules rules, const tsri_text_matcher *whole,
                                       tsri_text_charsmap **map, tsri_text_normalizer **out);
tsr_status tsri_text_normalizer_bert(const tsri_text_bert_rules *rules, tsri_text_normalizer **out);
/* Appends the normalized text; NULL copies. Sets *moved where characters at the very start were
 * taken away. What a step makes at most is taken from the allowance; beyond it, TSR_E_FORMAT. */
tsr_status tsri_text_normalizer_apply(const tsri_text_normalizer *normalizer, const char *text,
                                      size_t n, tsri_text_allowance *allowance, tsri_bytes *out,
                                      bool *moved);
/* Appends the names of the steps, "NFC, Prepend". */
tsr_status tsri_text_normalizer_describe(const tsri_text_normalizer *normalizer, tsri_bytes *out);
void tsri_text_normalizer_destroy(tsri_text_normalizer **normalizer);

#endif
