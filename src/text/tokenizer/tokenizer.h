/* text/tokenizer/tokenizer.h - text to ids and back, for every tokenizer file that Tessera reads.
 *
 * A tokenizer is immutable once it is loaded and set up: any number of threads may use one at once.
 * Error messages name the part of the file and the value; the caller knows the file and puts its
 * path before them.
 *
 * Input   any bytes, up to 1 GiB. A byte that does not belong to a UTF-8 character counts as
 *         U+FFFD, for every kind of tokenizer.
 * Output  always valid UTF-8. Byte-level tokenizers give one U+FFFD for each maximal broken
 *         sequence, SentencePiece one for each broken byte, `ByteFallback` one for each byte of a
 *         run that is not UTF-8 as a whole. Ids without a piece (rows that pad a model's
 *         vocabulary) decode to nothing. */
#ifndef TSRI_TEXT_TOKENIZER_TOKENIZER_H
#define TSRI_TEXT_TOKENIZER_TOKENIZER_H

#include "base/bytes.h"
#include "text/base/ids.h"
#include "text/base/merge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tsri_text_tokenizer tsri_text_tokenizer;
typedef struct tsri_text_stream tsri_text_stream;

typedef enum tsri_text_role {
    TSRI_TEXT_BOS,
    TSRI_TEXT_EOS,
    TSRI_TEXT_UNK,
    TSRI_TEXT_PAD,
    TSRI_TEXT_MASK, /* what a masked language model fills in */
    TSRI_TEXT_CLS,
    TSRI_TEXT_SEP,
    TSRI_TEXT_ROLES
} tsri_text_role;

enum {
    TSRI_TEXT_ADD_SPECIAL =
        1, /* the tokens that the file's template or the affixes put around a text */
    TSRI_TEXT_PARSE_SPECIAL =
        2 /* the name of a special token in the text is that token, not its letters */
};

void tsri_text_tokenizer_destroy(tsri_text_tokenizer **tokenizer);

/* Appends text's ids. On an error nothing is appended. TSR_E_FORMAT: the file's regular expression
 * exceeded its match limit, or a WordLevel vocabulary has neither a word nor an unknown token. */
tsr_status tsri_text_encode(const tsri_text_tokenizer *tokenizer, const char *text, size_t n,
                            unsigned flags, tsri_text_ids *ids);
/* Appends a pair's ids and, if `types` is not NULL, the segment of each (0 or 1, or what the
 * template says). */
tsr_status tsri_text_encode_pair(const tsri_text_tokenizer *tokenizer, const char *a, size_t na,
                                 const char *b, size_t nb, unsigned flags, tsri_text_ids *ids,
                                 tsri_text_ids *types);

/* Appends the ids of a text, without tokens around it, and for each the number of the word that it
 * belongs to: what the tokenizer cuts a text into before it looks for pieces. */
tsr_status tsri_text_encode_words(const tsri_text_tokenizer *tokenizer, const char *text, size_t n,
                                  unsigned flags, tsri_text_ids *ids, tsri_text_ids *words);

/* Appends the ids of a text, without tokens around it. Where said[i] is not 0, byte i is somebody's
 * words: special tokens are found in the other bytes alone. Words are encoded together with the text
 * around them, as models learned it; only where that would give another special token, they are cut
 * out and encoded by themselves. */
tsr_status tsri_text_encode_marked(const tsri_text_tokenizer *tokenizer, const char *text,
                                   const char *said, size_t n, tsri_text_ids *ids);

enum {
    TSRI_TEXT_SKIP_SPECIAL = 1, /* special tokens add no text */
    TSRI_TEXT_UNCLEANED = 2 /* as without tsri_text_set_clean_up: what the ids say of a text that
                                   they were made of */
};

/* Appends the text of ids. */
tsr_status tsri_text_decode(const tsri_text_tokenizer *tokenizer, const int32_t *ids, size_t n,
                            unsigned flags, tsri_bytes *out);

/* The same, id by id: the output of all pushes and of finish together is what decode gives, and
 * each call appends whole characters only. The tokenizer must outlive the stream. */
tsr_status tsri_text_stream_new(const tsri_text_tokenizer *tokenizer, unsigned flags,
                                tsri_text_stream **out);
tsr_status tsri_text_stream_push(tsri_text_stream *stream, int32_t id, tsri_bytes *out);
tsr_status tsri_text_stream_finish(tsri_text_stream *stream,
                                   tsri_bytes *out); /* appends what was held back; then the
                                                        stream is as new */
/* What follows is cleaned as a text of its own: what cleaning holds back of the ids so far, which
 * may be a blank, is dropped. */
