/* tessera/tokenizer.h - text to token ids and back, by a model's tokenizer; making tokenizers. */
#ifndef TESSERA_TOKENIZER_H
#define TESSERA_TOKENIZER_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A text: any bytes; what is no UTF-8 counts as U+FFFD. Not terminated. */
typedef struct tsr_string {
    const char *data;
    size_t size;
} tsr_string;

enum {
    TSR_ENCODE_ADD_SPECIAL = 1,  /**< the tokens that the model's template puts around a text
                                    (beginning of sequence, ...) */
    TSR_ENCODE_PARSE_SPECIAL = 2 /**< the name of a special token in the text is that token */
};

/** Ids of a text (any bytes; what is no UTF-8 counts as U+FFFD), in new memory.
 *  owner   the caller: tsr_ids_free
 *  thread  any number at a time
 *  error   TSR_E_STATE  the model has no tokenizer, or one that is not served (tsr_model_info says
 * why) */
TSR_API tsr_status tsr_encode(const tsr_model *model, const char *text, size_t size, uint32_t flags,
                              int32_t **ids, size_t *n);
TSR_API void tsr_ids_free(int32_t *ids);

/**
 * Text of n ids, valid UTF-8 with a 0 byte behind it, in new memory.
 *
 * size   its bytes; may be NULL
 * owner  the caller: tsr_text_free
 * error  TSR_E_ARGUMENT  an id outside the vocabulary
 */
TSR_API tsr_status tsr_decode(const tsr_model *model, const int32_t *ids, size_t n,
                              uint32_t skip_special, char **text, size_t *size);
TSR_API void tsr_text_free(char *text);

/** The piece of an id as its file spells it, borrowed; NULL for an id without one. Not terminated.
 */
TSR_API const char *tsr_piece(const tsr_model *model, int32_t id, size_t *size);

typedef enum tsr_tokenizer_type {
    /** Byte-level byte-pair encoding: GPT-2's words, all 256 bytes, and merges of them. */
    TSR_TOKENIZER_BPE = 0,
    TSR_TOKENIZER_CHAR = 1 /**< a token for each Unicode character seen */
} tsr_tokenizer_type;

typedef struct tsr_tokenizer_training {
    uint32_t struct_size;
    uint32_t type;      /**< tsr_tokenizer_type */
    int64_t vocab_size; /**< the most tokens, special ones counted; 0: 32000, of characters all */
    /** These tokens have the ids 0, 1, ... in this order; none of them twice or empty. */
    const char *const *specials;
    size_t n_specials;
    /** One of the specials, for characters that weren't seen; NULL: they are refused. Of
     * TSR_TOKENIZER_CHAR. */
    const char *unknown;
    /** Specials that are put before and behind each text; NULL: none. */
    const char *begin, *end;
    int64_t
        min_frequency; /**< a pair seen less often is not merged; 0: any. Of TSR_TOKENIZER_BPE */
    /** Bytes of text read so far, and in all; then merges. Not 0 cancels. May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
} tsr_tokenizer_training;

typedef struct tsr_tokenizer_trained {
    uint32_t struct_size, reserved;
    int64_t vocab_size,
        merges;            /**< tokens: fewer than asked for where the text has no more pairs */
    uint64_t bytes, words; /**< of text; different words (of TSR_TOKENIZER_CHAR: characters) */
    uint64_t pruned;       /**< rare words that were forgotten, so that memory stays bounded */
    uint64_t nanoseconds;
} tsr_tokenizer_trained;

/**
 * Makes a tokenizer of text files and writes it as Hugging Face's tokenizer.json, whole or not at
 * all. The same files and options give the same bytes.
 *
 * BPE gives the merges that Hugging Face's BpeTrainer gives with its ByteLevel pre-tokenizer and
 * alphabet, of pairs seen equally often the same one.
 *
 * alloc   the different words of the text, at most 2^23 of them: past that the rarest are forgotten
 * error   TSR_E_ARGUMENT   a vocabulary too small for the bytes and the specials; a special twice
 *         TSR_E_FORMAT     a file that is empty or not UTF-8, by line and byte; more characters
 * than the vocabulary has room for TSR_E_IO         a file that can't be read, `out` that can't be
 * written TSR_E_CANCELLED  progress asked for it exact   tests/cli/tokenizer_train.py, against the
 * tokenizers library source  Sennrich, Haddow, Birch 2016, arXiv:1508.07909; Radford et al. 2019
 */
TSR_API tsr_status tsr_tokenizer_train(const tsr_tokenizer_training *options,
                                       const char *const *paths, size_t n_paths, const char *out,
                                       tsr_tokenizer_trained *trained);

#ifdef __cplusplus
}
#endif
#endif
