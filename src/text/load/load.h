/* text/load/load.h - loads a tokenizer from each file format that Tessera reads.
 *
 * Error messages name the part of the file and the value; the caller knows the file and puts its
 * path before them. */
#ifndef TSRI_TEXT_LOAD_LOAD_H
#define TSRI_TEXT_LOAD_LOAD_H

#include "base/json.h"
#include "text/tokenizer/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A Hugging Face tokenizer.json. TSR_E_UNSUPPORTED names a part that is not supported. "padding" is
 * not read, and only the length of "truncation" is (tsri_text_max_length). */
tsr_status tsri_text_from_json(const json_t *json, tsri_text_tokenizer **out);
/* `what`: the name of the file for messages. Much faster for a large vocabulary. */
tsr_status tsri_text_from_json_text(const char *text, size_t n, const char *what,
                                    tsri_text_tokenizer **out);
/* The same for a model whose embedding has so many rows (0: not known). Added tokens behind them are left
 * out, so their names are plain text: Gemma 3's <image_soft_token> in a model that reads no images, a <pad>
 * that only training had. steps: members that the normalizer or pre-tokenizer of a type has instead of its own, where it
 * stands by itself, {"ByteLevel": {"add_prefix_space": true}}; NULL: none. */
tsr_status tsri_text_from_json_for(const char *text, size_t n, const char *what, int64_t rows,
                                   const json_t *steps, tsri_text_tokenizer **out);

/* Set-up: adds tokens to a tokenizer whose own file has no list of them (SentencePiece's models, vocab.txt). The
 * list is that of a tokenizer.json; it may rename pieces and change the flags of tokens. what: its name for messages.
 * rows: as above. */
tsr_status tsri_text_add_tokens(const json_t *list, const char *what, int64_t rows,
                                tsri_text_tokenizer *tokenizer);

/* A SentencePiece tokenizer.model of type BPE with the identity character map. It adds no tokens of
 * its own, as SentencePiece adds none: see tsri_text_set_affixes. */
tsr_status tsri_text_from_sentencepiece(const void *bytes, size_t n, tsri_text_tokenizer **out);

/* What a GGUF file has under tokenizer.ggml, and the names of its model. Pieces are not terminated. Everything
 * is borrowed for the call. */
typedef struct tsri_text_piece {
    const char *text;
    size_t size;
} tsri_text_piece;

typedef struct tsri_text_gguf {
    const char
        *model; /* "llama": SentencePiece BPE; "t5": SentencePiece Unigram; "gpt2": byte-level
                          BPE; "whitespace": BPE of words; "bert": WordPiece */
    const char
        *pre; /* which split patterns ("gpt-2", "llama-bpe", "qwen2", ...); NULL is "default" */
    const char *name, *architecture; /* general.name, general.architecture; NULL: not given */
    const tsri_text_piece *tokens;
    size_t token_count;
    const float *scores; /* NULL, or one for each token (needed by "llama" and "t5") */
    size_t score_count;
    const int32_t *types; /* NULL, or one for each token: 1 normal 2 unknown 3 control 4
                             user-defined 5 unused 6 byte */
    size_t type_count;
    const tsri_text_piece *merges; /* "a b"; needed by "gpt2" */
    size_t merge_count;
    /* An id that `tokens` doesn't have counts as not given. */
    int64_t bos, eos, unknown, padding; /* -1: not given */
    int64_t mask, cls, sep;             /* -1: not given; then "bert" takes bos and eos */
    int add_bos, add_eos, add_sep, add_space_prefix, remove_extra_spaces, lowercase,
        strip_accents;    /* 0, 1, or -1: not given */
    const void *charsmap; /* "t5": the precompiled character map; NULL: there is none */
    size_t charsmap_size;
} tsri_text_gguf;

/* Of a file that states nothing: what -1 says above. */
extern const tsri_text_gguf tsri_text_gguf_unstated;
tsr_status tsri_text_from_gguf(const tsri_text_gguf *gguf, tsri_text_tokenizer **out);

/* BERT's vocab.txt: one piece on each line, its id the number of the line from 0, "##" before
 * pieces inside a word. It adds cls and sep ([CLS] and [SEP]) where the vocabulary has them. */
typedef struct tsri_text_bert {
    bool lowercase, strip_accents, chinese; /* do_lower_case, strip_accents (the same as
                                               lowercase unless given), tokenize_chinese_chars */
    bool roberta; /* pairs and the mask token are RoBERTa's, whose names tokens have: MPNet */
    const char *names[TSRI_TEXT_ROLES]; /* of the special tokens; NULL: [UNK], [PAD], [MASK], [CLS],
                                           [SEP]; bos and eos: none. roberta: [UNK], <pad>, <mask>,
                                           <s>, </s>; bos and eos: <s>, </s> */
} tsri_text_bert;

tsr_status tsri_text_from_bert_vocabulary(const char *text, size_t n, const tsri_text_bert *options,
                                          tsri_text_tokenizer **out);

/* A vocabulary that is a list of pieces by id, kept apart from what cuts a text: the vocab.json of
 * Marian and M2M-100, the fairseq order of XLM-R and mBART, CTranslate2's files. Pieces without
 * text (size 0) are gaps; of two equal pieces the first is found. */
typedef struct tsri_text_listed {
    const char *source; /* a name for people: "Marian"; static */
    const tsri_text_piece *pieces;
    size_t count;
    const int32_t *specials; /* left out of decoded text; found in a text only on request */
    size_t special_count;
    int32_t unknown; /* found likewise; -1: none; then text that has no piece is left out */
    int32_t mask;    /* a special token that takes the white space before it; -1: none */
    /* A tokenizer of SentencePiece pieces, which is taken over and set to NULL: it cuts a text, and
     * its pieces are looked up here. NULL: texts are pieces separated by spaces, and are joined by
     * spaces. */
    tsri_text_tokenizer **segmenter;
} tsri_text_listed;

tsr_status tsri_text_from_list(const tsri_text_listed *listed, tsri_text_tokenizer **out);

/* llama2.c's tokenizer.bin for a vocabulary of V pieces. It adds bos (1), as llama2.c does. */
tsr_status tsri_text_from_llama2c(const void *bytes, size_t n, int64_t V,
                                  tsri_text_tokenizer **out);

/* A file of tiktoken, as OpenAI's encodings, Llama 3 and 4 (tokenizer.model), Qwen 1 (qwen.tiktoken) and
 * Kimi K2 (tiktoken.model) have it: a line for each piece, its bytes in base64 and its id. How a text is
 * cut, and the special tokens, follow from one of these. */
typedef struct tsri_text_named_id {
    int64_t id;
    const char *text;
} tsri_text_named_id;

typedef struct tsri_text_tiktoken {
    const char *model_type;             /* of a config.json; NULL: not known */
    const char *file;                   /* its name without folders; NULL: not known */
    const tsri_text_named_id *specials; /* in place of what the encoding has under these ids */
    size_t special_count;
} tsri_text_tiktoken;

bool tsri_text_is_tiktoken(const char *text, size_t n); /* by its first line */
tsr_status tsri_text_from_tiktoken(const char *text, size_t n, const tsri_text_tiktoken *options,
                                   tsri_text_tokenizer **out);

/* Mistral's tekken.json. It adds bos (<s>), as Mistral's models have it. */
bool tsri_text_is_tekken(const char *text, size_t n); /* whether it has a list "vocab" */
tsr_status tsri_text_from_tekken(const char *text, size_t n, tsri_text_tokenizer **out);

#endif
