/* tessera/tokenizer.h - text to token ids and back, by a model's tokenizer; training tokenizers. */
#ifndef TESSERA_TOKENIZER_H
#define TESSERA_TOKENIZER_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A text of any bytes; those that are not UTF-8 count as U+FFFD. It need not end with a 0 byte. */
typedef struct tsr_string {
    const char *data;
    size_t size;
} tsr_string;

enum {
    /** Add the tokens that the model's template puts around a text (beginning of sequence, ...). */
    TSR_ENCODE_ADD_SPECIAL = 1,
    /** The name of a special token in the text stands for that token. */
    TSR_ENCODE_PARSE_SPECIAL = 2
};

/**
 * Gives the token ids of a text. Bytes that are not UTF-8 count as U+FFFD.
 *
 * flags   TSR_ENCODE_*, or-ed
 * owner   *ids is new memory; the caller frees it with tsr_ids_free
 * thread  any number of threads at once
 * error   TSR_E_ARGUMENT  flags has an unknown bit
 *         TSR_E_STATE     the model has no tokenizer, or one that is not supported
 *                         (tsr_model_info.tokenizer_why says why)
 */
TSR_API tsr_status tsr_encode(const tsr_model *model, const char *text, size_t size, uint32_t flags,
                              int32_t **ids, size_t *n);
/** Frees ids; NULL is allowed. */
TSR_API void tsr_ids_free(int32_t *ids);

/**
 * Gives the text of ids, valid UTF-8 that ends with a 0 byte.
 *
 * skip_special  not 0: special tokens give no text
 * units         *size: bytes, without the 0 byte; size may be NULL
 * owner         *text is new memory; the caller frees it with tsr_text_free
 * thread        any number of threads at once
 * error         TSR_E_ARGUMENT  an id is outside the vocabulary
 *               TSR_E_STATE     as for tsr_encode
 */
TSR_API tsr_status tsr_decode(const tsr_model *model, const int32_t *ids, size_t n,
                              uint32_t skip_special, char **text, size_t *size);
/**
 * Gives the bytes that a token stands for behind another one: the space that a word begins with, too, and
 * of a part of a character its bytes alone, so they need not be UTF-8. A 0 byte ends them.
 *
 * units   *size: bytes, without the 0 byte
 * owner   *bytes is new memory; the caller frees it with tsr_text_free
 * thread  any number of threads at once
 * error   TSR_E_ARGUMENT  the id is outside the vocabulary
 *         TSR_E_STATE     as for tsr_encode
 */
TSR_API tsr_status tsr_token_bytes(const tsr_model *model, int32_t id, char **bytes, size_t *size);

/** Frees a text; NULL is allowed. */
TSR_API void tsr_text_free(char *text);

/**
 * The piece of an id, spelled as in the tokenizer's file; NULL for an id that has none.
 *
 * units   *size: bytes; no 0 byte ends the piece
 * owner   the model
 * thread  any number of threads at once
 */
TSR_API const char *tsr_piece(const tsr_model *model, int32_t id, size_t *size);

typedef enum tsr_tokenizer_type {
    /** Byte-level byte-pair encoding: GPT-2's splitting into words, all 256 bytes, and merges. */
    TSR_TOKENIZER_BPE = 0,
    TSR_TOKENIZER_CHAR = 1 /**< a token for each Unicode character seen */
} tsr_tokenizer_type;

typedef struct tsr_tokenizer_training {
    uint32_t struct_size;
    uint32_t type; /**< tsr_tokenizer_type */
    /** The most tokens, special ones included; 0: 32000 (TSR_TOKENIZER_CHAR: all characters). */
    int64_t vocab_size;
    /** The special tokens, which get the ids 0, 1, ... in this order; all different, none empty. */
    const char *const *specials;
    size_t n_specials;
    /** TSR_TOKENIZER_CHAR: the special token for characters that training did not see; NULL: they
     * are refused. */
    const char *unknown;
    /** Special tokens that are put before and after each text; NULL: none. */
    const char *begin, *end;
    /** TSR_TOKENIZER_BPE: a pair that occurs less often is not merged; 0: any is. TSR_TOKENIZER_CHAR: 0. */
    int64_t min_frequency;
    /** Told how many bytes of text are read, and how many there are; then the same of merges.
     * Returns not 0 to cancel. May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
} tsr_tokenizer_training;

typedef struct tsr_tokenizer_trained {
    uint32_t struct_size, reserved;
    /** Tokens (fewer than asked for where the text has no more pairs), and merges. */
    int64_t vocab_size, merges;
    uint64_t bytes, words; /**< of text; different words (TSR_TOKENIZER_CHAR: characters) */
    uint64_t pruned;       /**< rare words that were dropped to keep memory bounded */
    uint64_t nanoseconds;
} tsr_tokenizer_trained;

/**
 * Trains a tokenizer on text files and writes it as Hugging Face's tokenizer.json, whole or not at
 * all. The same files and options give the same bytes.
 *
 * BPE gives the merges that Hugging Face's BpeTrainer gives with its ByteLevel pre-tokenizer and
 * alphabet; of pairs that occur equally often, both choose the same.
 *
 * options may be NULL
 * out     the path of the file to write
 * trained may be NULL
 * alloc   the different words of the text, at most 2^23: beyond that the rarest are dropped
 * thread  any
 * error   TSR_E_ARGUMENT   no file is given; the vocabulary is too small for the bytes and the
 *                          special tokens; a special token occurs twice; an option is for the
 *                          other type (unknown, min_frequency)
 *         TSR_E_FORMAT     a file is empty or not UTF-8 (the sentence gives line and byte); there
 *                          are more characters than the vocabulary has room for
 *         TSR_E_IO         a file can't be read, or `out` can't be written
 *         TSR_E_CANCELLED  progress asked for it
 * exact   tests/cli/training/tokenizer_train.py, against the tokenizers library
 * source  Sennrich, Haddow, Birch 2016, arXiv:1508.07909; Radford et al. 2019
 */
TSR_API tsr_status tsr_tokenizer_train(const tsr_tokenizer_training *options,
                                       const char *const *paths, size_t n_paths, const char *out,
                                       tsr_tokenizer_trained *trained);

#ifdef __cplusplus
}
#endif
#endif
