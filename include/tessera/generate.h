/* tessera/generate.h - continuing text with a decoder, and conversations. */
#ifndef TESSERA_GENERATE_H
#define TESSERA_GENERATE_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** When a beam search ends: `early_stopping` of transformers' generate. In all cases there must be
 * as many finished hypotheses as beams. */
typedef enum tsr_early_stopping {
    TSR_EARLY_HEURISTIC = 0, /**< false: the best live beam, were it to end at its present length,
                                would score no better than the worst finished one */
    TSR_EARLY_FIRST = 1,     /**< true: at once */
    TSR_EARLY_NEVER = 2      /**< "never": no continuation of a live beam can score better (with a
                                length penalty above 0, were it as long as allowed) */
} tsr_early_stopping;

/** How a token is chosen: the repetition penalty, then temperature, then the k largest, then top_p,
 * then min_p; then a draw that depends on seed and position alone. With more than one beam nothing
 * is drawn, and temperature to min_p are not read. What tsr_generate_defaults fills in is meant to
 * be changed where wanted. */
typedef struct tsr_generate_options {
    uint32_t struct_size;
    uint32_t ignore_eos;    /**< 1: end tokens do not stop */
    int64_t max_new_tokens; /**< -1: to the end of the context; 0: none */
    int64_t context;   /**< tokens of prompt and continuation at most; 0: what the model reads */
    float temperature; /**< 0: the likeliest token always. >= 0 */
    int32_t top_k;     /**< keep the k likeliest; 0: all */
    float top_p;       /**< keep the likeliest that together reach p; 1: all. (0, 1] */
    float min_p; /**< drop what is less likely than min_p times the likeliest; 0: none. [0, 1] */
    float repeat_penalty; /**< > 1: tokens of the text so far become less likely (logit / penalty,
                             or * where negative); 1: off. > 0 */
    uint32_t logprobs; /**< so many of the likeliest tokens are reported with each token; 0: none */
    uint64_t seed;
    const char *const *
        stop; /**< texts that end the continuation; the text before one is the last that is given */
    uint32_t n_stop;
    uint32_t return_logprob;  /**< 1: each token's own log-probability is reported (implied by
                                 logprobs > 0) */
    uint32_t num_beams;       /**< more than 1: beam search; 0 and 1: one token after the other */
    uint32_t n_best;          /**< hypotheses given of each prompt; 0: 1. At most num_beams */
    uint32_t early_stopping;  /**< tsr_early_stopping */
    float length_penalty;     /**< A of score = sum of log-probabilities / length^A */
    float coverage_penalty;   /**< B of B sum_s log(min(sum of the attention on source token s, 1)),
                                 which is added to a score; of encoder-decoders. 0: none. >= 0 */
    uint32_t no_repeat_ngram; /**< no run of so many tokens comes twice; 0: any may */
    int64_t min_new_tokens;   /**< before them no end token comes */
    const int32_t *suppress;  /**< tokens that never come, besides those that the model's settings
                                 name */
    uint32_t n_suppress, reserved;
    int64_t max_length; /**< tokens of prompt and continuation at most, where max_new_tokens is -1;
                             0: no such bound. Of encoder-decoders not read */
    int64_t min_length; /**< tokens of both before which no end token comes, where min_new_tokens is
                             0 */
} tsr_generate_options;

/** From the model's settings, which are generation_config.json, or where a folder has none the same
 * keys of config.json; else temperature 0.8, top_k 40, top_p 0.95, min_p 0.05, no penalty, to the end
 * of the context, seed 0. The log gets a warning of each setting that a search does not heed, once
 * for a model.
 * options  its struct_size is set before the call
 * error    TSR_E_ARGUMENT  it is not
 *          TSR_E_FORMAT    a setting is out of range */
TSR_API tsr_status tsr_generate_defaults(const tsr_model *model, tsr_generate_options *options);

/** One prompt: ids where `ids` is not NULL, else text (special tokens written in it count as such),
 * encoded with what the tokenizer adds. An empty one starts from the beginning-of-sequence token.
 */
typedef struct tsr_prompt {
    uint32_t struct_size;
    uint32_t n_ids;
    const int32_t *ids;
    const char *text;
    size_t text_size;          /**< bytes; 0: text ends with a 0 byte */
    const int32_t *target_ids; /**< of an encoder-decoder, which reads the prompt with its encoder:
                                  what the answer begins with, after the decoder's start token.
                                  They are no new tokens, and not given */
    uint32_t n_target_ids, reserved;
} tsr_prompt;

