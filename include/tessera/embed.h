/* tessera/embed.h - texts as vectors: texts of similar meaning have a large cosine. */
#ifndef TESSERA_EMBED_H
#define TESSERA_EMBED_H

#include "tessera/model.h"
#include "tessera/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_embedder tsr_embedder; /**< a model, ready to embed */

typedef struct tsr_embed_options {
    uint32_t struct_size, reserved;
    int64_t max_tokens; /**< a longer text is cut; 0: as the model's files say */
    /** The name of one of the model's prompts (config_sentence_transformers.json), which is put
     * before each text; "": no prompt; NULL: the instruction of the task that the model was opened with
     * (tsr_model_options.task), else the model's default, where it has one. */
    const char *prompt;
    /** Told how many of the call's texts are done, and how many there are; returns not 0 to cancel.
     * May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
    /** How a text's vector is made of its tokens': "mean", "cls" (or "first"), "last", "max",
     * "sqrt-mean", "weighted-mean"; it replaces the pooling that the model's files name. NULL: as they
     * say or, where they say nothing, "mean"; of a bare decoder (LlamaModel) "last". */
    const char *pooling;
    /** The text that is put before each text, such as E5's "query: ", in place of one of the model's prompts;
     * NULL: `prompt` says it. */
    const char *prompt_text;
} tsr_embed_options;

/**
 * Prepares a model for embedding. A sentence-transformers folder is followed in everything that its
 * files say: pooling, dense layers, normalisation, the width that vectors are cut to, maximum length,
 * lower case, prompts. The vector of any other encoder is the mean of its last hidden states, not
 * normalised; that of a bare decoder (its class is LlamaModel, Qwen3Model, ...), opened with
 * tsr_model_options.vectors, is the last hidden state of its last token, not normalised.
 *
 * options may be NULL
 * owner   the caller destroys *out, before the model is closed
 * thread  one call at a time for a model
 * error   TSR_E_STATE        the model has no encoder or no tokenizer, or was opened without a
 *                            device
 *         TSR_E_FORMAT       a file of the folder breaks its format: the sentence names file and
 *                            field
 *         TSR_E_UNSUPPORTED  a module, a way of pooling or a setting of texts that is not supported
 *         TSR_E_ARGUMENT     max_tokens is above what the model reads; the model has no such prompt
 *                            (the sentence lists those that it has); there is no such pooling, or it
 *                            doesn't fit the dense layers behind it; both `prompt` and
 *                            `prompt_text` are given; of a decoder that is not a bare
 *                            one, nothing says the pooling
 */
TSR_API tsr_status tsr_embedder_create(tsr_model *model, const tsr_embed_options *options,
                                       tsr_embedder **out);
/** Destroys it. *embedder may be NULL, and is NULL afterwards. */
TSR_API void tsr_embedder_destroy(tsr_embedder **embedder);

typedef struct tsr_embedder_info {
    uint32_t struct_size;
    uint32_t width;       /**< of a vector */
    uint32_t layers;      /**< of the encoder */
    uint32_t normalized;  /**< 1: vectors have length 1; 0 also where they are cut */
    uint32_t has_modules; /**< 1: a sentence-transformers folder; 0: no file says the pooling */
    uint32_t model_width; /**< of the hidden states */
    int64_t max_tokens;
    const char *pooling; /**< "mean", "first", "max", "last", "sqrt-mean", "weighted-mean"; several
                                   with ", " between */
    const char *prompt;  /**< the text that is put before each text; or "" */
    const char *prompt_names; /**< all that the model has: "a, b"; or "" */
    const char *task;         /**< whose adapter the model was opened with; or "" */
    const char *tasks;        /**< all that the model has adapters for: "a, b"; or "" */
} tsr_embedder_info;
/**
 * Tells what an embedder gives.
 *
 * owner   strings belong to the embedder
 * error   TSR_E_ARGUMENT  out->struct_size is not set
 */
TSR_API tsr_status tsr_embedder_info_get(const tsr_embedder *embedder, tsr_embedder_info *out);

typedef struct tsr_embed_stats {
    uint32_t struct_size, reserved;
    uint64_t tokens; /**< tokens that were run */
    uint64_t cut;    /**< texts that were cut, as they were longer than max_tokens */
} tsr_embed_stats;

/**
 * Gives the vector of each of n texts. Texts of similar length run together; each gets the bytes
 * that it would get alone.
 *
 * stats   may be NULL
 * shape   vectors: [n, width]
 * units   vectors have length 1 where tsr_embedder_info.normalized is 1
 * thread  one call at a time for a model
 * error   TSR_E_DEVICE     a vector is not finite: the sentence names its text
 *         TSR_E_CANCELLED  progress asked for it
 */
TSR_API tsr_status tsr_embed(tsr_embedder *embedder, const tsr_string *texts, size_t n,
                             float *vectors, tsr_embed_stats *stats);

/** The tokens of a text, and a vector for each. Valid during the visit. */
typedef struct tsr_token_vectors {
    uint32_t struct_size;
    uint32_t width;
    size_t text; /**< the text's number in the call */
    size_t n;
    const int32_t *ids;   /**< [n] */
    const float *vectors; /**< [n, width] */
} tsr_token_vectors;

/**
 * Visits the tokens of each text in order, with their vectors after a layer: 1 is the first,
 * `layers` the last. Layer 0 is the row of the embedding table itself, the same for a token
 * wherever it stands. Prompts are put before texts as for tsr_embed; nothing is pooled.
 *
 * visit   returns not 0 to cancel
 * stats   may be NULL
 * thread  one call at a time for a model
 * error   TSR_E_ARGUMENT   the model has no such layer
 *         TSR_E_CANCELLED  visit asked for it
 */
TSR_API tsr_status tsr_embed_tokens(tsr_embedder *embedder, const tsr_string *texts, size_t n,
                                    uint32_t layer,
                                    int (*visit)(void *data, const tsr_token_vectors *tokens),
                                    void *data, tsr_embed_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
