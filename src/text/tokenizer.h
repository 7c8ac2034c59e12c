/* text/tokenizer.h - text to ids and back, for every tokenizer file that Tessera reads.
 *
 * A tokenizer is immutable once it is loaded and set up: any number of threads may use one at once.
 * Sentences of errors name the part of the file and the value; the caller knows the file and puts
 * its path before them.
 *
 * Input  any bytes. A byte that belongs to no UTF-8 character counts as U+FFFD, for every kind of
 * tokenizer. Up to 1 GiB. Output valid UTF-8, always. Byte-level tokenizers give one U+FFFD for
 * each maximal broken sequence, SentencePiece one for each broken byte, `ByteFallback` one for each
 * byte of a run that is not UTF-8 as a whole. Ids that have no piece (rows that pad a model's
 * vocabulary) decode to nothing. */
#ifndef TSRI_TEXT_TOKENIZER_H
#define TSRI_TEXT_TOKENIZER_H

#include "base/bytes.h"
#include "base/json.h"

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

/* A growing list of ids. All zero is an empty one. */
typedef struct tsri_text_ids {
    int32_t *data;
    size_t count, capacity;
} tsri_text_ids;

tsr_status tsri_text_ids_append(tsri_text_ids *ids, const int32_t *data, size_t n);
void tsri_text_ids_clear(tsri_text_ids *ids);

enum {
    TSRI_TEXT_ADD_SPECIAL =
        1, /* the tokens that the file's template or the affixes put around a text */
    TSRI_TEXT_PARSE_SPECIAL =
        2 /* a special token's name in the text is that token, not its letters */
};

/* A Hugging Face tokenizer.json. TSR_E_UNSUPPORTED names a part that is not served; "padding" is
 * not read, of "truncation" only the length (tsri_text_max_length). */
tsr_status tsri_text_from_json(const json_t *json, tsri_text_tokenizer **out);
tsr_status tsri_text_from_json_text(const char *text, size_t n, tsri_text_tokenizer **out);

/* A SentencePiece tokenizer.model of type BPE with the identity character map. It adds no tokens of
 * its own, as SentencePiece: see tsri_text_set_affixes. */
tsr_status tsri_text_from_sentencepiece(const void *bytes, size_t n, tsri_text_tokenizer **out);

/* What a GGUF file says under tokenizer.ggml. Texts are not terminated. All borrowed for the call.
 */
typedef struct tsri_text_piece {
    const char *text;
    size_t size;
} tsri_text_piece;

typedef struct tsri_text_gguf {
    const char *model; /* "llama": SentencePiece BPE; "gpt2": byte-level BPE; "bert": WordPiece */
    const char
        *pre; /* which split patterns ("gpt-2", "llama-bpe", "qwen2", ...); NULL is "default" */
    const tsri_text_piece *tokens;
    size_t token_count;
    const float *scores; /* NULL, or one a token (needed by "llama") */
    size_t score_count;
    const int32_t *types; /* NULL, or one a token: 1 normal 2 unknown 3 control 4 user-defined 5
                             unused 6 byte */
    size_t type_count;
    const tsri_text_piece *merges; /* "a b"; needed by "gpt2" */
    size_t merge_count;
    int64_t bos, eos, unknown, padding;     /* -1: not given */
    int64_t mask, cls, sep;                 /* -1: not given; "bert" takes bos and eos then */
    int add_bos, add_eos, add_space_prefix; /* 0, 1, or -1: not given */
} tsri_text_gguf;

tsr_status tsri_text_from_gguf(const tsri_text_gguf *gguf, tsri_text_tokenizer **out);

/* BERT's vocab.txt: a piece a line, its id the number of the line from 0, "##" before those inside
 * a word. It adds [CLS] and [SEP], where the vocabulary has them. */
typedef struct tsri_text_bert {
    bool lowercase, strip_accents, chinese; /* do_lower_case, strip_accents (unless told, as
                                               lowercase), tokenize_chinese_chars */
    const char *names[TSRI_TEXT_ROLES]; /* of the special tokens; NULL: [UNK], [PAD], [MASK], [CLS],
                                           [SEP]; bos and eos: none */
} tsri_text_bert;

tsr_status tsri_text_from_bert_vocabulary(const char *text, size_t n, const tsri_text_bert *options,
                                          tsri_text_tokenizer **out);

/* A vocabulary that is a list of pieces by id, apart from what cuts a text: Marian's and M2M-100's
 * vocab.json, the fairseq order of XLM-R and mBART, CTranslate2's files. Pieces without text (size
 * 0) are gaps; of two alike the first is found. */
typedef struct tsri_text_listed {
    const char *source; /* for a reader: "Marian"; static */
    const tsri_text_piece *pieces;
    size_t count;
    const int32_t *specials; /* left out of decoded text; found in a text only when asked for */
    size_t special_count;
    int32_t unknown; /* -1: none; what then has no piece is left out */
    int32_t mask;    /* a special that takes the white space before it; -1: none */
    /* A tokenizer of SentencePiece pieces, taken over and set to NULL: it cuts a text, and its
     * pieces are looked up here. NULL: texts are pieces between spaces, and are joined by them. */
    tsri_text_tokenizer **segmenter;
} tsri_text_listed;