typedef enum tsr_finish {
    TSR_FINISH_NONE = 0,   /**< goes on */
    TSR_FINISH_END = 1,    /**< an end token */
    TSR_FINISH_STOP = 2,   /**< a stop text */
    TSR_FINISH_LENGTH = 3, /**< max_new_tokens */
    TSR_FINISH_CONTEXT = 4 /**< the context is full */
} tsr_finish;

typedef struct tsr_candidate {
    int32_t id;
    float logprob; /**< natural logarithm of its probability at temperature 1 */
} tsr_candidate;

/** What happened to one prompt of a batch. */
typedef struct tsr_generated {
    uint32_t struct_size;
    uint32_t prompt; /**< its number in the batch */
    int32_t id; /**< the token; -1 in a last call that only brings text held back, and its finish */
    uint32_t finish; /**< tsr_finish */
    float logprob;   /**< of the token; 0 where not asked for */
    uint32_t n_candidates;
    const tsr_candidate *candidates; /**< the likeliest, best first */
    const char *text; /**< whole characters that became certain, valid UTF-8; may be empty. Not
                         terminated */
    size_t text_size;
    uint32_t
        hypothesis; /**< after a beam search: its rank, from 0; they come one after the other */
    float score; /**< likewise, with the finish: sum of log-probabilities / length^length_penalty */
} tsr_generated;

/** Called with each token. A value other than 0 cancels all prompts of the call. What it is given
 * is valid for the call. */
typedef int (*tsr_generated_fn)(void *data, const tsr_generated *generated);

typedef struct tsr_generate_stats {
    uint32_t struct_size, reserved;
    uint64_t prompt_tokens, new_tokens; /**< over all prompts */
    uint64_t prefill_ns,
        decode_ns; /**< time spent on prompts, and on the tokens after the first of each */
    uint64_t first_token_ns; /**< from the call to the first token */
    uint64_t decode_tokens;  /**< of new_tokens, those that decode_ns was spent on */
} tsr_generate_stats;

/**
 * Continues one or more prompts, as one batch; each gives what it would give alone.
 *
 * options  NULL: those of tsr_generate_defaults
 * stats    of this call; may be NULL
 * owner   all arguments are borrowed for the call
 * thread  one call at a time for a model
 * error   TSR_E_ARGUMENT   an option out of its range; an id past the vocabulary; a prompt longer
 * than the context (both numbers said) TSR_E_STATE      text is given, or stop texts, and the model
 * has no tokenizer TSR_E_CANCELLED  the callback asked for it
 */
TSR_API tsr_status tsr_generate(tsr_model *model, const tsr_prompt *const *prompts, uint32_t n,
                                const tsr_generate_options *options, tsr_generated_fn generated,
                                void *data, tsr_generate_stats *stats);

/**
 * The continuation of one text, in new memory: prompt in, string out.
 *
 * text     valid UTF-8, `size` bytes; special tokens that are written in it count as such
 * options  NULL: those of tsr_generate_defaults
 * out      valid UTF-8 with a 0 byte behind it; of a beam search the best hypothesis
 * n        its bytes; may be NULL
 * owner    the caller: tsr_text_free(*out)
 * thread   one call at a time for a model
 * error    as tsr_generate
 */
TSR_API tsr_status tsr_generate_text(tsr_model *model, const char *text, size_t size,
                                     const tsr_generate_options *options, char **out, size_t *n);

/* ---- conversations ---- */

typedef struct tsr_chat
    tsr_chat; /**< one conversation: its turns stay in the model's key/value memory */

/** Names of the chat templates that are known: "chatml", "llama2", "llama3", "mistral", "gemma",
 * "phi3"; NULL past the last. */
TSR_API const char *tsr_chat_template_name(size_t i);
/** The template that the model's files name, recognised by its exact text. *name is NULL where they
 * have none. error  TSR_E_UNSUPPORTED  they have one that is not known: the sentence lists the
 * known */
TSR_API tsr_status tsr_chat_template_of(const tsr_model *model, const char **name);

/**
 * Begins a conversation.
 *
 * template_name  one of the names, or NULL for that of the model
 * system         what the model is told first; NULL or "": nothing
 * owner          the caller destroys *out, before the model is closed
 * error          TSR_E_UNSUPPORTED  no template is known for this model: the sentence lists the
 * names
 */
TSR_API tsr_status tsr_chat_create(tsr_model *model, const char *template_name, const char *system,
                                   const tsr_generate_options *options, tsr_chat **out);
TSR_API void tsr_chat_destroy(tsr_chat **chat);
/** Says `text` and streams the answer; both become part of the conversation. A cancelled answer
 * stays as far as it went. error  TSR_E_ARGUMENT  the conversation would pass the context (both
 * numbers said) */
TSR_API tsr_status tsr_chat_say(tsr_chat *chat, const char *text, size_t size,
                                tsr_generated_fn generated, void *data, tsr_generate_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
