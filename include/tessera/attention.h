/* tessera/attention.h - which word a model looks at while it reads another: the attention of a
 * text, as numbers and as a page to look at. */
#ifndef TESSERA_ATTENTION_H
#define TESSERA_ATTENTION_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_attention tsr_attention;

typedef struct tsr_attention_options {
    uint32_t struct_size;
    uint32_t reserved;
    const char *target; /**< what the decoder of an encoder-decoder reads; NULL: the likeliest,
                           which the model generates first. NULL for other models */
    size_t target_size;
    const char *source_language,
        *target_language;   /**< as for tsr_translate; NULL: what the model's files say */
    int64_t max_new_tokens; /**< of a generated target; 0: 256, or what the model reads */
    int32_t first_layer,
        layers; /**< from 0; layers 0: all from the first on. A stack that ends before has fewer */
    int32_t first_head, heads; /**< likewise */
} tsr_attention_options;

/**
 * Runs a text (special tokens written in it count as such) through a model, and keeps the
 * probabilities.
 *
 * owner   the caller destroys *out; it doesn't need the model any more
 * error   TSR_E_ARGUMENT  an empty text; layers or heads that no stack has; a target for a model
 * without encoder and decoder; a text longer than the model reads (both numbers said) TSR_E_STATE
 * the model has no tokenizer, or was opened without a device
 */
TSR_API tsr_status tsr_attention_create(tsr_model *model, const char *text, size_t size,
                                        const tsr_attention_options *options, tsr_attention **out);
/** Takes NULL content; leaves NULL. */
TSR_API void tsr_attention_destroy(tsr_attention **attention);

typedef struct tsr_attention_token {
    const char *text; /**< UTF-8, with the space before it; a character in several tokens stands at
                         the last of them, and U+2026 at the others */
    int32_t id;
    uint32_t special; /**< 1: no text, but a sign of the tokenizer's or the model's */
} tsr_attention_token;

typedef enum tsr_attention_kind {
    TSR_ATTENTION_SELF = 0,   /**< every token sees every other: an encoder */
    TSR_ATTENTION_CAUSAL = 1, /**< each sees itself and those before it: a decoder */
    TSR_ATTENTION_CROSS = 2   /**< those of the target see those of the source */
} tsr_attention_kind;

/** One kind of attention: weights[layer][head][t][s] is the share of its attention that query t
 * gives to key s; each row sums to 1. All lives as long as the tsr_attention. */
typedef struct tsr_attention_map {
    uint32_t struct_size;
    uint32_t kind;               /**< tsr_attention_kind */
    const char *queries, *keys;  /**< whose: "text"; "source", "target" of an encoder-decoder */
    int32_t first_layer, layers; /**< the number of the first that is here, and how many are */
    int32_t first_head, heads;
    int64_t T, S;
    const tsr_attention_token *query, *key; /**< [T], [S] */
    const float *weights;                   /**< [layers, heads, T, S] */
} tsr_attention_map;

/** One of a model of one stack; of an encoder-decoder three: cross, source, target. */
TSR_API size_t tsr_attention_map_count(const tsr_attention *attention);
/** error  TSR_E_ARGUMENT: index is not below the count */
TSR_API tsr_status tsr_attention_map_get(const tsr_attention *attention, size_t index,
                                         tsr_attention_map *out);

/**
 * Writes a page for a browser: heat maps of every layer and head, and the words shaded by what a
 * chosen one gives them. One file, which needs no network; weights in steps of 1/255.
 *
 * error   TSR_E_ARGUMENT  it would be larger than 5 MB: the sentence says how many layers fit
 *         TSR_E_IO        it cannot be written; nothing is left behind
 */
TSR_API tsr_status tsr_attention_write_page(const tsr_attention *attention, const char *path);

#ifdef __cplusplus
}
#endif
#endif
