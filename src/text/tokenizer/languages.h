/* text/tokenizer/languages.h - the two sides of a translation model: a tokenizer for each, the
 * languages that they know, and the tokens that a text of a language needs around it.
 *
 * To translate a text:
 *   tsri_text_direction_of(t, from, to, &direction)      once; NULL: what the model's files say
 *   tsri_text_encode_source(t, text, n, &direction, flags, &ids)     what the encoder reads
 *   the decoder starts with direction.start, if that is not -1, else with decoder_start_token_id;
 *   the first token that it gives is direction.forced, if that is not -1
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

/* Where the codes of the text's language and of the wanted language go. */
typedef enum tsri_text_language_rule {
    TSRI_TEXT_NO_CODES,
    TSRI_TEXT_CODE_FIRST,       /* from text </s>; `to` is forced */
    TSRI_TEXT_CODE_LAST,        /* text </s> from; `to` starts */
    TSRI_TEXT_CODE_LAST_FORCED, /* text </s> from; `to` is forced (NLLB's legacy behaviour) */
    TSRI_TEXT_CODE_OF_TARGET    /* >>to<< text </s> */
} tsri_text_language_rule;

/* The source and target language, as ids of code tokens; -1: none. */
typedef struct tsri_text_direction {
    int32_t from, to;
    int32_t start;      /* what the decoder starts with; -1: decoder_start_token_id */
    int32_t forced;     /* the first token that the decoder must give; -1: any */
    const char *prefix; /* put before the text; NULL: nothing; borrowed from the tokenizer */
} tsri_text_direction;

/* Languages are given by the codes that the tokenizer uses ("de", "de_DE", "deu_Latn", "deu"), by
 * their tokens ("__de__", ">>deu<<"), or by the part before "_" if only one language has it. NULL:
 * what tokenizer_config.json gives, or none. TSR_E_ARGUMENT lists the known languages. */
tsr_status tsri_text_direction_of(const tsri_text_tokenizer *tokenizer, const char *from,
                                  const char *to, tsri_text_direction *out);

/* Append the ids of a text with the tokens around it (ADD_SPECIAL is implied; PARSE_SPECIAL as in
 * encode). A text that itself begins with ">>xx<<" keeps its own code; whoever cuts a text takes the code
 * off first (tsri_text_written_code). encode_target gives the ids that the decoder should answer with: a
 * model is trained and scored on them. */
tsr_status tsri_text_encode_source(const tsri_text_tokenizer *tokenizer, const char *text, size_t n,
                                   const tsri_text_direction *direction, unsigned flags,
                                   tsri_text_ids *ids);
tsr_status tsri_text_encode_target(const tsri_text_tokenizer *tokenizer, const char *text, size_t n,
                                   const tsri_text_direction *direction, unsigned flags,
                                   tsri_text_ids *ids);

/* The bytes of the ">>xx<<" at the beginning of a text; 0: it has none, or the model's texts have no such
 * codes. *id is then the code's token, or the unknown token: the direction->to of the text behind it. */
size_t tsri_text_written_code(const tsri_text_tokenizer *tokenizer, const char *text, size_t n,
                              int32_t *id);

/* The tokenizer of the text that a model writes: Marian's and CTranslate2's folders may have one
 * for each side. Where there is only one, it is the same tokenizer. */
const tsri_text_tokenizer *tsri_text_target(const tsri_text_tokenizer *tokenizer);

/* The known languages, in the order of their tokens, terminated; NULL past the last. */
const char *tsri_text_language(const tsri_text_tokenizer *tokenizer, size_t i, int32_t *id);
/* Appends "af, am, ar" or, where a model knows pairs, "en-de, en-fr"; nothing if it knows no
 * language. */
tsr_status tsri_text_languages_list(const tsri_text_tokenizer *tokenizer, tsri_bytes *out);

/* Set-up, before other threads use the tokenizer. The target is taken over, and its pointer is set
 * to NULL. */
void tsri_text_set_target(tsri_text_tokenizer *tokenizer, tsri_text_tokenizer **target);
void tsri_text_set_language_rule(tsri_text_tokenizer *tokenizer, tsri_text_language_rule rule);
/* From now on the id's token is special: it is left out of decoded text. */
tsr_status tsri_text_add_language(tsri_text_tokenizer *tokenizer, const char *code, size_t n,
                                  int32_t id);
/* Adds a pair and the prefix that is put before its texts; NULL: nothing. */
tsr_status tsri_text_add_pair(tsri_text_tokenizer *tokenizer, const char *from, const char *to,
                              const char *prefix);
/* The languages to use where the caller names none; NULL: none. */
tsr_status tsri_text_set_default_languages(tsri_text_tokenizer *tokenizer, const char *from,
                                           const char *to);

#endif