void tsri_text_stream_part(tsri_text_stream *stream);
void tsri_text_stream_destroy(tsri_text_stream **stream);

/* Appends what a token stands for behind another one, also a part of a character. */
tsr_status tsri_text_token_bytes(const tsri_text_tokenizer *tokenizer, int32_t id, tsri_bytes *out);

/* One more than the highest id. */
int32_t tsri_text_vocabulary_size(const tsri_text_tokenizer *tokenizer);
/* The piece as the file spells it, borrowed, not terminated; NULL for an id without a piece. */
const char *tsri_text_piece_of(const tsri_text_tokenizer *tokenizer, int32_t id, size_t *n);
int32_t tsri_text_id_of(const tsri_text_tokenizer *tokenizer, const char *piece,
                        size_t n); /* -1: none */
bool tsri_text_is_special(const tsri_text_tokenizer *tokenizer, int32_t id);

int32_t tsri_text_role_id(const tsri_text_tokenizer *tokenizer,
                          tsri_text_role role); /* -1: not known */

/* Set-up, before other threads use the tokenizer. What a tokenizer.json doesn't say (bos, eos, pad)
 * comes from config files. -1 is allowed; TSR_E_FORMAT: an id without a piece. */
tsr_status tsri_text_set_role(tsri_text_tokenizer *tokenizer, tsri_text_role role, int64_t id);
/* Set-up: the tokenizer's files say that they have no token of this role; its id is the model's own knowledge. Chat templates
 * are not told of it. */
void tsri_text_set_role_unnamed(tsri_text_tokenizer *tokenizer, tsri_text_role role);
bool tsri_text_role_is_unnamed(const tsri_text_tokenizer *tokenizer, tsri_text_role role);
/* Set-up: SentencePiece's rules beside a model that says otherwise. before: whether a space is put before a text at all;
 * first_only: not before what stands behind an added token, nor before a space. Nothing happens to other tokenizers. */
void tsri_text_set_space_before(tsri_text_tokenizer *tokenizer, bool before, bool first_only);
/* Replaces the tokens that are added around a text: bos before and eos after each sequence of a
 * pair. The roles must be known. */
tsr_status tsri_text_set_affixes(tsri_text_tokenizer *tokenizer, bool add_bos, bool add_eos);
/* RoBERTa's: cls A sep, and cls A sep sep B sep, all in segment 0; the tokens are those of the
 * roles. */
tsr_status tsri_text_set_roberta_affixes(tsri_text_tokenizer *tokenizer);
/* BERT's: cls A sep, and cls A sep B sep, B and its sep in segment 1. */
tsr_status tsri_text_set_bert_affixes(tsri_text_tokenizer *tokenizer);
/* Whether encoding with TSRI_TEXT_ADD_SPECIAL puts the bos token first. */
bool tsri_text_adds_bos(const tsri_text_tokenizer *tokenizer);

/* The most tokens that a text should have, counting those around it: model_max_length of
 * tokenizer_config.json, else truncation of tokenizer.json; 0 if neither gives a number (or the
 * number means no limit). Encoding never cuts and never pads: the caller does, and it may know a
 * better length (sentence_bert_config.json's max_seq_length, the positions that a model has). */
int64_t tsri_text_max_length(const tsri_text_tokenizer *tokenizer);
void tsri_text_set_max_length(tsri_text_tokenizer *tokenizer, int64_t length); /* set-up */

/* Set-up: whether the texts of ids, and those of a target side, are cleaned of spaces before
 * punctuation, as clean_up_tokenization_spaces of tokenizer_config.json asks for it. */
void tsri_text_set_clean_up(tsri_text_tokenizer *tokenizer, bool clean_up);
/* Whether it is byte-pair encoding, whatever file it comes from. */
bool tsri_text_is_bpe(const tsri_text_tokenizer *tokenizer);

/* Set-up: encoding draws random numbers from `dropout`, which is borrowed, so only one thread may
 * encode; NULL ends this. It applies to a target side too. TSR_E_UNSUPPORTED: not byte-pair
 * encoding. */
tsr_status tsri_text_set_dropout(tsri_text_tokenizer *tokenizer, tsri_text_dropout *dropout);

/* The kind of file that it comes from, for describe; borrowed: a literal. */
void tsri_text_set_source(tsri_text_tokenizer *tokenizer, const char *source);

/* Appends lines "name: value" for people: source, model, vocabulary, normalizer, pre-tokenizer,
 * decoder, added tokens; for a translation model also the languages and the target side. */
tsr_status tsri_text_describe(const tsri_text_tokenizer *tokenizer, tsri_bytes *out);

#endif
