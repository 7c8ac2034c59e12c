/* tessera/attention.h - which word a model looks at while it reads another: the attention of a
 * text, as numbers and as a page for a browser. */
#ifndef TESSERA_ATTENTION_H
#define TESSERA_ATTENTION_H

#include "tessera/generate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_attention tsr_attention; /**< the attention of one text */

typedef struct tsr_attention_options {
    uint32_t struct_size;
    uint32_t reserved;
    /** What the decoder of an encoder-decoder reads; NULL: the likeliest text, which the model then
     * generates first. NULL for other models. */
    const char *target;
    size_t target_size;
    /** As for tsr_translate; NULL: what the model's files say. */
    const char *source_language, *target_language;
    int64_t max_new_tokens; /**< of a generated target; 0: 256, or what the model reads */
    /** From 0; layers 0: all from the first on. A stack that ends earlier gives fewer. */
    int32_t first_layer, layers;
    int32_t first_head, heads; /**< likewise */
    /** Not NULL: what a model of one stack reads in place of the text, which is not read then. */
    const int32_t *ids;
    size_t n_ids;
    /** Not NULL, and no ids: a conversation, as in tsr_prompt, that ends with a 0 byte. The chat template
     * writes the whole of it, with its last answer; the text is not read then. */
    const char *messages;
    const tsr_chat_options *chat; /**< of `messages`; NULL: the model's own template */
    /** A text or target of more tokens is refused before the model runs; 0: as many as it reads. The
     * shares of all layers and heads are in memory at the same time: T x S floats for each head. */
    int64_t most_tokens;
} tsr_attention_options;

/**
 * Runs a text through a model and keeps the attention probabilities. The names of special tokens in
 * the text count as these tokens.
 *
 * text    may be NULL where the options have ids or messages
 * options may be NULL
 * owner   the caller destroys *out; it stays valid after the model is closed
 * thread  one call at a time for a model
 * error   TSR_E_ARGUMENT     the text is empty; no stack has these layers or heads; a target is
 *                            given for a model that is not an encoder-decoder, or ids or messages
 *                            for one that is; an id is outside the vocabulary; the text is longer
 *                            than the model reads, or than most_tokens (the sentence gives both
 *                            numbers); the template refuses the messages
 *         TSR_E_FORMAT       the tokenizer gives an id that the model's vocabulary does not have;
 *                            the messages are not JSON
 *         TSR_E_UNSUPPORTED  the model's files name no token that a target begins with; the model
 *                            has no attention, or, for messages, no chat template
 *         TSR_E_STATE        the model has no tokenizer, or was opened without a device
 */
TSR_API tsr_status tsr_attention_create(tsr_model *model, const char *text, size_t size,
                                        const tsr_attention_options *options, tsr_attention **out);
/** Destroys it. *attention may be NULL, and is NULL afterwards. */
TSR_API void tsr_attention_destroy(tsr_attention **attention);

typedef struct tsr_attention_token {
    /** UTF-8, with the space before it. A character that several tokens make up is shown at the
     * last of them, and U+2026 at the others. */
    const char *text;
    int32_t id;
    uint32_t special; /**< 1: not text, but a special token of the tokenizer or the model */
} tsr_attention_token;

typedef enum tsr_attention_kind {
    TSR_ATTENTION_SELF = 0,   /**< each token sees all tokens: an encoder */
    TSR_ATTENTION_CAUSAL = 1, /**< each token sees itself and those before it: a decoder */
    TSR_ATTENTION_CROSS = 2   /**< the target's tokens see those of the source */
} tsr_attention_kind;

/** One kind of attention: weights[layer][head][t][s] is the share of its attention that query t
 * gives to key s; each row sums to 1. Everything is valid as long as the tsr_attention. */
typedef struct tsr_attention_map {
    uint32_t struct_size;
    uint32_t kind;               /**< tsr_attention_kind */
    const char *queries, *keys;  /**< whose: "text"; "source" or "target" of an encoder-decoder */
    int32_t first_layer, layers; /**< the number of the first layer that is here, and how many */
    int32_t first_head, heads;   /**< likewise */
    int64_t T, S;
    const tsr_attention_token *query, *key; /**< [T], [S] */
    const float *weights;                   /**< [layers, heads, T, S] */
} tsr_attention_map;

/** The number of maps: 1 for a model of one stack; 3 for an encoder-decoder: cross, source,
 * target. */
TSR_API size_t tsr_attention_map_count(const tsr_attention *attention);
/**
 * Gives map number `index`.
 *
 * owner   its arrays and texts belong to `attention`
 * error   TSR_E_ARGUMENT  index is not below the count
 */
TSR_API tsr_status tsr_attention_map_get(const tsr_attention *attention, size_t index,
                                         tsr_attention_map *out);

/**
 * Writes a page for a browser: heat maps of every layer and head, and the words shaded by the
 * attention that a chosen word gives them. The page is one file and needs no network.
 *
 * units   weights are stored in steps of 1/255
 * error   TSR_E_ARGUMENT  the page would be larger than 5 MB: the sentence says how many layers fit
 *         TSR_E_IO        the file cannot be written; nothing is left behind
 */
TSR_API tsr_status tsr_attention_write_page(const tsr_attention *attention, const char *path);
/**
 * What the page's script draws, as JSON: an object with
 *
 *     model, version, about       texts: the last part of the model's path; Tessera's version; the text
 *     tokens                      an object: "text", or "source" and "target", as lists of {"text"}; with
 *                                 "made": 1 for special tokens
 *     maps                        a list of {"name", "kind", "queries", "keys", "layers", "heads",
 *                                 "weights"}; "kind" is "self", "causal" or "cross", the next two name
 *                                 lists of `tokens`, then two lists of numbers, and the shares, packed
 *
 * units   *size: bytes, without the 0 byte that ends the text; may be NULL
 * owner   the caller: tsr_text_free(*text)
 * thread  any number of threads at once
 * error   TSR_E_ARGUMENT  it would be larger than 5 MB: the sentence says how many layers fit
 */
TSR_API tsr_status tsr_attention_json(const tsr_attention *attention, char **text, size_t *size);

#ifdef __cplusplus
}
#endif
#endif