tsr_status tsri_text_from_list(const tsri_text_listed *listed, tsri_text_tokenizer **out);

/* llama2.c's tokenizer.bin for a vocabulary of V pieces. It adds bos (1), as the program does. */
tsr_status tsri_text_from_llama2c(const void *bytes, size_t n, int64_t V,
                                  tsri_text_tokenizer **out);

void tsri_text_tokenizer_destroy(tsri_text_tokenizer **tokenizer);

/* Appends text's ids. On an error nothing is appended. TSR_E_FORMAT: the file's regular expression
 * passed its match limit, or a WordLevel vocabulary has neither a word nor an unknown token. */
tsr_status tsri_text_encode(const tsri_text_tokenizer *tokenizer, const char *text, size_t n,
                            unsigned flags, tsri_text_ids *ids);
/* Appends a pair's ids; and, where `types` is not NULL, each one's segment (0 or 1, or what the
 * template says). */
tsr_status tsri_text_encode_pair(const tsri_text_tokenizer *tokenizer, const char *a, size_t na,
                                 const char *b, size_t nb, unsigned flags, tsri_text_ids *ids,
                                 tsri_text_ids *types);

/* Appends the text of ids, without special tokens if asked. */
tsr_status tsri_text_decode(const tsri_text_tokenizer *tokenizer, const int32_t *ids, size_t n,
                            bool skip_special, tsri_bytes *out);

/* The same, id by id: what all pushes and finish append together is what decode gives, and each
 * appends whole characters only. The tokenizer must outlive the stream. */
tsr_status tsri_text_stream_new(const tsri_text_tokenizer *tokenizer, bool skip_special,
                                tsri_text_stream **out);
tsr_status tsri_text_stream_push(tsri_text_stream *stream, int32_t id, tsri_bytes *out);
tsr_status tsri_text_stream_finish(tsri_text_stream *stream,
                                   tsri_bytes *out); /* what was held back; the stream is as new */
void tsri_text_stream_destroy(tsri_text_stream **stream);

/* One more than the highest id. */
int32_t tsri_text_vocabulary_size(const tsri_text_tokenizer *tokenizer);
/* The piece as the file spells it, borrowed, not terminated; NULL for an id without one. */
const char *tsri_text_piece_of(const tsri_text_tokenizer *tokenizer, int32_t id, size_t *n);
int32_t tsri_text_id_of(const tsri_text_tokenizer *tokenizer, const char *piece,
                        size_t n); /* -1: none */
bool tsri_text_is_special(const tsri_text_tokenizer *tokenizer, int32_t id);

int32_t tsri_text_role_id(const tsri_text_tokenizer *tokenizer,
                          tsri_text_role role); /* -1: not known */

/* Set-up, before other threads use it. What a tokenizer.json doesn't say (bos, eos, pad) comes from
 * config files. TSR_E_FORMAT: -1 is allowed, an id without a piece is not. */
tsr_status tsri_text_set_role(tsri_text_tokenizer *tokenizer, tsri_text_role role, int64_t id);
/* Replaces what is added around a text: bos before, eos behind, each sequence of a pair. The roles
 * must be known. */
tsr_status tsri_text_set_affixes(tsri_text_tokenizer *tokenizer, bool add_bos, bool add_eos);
/* RoBERTa's: cls A sep, and cls A sep sep B sep, all in segment 0; from the roles. */
tsr_status tsri_text_set_roberta_affixes(tsri_text_tokenizer *tokenizer);
/* Whether encoding with TSRI_TEXT_ADD_SPECIAL puts the bos token first. */
bool tsri_text_adds_bos(const tsri_text_tokenizer *tokenizer);

/* The most tokens that a text should have, those around it counted: model_max_length of
 * tokenizer_config.json, else truncation of tokenizer.json; 0 where neither says (or says a number
 * that means none). Encoding never cuts and never pads: the caller does, and it may know better
 * (sentence_bert_config.json's max_seq_length, the positions that a model has). */
int64_t tsri_text_max_length(const tsri_text_tokenizer *tokenizer);
void tsri_text_set_max_length(tsri_text_tokenizer *tokenizer, int64_t length); /* set-up */

/* Merges of byte-pair encoding that are left out at random, so that a word is cut in many ways; all
 * zero leaves out none.
 * source  Provilkov, Emelianenko, Voita 2020, "BPE-Dropout", arXiv:1910.13267 */
typedef struct tsri_text_dropout {
    double rate; /* share of the merges */
    uint64_t seed, stream, drawn;
} tsri_text_dropout;

/* Set-up: encoding draws on from `dropout`, borrowed, so only one thread may encode; NULL ends it.
 * A target side is meant, too. TSR_E_UNSUPPORTED: no byte-pair encoding. */
tsr_status tsri_text_set_dropout(tsri_text_tokenizer *tokenizer, tsri_text_dropout *dropout);

/* Where it comes from, for describe; borrowed: a literal. */
void tsri_text_set_source(tsri_text_tokenizer *tokenizer, const char *source);

/* Appends lines "name: value" for a reader: source, model, vocabulary, normalizer, pre-tokenizer,
 * decoder, added tokens; languages and the target side of a translation model. */
tsr_status tsri_text_describe(const tsri_text_tokenizer *tokenizer, tsri_bytes *out);

#endif
