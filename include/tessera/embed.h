/* tessera/embed.h - texts as vectors: those with like meaning have a large cosine. */
#ifndef TESSERA_EMBED_H
#define TESSERA_EMBED_H

#include "tessera/model.h"
#include "tessera/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_embedder tsr_embedder;

typedef struct tsr_embed_options {
    uint32_t struct_size, reserved;
    int64_t max_tokens; /**< a longer text is cut; 0: as the model's files say */
    /** Name of one of the model's prompts (config_sentence_transformers.json), which is put before
     * each text; "": none; NULL: the model's default, where it has one. */
    const char *prompt;
    /** Texts done so far, and in all of the call. Not 0 cancels. May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
} tsr_embed_options;

/**
 * Readies a model for embedding. Of a sentence-transformers folder everything is done as its files
 * say: pooling, dense layers, normalisation, maximum length, lower case, prompts. Any other encoder
 * is pooled by the mean of its last hidden states, and not normalised.
 *
 * owner   the caller destroys *out, before the model is closed
 * thread  one call at a time for a model
 * error   TSR_E_STATE        no encoder, no tokenizer, or opened without a device
 *         TSR_E_FORMAT       a file of the folder breaks its rules: file and field are named
 *         TSR_E_UNSUPPORTED  a module or a way of pooling that is not served
 *         TSR_E_ARGUMENT     max_tokens above what the model reads; no such prompt: all are listed
 */
TSR_API tsr_status tsr_embedder_create(tsr_model *model, const tsr_embed_options *options,
                                       tsr_embedder **out);
TSR_API void tsr_embedder_destroy(tsr_embedder **embedder); /**< takes NULL content; leaves NULL */

typedef struct tsr_embedder_info {
    uint32_t struct_size;
    uint32_t width;       /**< of a vector */
    uint32_t layers;      /**< of the model */
    uint32_t normalized;  /**< 1: vectors have length 1 */
    uint32_t has_modules; /**< 1: a sentence-transformers folder; 0: pooling by the mean was assumed
                           */
    uint32_t model_width; /**< of the hidden states */
    int64_t max_tokens;
    const char *pooling;      /**< "mean", "first", "max", "last" */
    const char *prompt;       /**< the text that is put before each; "" */
    const char *prompt_names; /**< of all, "a, b"; "" */
} tsr_embedder_info;
/** Strings live as long as the embedder. */
TSR_API tsr_status tsr_embedder_info_get(const tsr_embedder *embedder, tsr_embedder_info *out);

typedef struct tsr_embed_stats {
    uint32_t struct_size, reserved;
    uint64_t tokens; /**< that were run */
    uint64_t cut;    /**< texts that were longer than max_tokens */
} tsr_embed_stats;

/**
 * The vector of each of n texts. Texts of about one length run together; each gets the bytes that
 * it would get alone.
 *
 * shape   vectors: [n, width]
 * error   TSR_E_DEVICE     a vector is not finite: its text is named
 *         TSR_E_CANCELLED  progress asked for it
 */
TSR_API tsr_status tsr_embed(tsr_embedder *embedder, const tsr_string *texts, size_t n,
                             float *vectors, tsr_embed_stats *stats);

/** The tokens of a text, and a vector of each. Valid for the call. */
typedef struct tsr_token_vectors {
    uint32_t struct_size;
    uint32_t width;
    size_t text; /**< its number in the call */
    size_t n;
    const int32_t *ids;   /**< [n] */
    const float *vectors; /**< [n, width] */
} tsr_token_vectors;

/**
 * Visits the tokens of each text in order, with their vectors after a layer: 1 is the first,
 * `layers` the last; layer 0 is the row of the embedding table itself, the same for a token
 * wherever it stands. Prompts are put before texts as for tsr_embed; nothing is pooled.
 *
 * error   TSR_E_ARGUMENT   no such layer
 *         TSR_E_CANCELLED  visit answers not 0
 */
TSR_API tsr_status tsr_embed_tokens(tsr_embedder *embedder, const tsr_string *texts, size_t n,
                                    uint32_t layer,
                                    int (*visit)(void *data, const tsr_token_vectors *tokens),
                                    void *data, tsr_embed_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
