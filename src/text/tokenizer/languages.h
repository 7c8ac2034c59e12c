/* text/tokenizer/languages.h - the two sides of a translation model: a tokenizer for each, which
 * languages they know, and what a text of one language needs around it.
 *
 * To translate a text:
 *   tsri_text_direction_of(t, from, to, &direction)      once; NULL: what the model's files say
 *   tsri_text_encode_source(t, text, n, &direction, flags, &ids)     what the encoder reads
 *   the decoder starts with direction.start, where that is not -1, else with
 *   decoder_start_token_id; the first token that it gives is direction.forced, where that is not -1
 *   tsri_text_decode(tsri_text_target(t), ids, n, true, &out), or a stream over tsri_text_target(t)
 *
 *   model                       the encoder reads        the decoder's start    its first token
 *   T5, BART, Pegasus, Marian   what the template says   -                      -
 *   Marian of several targets   >>to<< text </s>         -                      -
 *   M2M-100, mBART-50, NLLB     from text </s>           -                      to
 *   mBART-25                    text </s> from           to                     -
 *   T5 of task_specific_params  "translate English to German: " text </s>       - */
#ifndef TSRI_TEXT_TOKENIZER_LANGUAGES_H
#define TSRI_TEXT_TOKENIZER_LANGUAGES_H

#include "text/tokenizer/tokenizer.h"

/* Where the code of the text's language goes, and that of the language wanted. */
typedef enum tsri_text_language_rule {
    TSRI_TEXT_NO_CODES,
    TSRI_TEXT_CODE_FIRST,       /* from text </s>; `to` is forced */
    TSRI_TEXT_CODE_LAST,        /* text </s> from; `to` starts */
    TSRI_TEXT_CODE_LAST_FORCED, /* text </s> from; `to` is forced (NLLB's legacy behaviour) */
    TSRI_TEXT_CODE_OF_TARGET    /* >>to<< text </s> */
} tsri_text_language_rule;

/* From which language to which, as ids of code tokens; -1 for none. */
typedef struct tsri_text_direction {
    int32_t from, to;
    int32_t start;      /* what the decoder starts with, -1: decoder_start_token_id */
    int32_t forced;     /* the first token that the decoder must give, -1: any */
    const char *prefix; /* put before the text; NULL for none; borrowed from the tokenizer */
} tsri_text_direction;

/* Codes as the tokenizer spells them ("de", "de_DE", "deu_Latn", "deu"), their tokens ("__de__",
 * ">>deu<<"), or the part before "_" where that is one language alone. NULL: what
 * tokenizer_config.json gives, or none. TSR_E_ARGUMENT lists what is known. */
tsr_status tsri_text_direction_of(const tsri_text_tokenizer *tokenizer, const char *from,
                                  const char *to, tsri_text_direction *out);

/* Append ids with the tokens around them (ADD_SPECIAL is implied; PARSE_SPECIAL as in encode). A
 * text that itself begins with ">>xx<<" keeps its own code. encode_target gives what the decoder is
 * to answer: a model is trained and scored on it. */
tsr_status tsri_text_encode_source(const tsri_text_tokenizer *tokenizer, const char *text, size_t n,
                                   const tsri_text_direction *direction, unsigned flags,
                                   tsri_text_ids *ids);
tsr_status tsri_text_encode_target(const tsri_text_tokenizer *tokenizer, const char *text, size_t n,
                                   const tsri_text_direction *direction, unsigned flags,
                                   tsri_text_ids *ids);

/* The tokenizer of what a model writes: Marian's and CTranslate2's folders may have one for each
 * side. The same where there is one for both. */
const tsri_text_tokenizer *tsri_text_target(const tsri_text_tokenizer *tokenizer);

/* The languages known, in order of their tokens, terminated; NULL past the last. */
const char *tsri_text_language(const tsri_text_tokenizer *tokenizer, size_t i, int32_t *id);
/* Appends "af, am, ar" or, where a model knows pairs, "en-de, en-fr"; nothing where none. */
tsr_status tsri_text_languages_list(const tsri_text_tokenizer *tokenizer, tsri_bytes *out);

/* Set-up, before other threads use it. The target is taken over, and its pointer set to NULL. */
void tsri_text_set_target(tsri_text_tokenizer *tokenizer, tsri_text_tokenizer **target);
void tsri_text_set_language_rule(tsri_text_tokenizer *tokenizer, tsri_text_language_rule rule);
/* The id's token is special from now on: left out of decoded text. */
tsr_status tsri_text_add_language(tsri_text_tokenizer *tokenizer, const char *code, size_t n,
                                  int32_t id);
/* A pair and what is put before its texts; NULL for nothing. */
tsr_status tsri_text_add_pair(tsri_text_tokenizer *tokenizer, const char *from, const char *to,
                              const char *prefix);
/* What is taken where the caller says nothing; NULL for none. */
tsr_status tsri_text_set_default_languages(tsri_text_tokenizer *tokenizer, const char *from,
                                           const char *to);

#endif
