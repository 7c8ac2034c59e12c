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
    /** false: when the best live beam, if it ended at its present length, would score no better
     * than the worst finished one */
    TSR_EARLY_HEURISTIC = 0,
    /** true: at once */
    TSR_EARLY_FIRST = 1,
    /** "never": when no continuation of a live beam can score better (with a length penalty above
     * 0: if it became as long as allowed) */
    TSR_EARLY_NEVER = 2
} tsr_early_stopping;

/** What a part of an answer is. */
typedef enum tsr_part_kind {
    TSR_PART_TEXT = 0,      /**< what the model says */
    TSR_PART_REASONING = 1, /**< what it thinks before that */
    TSR_PART_CALL = 2       /**< a call of a function, in gpt-oss' channels */
} tsr_part_kind;

/** A part of an answer; what it is given is valid during the call. */
typedef struct tsr_part {
    uint32_t struct_size;
    uint32_t kind; /**< tsr_part_kind */
    /** Valid UTF-8; no 0 byte ends it. Of a call a piece of its arguments; the first piece is empty. */
    const char *text;
    size_t text_size;
    const char *function; /**< of a call: its name; else NULL */
} tsr_part;

/** Called with each part. Returns not 0 to cancel the answer. */
typedef int (*tsr_part_fn)(void *data, const tsr_part *part);

/** How the messages of a conversation become text: by a chat template, which is Jinja as transformers
 * sets it up. All zero but the size: the model's own template, without a system message. */
typedef struct tsr_chat_options {
    uint32_t struct_size, reserved;
    const char *template_text; /**< NULL: the model's own */
    const char *system;        /**< the system message; NULL or "": none is given to the template */
    /** What the template gets as `tools`: a JSON list, in the form that the model was trained with;
     * NULL: none. */
    const char *tools;
    /** Not NULL: called by tsr_chat_say with the parts of each answer. */
    tsr_part_fn part;
    void *part_data;
    /** A JSON object; its members are variables of the template, such as enable_thinking or
     * reasoning_effort. Special tokens in its texts are plain text, as in messages. NULL: none. Refused:
     * the names that the template has otherwise (messages, tools, add_generation_prompt, bos_token and the
     * other special tokens). A name that the template doesn't read changes nothing. */
    const char *template_kwargs;
} tsr_chat_options;

/** What is added to the logit of a token. */
typedef struct tsr_logit_bias {
    int32_t id;
    float bias;
} tsr_logit_bias;

/** How a token is chosen: the repetition penalty, the other penalties and biases, then temperature,
 * then the k likeliest, then top_p, then min_p; then a draw that depends on seed and position alone.
 * With more than one beam nothing is drawn, and temperature to min_p are not read. Fill it with
 * tsr_generate_defaults, then change what you want. */
typedef struct tsr_generate_options {
    uint32_t struct_size;
    uint32_t ignore_eos;    /**< 1: end tokens do not stop the generation */
    int64_t max_new_tokens; /**< -1: to the end of the context; 0: no tokens */
    /** The most tokens of prompt and continuation; 0: what the model reads. In a model with longrope it
     * also chooses the rotary factors: the long ones above the original length. */
    int64_t context;
    float temperature; /**< 0: always the likeliest token. >= 0 */
    int32_t top_k;     /**< keep the k likeliest; 0: all */
    float top_p;       /**< keep the likeliest that together reach p; 1: all. (0, 1] */
    float min_p;       /**< drop tokens below min_p times the likeliest; 0: none. [0, 1] */
    /** > 1: tokens of the text so far become less likely (logit / penalty, or logit * penalty where
     * it is negative); 1: off. > 0 */
    float repeat_penalty;
    uint32_t logprobs; /**< how many of the likeliest tokens are reported with each token */
    uint64_t seed;
    /** Texts that end the continuation; what is before such a text is still given. */
    const char *const *stop;
    uint32_t n_stop;
    /** 1: report each token's log-probability; so does logprobs > 0. Both are refused with more than one
     * beam. */
    uint32_t return_logprob;
    uint32_t num_beams;      /**< more than 1: beam search; 0 and 1: no search */
    uint32_t n_best;         /**< hypotheses given for each prompt; 0: 1. At most num_beams */
    uint32_t early_stopping; /**< tsr_early_stopping */
    float length_penalty;    /**< A of score = sum of log-probabilities / length^A */
    /** B of B sum_s log(min(sum of the attention on source token s, 1)), which is added to a score.
     * For encoder-decoders: the mean over the last layer's heads, or, in a CTranslate2 folder, over those
     * that its files name for alignment. 0: none. >= 0 */
    float coverage_penalty;
    uint32_t no_repeat_ngram; /**< no n-gram of this many tokens occurs twice; 0: any may */
    int64_t min_new_tokens;   /**< end tokens are not chosen before this many new tokens */
    /** Tokens that are never chosen, besides those that the model's settings name. */
    const int32_t *suppress;
    uint32_t n_suppress, n_logit_bias;
    /** The most tokens of prompt and continuation, where max_new_tokens is -1; 0: no such bound.
     * Not read for encoder-decoders. */
    int64_t max_length;
    /** End tokens are not chosen before this many tokens of both, where min_new_tokens is 0. */
    int64_t min_length;
    /** Not NULL: each prompt's text is a user's message, which the template writes, up to where the
     * answer begins; special tokens in it are plain text. Prompts of ids stay as they are. The token
     * that the template writes after an answer ends one, besides the model's own end tokens. Not for
     * encoder-decoders. tsr_chat_create doesn't read it. */
    const tsr_chat_options *chat;
    /** Taken off the logit of each token that is among the new tokens, those of the prompt not counted:
     * presence_penalty once, frequency_penalty for each time. Below 0: such tokens become likelier; 0:
     * off. Refused with more than one beam, as is logit_bias. */
    float presence_penalty, frequency_penalty;
    /** Added to logits; several of one token are added up. Log-probabilities are those without them. */
    const tsr_logit_bias *logit_bias;
    /** Not NULL: the new tokens follow this grammar, which is GBNF as llama.cpp reads it, with JSON schemas
     * by %json, and ends with a 0 byte (docs/server.md, "Constrained output"). End tokens are chosen where
     * the grammar allows the text to end, and where nothing else is allowed, the text ends. A special token
     * is allowed where the grammar names it (<name>, <[id]>). Refused with more than one beam. */
    const char *grammar;
    /** Not NULL: the new tokens are a JSON text that this JSON schema allows, in the same way; of it and
     * `grammar` one alone may be given. docs/server.md says which keywords are served. */
    const char *json_schema;
    /** How many tokens a step may guess, at most 7: where the last tokens of a text stood in it before,
     * those that followed them there are computed together with the next one, and those that turn out
     * right are taken. The results are the same, to the byte; the callback may get several tokens in a
     * row. Nothing is guessed while guesses fail. 0: as many as gain, where they gain (decoders alone,
     * without experts, on CPUs and GPUs, and up to 4 texts at a time); -1: none. Not read by a beam
     * search, where the model shares its layers with other ranks, or where it can't take tokens back. */
    int32_t speculate;
    uint32_t reserved;
} tsr_generate_options;

/**
 * Says whether a grammar can be served, before a model is opened.
 *
 * error  TSR_E_ARGUMENT     it is not GBNF, a rule begins with itself (left recursion), or it is too
 *                           large; the sentence names the line or the rule
 *        TSR_E_UNSUPPORTED  it asks for any token but one (!<...>)
 */
TSR_API tsr_status tsr_grammar_check(const char *grammar);
/**
 * The same of a JSON schema.
 *
 * error  TSR_E_FORMAT       it is not JSON
 *        TSR_E_ARGUMENT     it is not a schema, allows nothing, or is too large; the sentence names the place
 *        TSR_E_UNSUPPORTED  it has a keyword, or a value of one, that is not served
 */
TSR_API tsr_status tsr_json_schema_check(const char *json_schema);

/**
 * Fills options from the model's settings: generation_config.json or, where a folder has none, the
 * same keys of config.json. Where they say do_sample, keys that are left out have transformers' values:
 * temperature 1, top_k 50, top_p 1, min_p 0. Without settings: temperature 0.8, top_k 40, top_p 0.95,
 * min_p 0.05, no penalty, to the end of the context, seed 0; for an encoder-decoder temperature 0 and 256
 * tokens. A CTranslate2 folder is searched as CTranslate2 does by default: temperature is 0 (its
 * sampling_topk of 1), early_stopping is TSR_EARLY_FIRST, min_new_tokens of an encoder-decoder 1, and
 * log-probabilities are those of the tokens that are allowed (renormalize_logits). In its
 * encoder-decoders a beam search and a translation apply repeat_penalty to logits, and count the token
 * that the decoder starts with neither for that nor for no_repeat_ngram. The log gets a warning about
 * each setting that a search ignores, once for each model.
 *
 * options  its struct_size is set before the call
 * thread   one call at a time for a model
 * error    TSR_E_ARGUMENT  options->struct_size is not set
 *          TSR_E_FORMAT    a setting is out of its range
 */
TSR_API tsr_status tsr_generate_defaults(const tsr_model *model, tsr_generate_options *options);

/** One prompt: ids where `ids` is not NULL, else text, which is encoded with the tokens that the
 * tokenizer adds; the names of special tokens in it count as these tokens. An empty prompt starts
 * from the beginning-of-sequence token. */
typedef struct tsr_prompt {
    uint32_t struct_size;
    uint32_t n_ids;
    const int32_t *ids;
    const char *text;
    size_t text_size; /**< in bytes; 0: text ends with a 0 byte */
    /** For an encoder-decoder, which reads the prompt with its encoder: the tokens that the answer
     * begins with, after the decoder's start token. They do not count as new tokens and are not
     * given. */
    const int32_t *target_ids;
    uint32_t n_target_ids, reserved;
    /** Not NULL, and no ids: a conversation, as a JSON list of objects with at least "role" and
     * "content", which the chat template writes up to where the answer begins; text is not read. The
     * template is that of the options' `chat`, or the model's own. */
    const char *messages;
    size_t messages_size; /**< in bytes; 0: messages end with a 0 byte */
} tsr_prompt;

/** Why the generation of a prompt ended. */
typedef enum tsr_finish {
    TSR_FINISH_NONE = 0,   /**< it goes on */
    TSR_FINISH_END = 1,    /**< an end token */
    TSR_FINISH_STOP = 2,   /**< a stop text */
    TSR_FINISH_LENGTH = 3, /**< max_new_tokens */
    TSR_FINISH_CONTEXT = 4 /**< the context is full */
} tsr_finish;

typedef struct tsr_candidate {
    int32_t id;
    float logprob; /**< natural logarithm of its probability at temperature 1 */
} tsr_candidate;

/** A new token of one prompt of a batch. */
typedef struct tsr_generated {
    uint32_t struct_size;
    uint32_t prompt; /**< the prompt's number in the batch */
    /** The token; -1 in a last call that only gives text that was held back, and the finish. */
    int32_t id;
    uint32_t finish; /**< tsr_finish */
    float logprob;   /**< of the token; 0 where it was not asked for */
    uint32_t n_candidates;
    const tsr_candidate *candidates; /**< the likeliest, best first */
    /** Whole characters that are now certain, as valid UTF-8; may be empty. No 0 byte ends it. */
    const char *text;
    size_t text_size;
    /** After a beam search: the hypothesis's rank, from 0. Hypotheses come one after the other. */
    uint32_t hypothesis;
    /** After a beam search, with the finish: sum of log-probabilities / length^length_penalty. */
    float score;
    /** Bytes behind `text` that are held back, because they may be the beginning of a stop text: they
     * begin the text of a later call, or are left out. 0 with the finish. */
    size_t held_size;
} tsr_generated;

/** Called with each token. Returns not 0 to cancel all prompts of the call. What it is given is
 * valid during its call. */
typedef int (*tsr_generated_fn)(void *data, const tsr_generated *generated);

typedef struct tsr_generate_stats {
    uint32_t struct_size;
    uint32_t refused; /**< after TSR_E_ARGUMENT: the wrong prompt, from 1; 0: no prompt is wrong */
    uint64_t prompt_tokens, new_tokens; /**< over all prompts */
    /** Time spent on prompts, and on the tokens after the first of each. */
    uint64_t prefill_ns, decode_ns;
    uint64_t first_token_ns;  /**< from the call to the first token */
    uint64_t decode_tokens;   /**< those of new_tokens that decode_ns was spent on */
    uint64_t drafted_tokens;  /**< tokens that were guessed (speculate), */
    uint64_t accepted_tokens; /**< and those of them that were right */
} tsr_generate_stats;

/**
 * Continues one or more prompts as one batch; each gives what it would give alone.
 *
 * options  NULL: those of tsr_generate_defaults
 * stats    of this call; may be NULL
 * owner    all arguments are borrowed for the call
 * thread   one call at a time for a model
 * error    TSR_E_ARGUMENT     an option is out of its range; an id is outside the vocabulary; a
 *                             prompt is empty and the model has no beginning-of-sequence token; a
 *                             prompt is longer than the context (the sentence gives both numbers)
 *          TSR_E_STATE        text or stop texts are given, and the model has no tokenizer; the
 *                             model was opened without a device
 *          TSR_E_UNSUPPORTED  the model can't generate: it has no decoder
 *          TSR_E_FORMAT       a setting of the model is out of its range, or its tokenizer gives
 *                             ids that it does not have
 *          TSR_E_DEVICE       a logit is not finite
 *          TSR_E_CANCELLED    the callback asked for it
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

typedef struct tsr_chat tsr_chat; /**< one conversation, kept in the model's key/value memory */

/**
 * The text of the model's own chat template: chat_template.jinja, or chat_template of
 * tokenizer_config.json or chat_template.json (of several, the one named "default"), or
 * tokenizer.chat_template of a GGUF file.
 *
 * text   NULL where the model's files have none
 * n      its bytes; may be NULL
 * owner  the caller: tsr_text_free(*text)
 * error  TSR_E_FORMAT       chat_template is not a text
 *        TSR_E_UNSUPPORTED  of several templates none is named "default"
 */
TSR_API tsr_status tsr_chat_template_of(const tsr_model *model, char **text, size_t *n);

/**
 * The text that a chat template makes of messages, as it is before it is encoded.
 *
 * chat      NULL: the model's template, without a system message or tools
 * messages  a JSON list, as in tsr_prompt, that ends with a 0 byte
 * answer    not 0: up to where the next answer begins
 * n         bytes of *text, which a 0 byte ends; may be NULL
 * owner     the caller: tsr_text_free(*text)
 * thread    any number of threads at once
 * error     TSR_E_ARGUMENT     the template refuses the messages (the sentence is its own), or they are
 *                              not a list of objects with "role", at least one
 *           TSR_E_FORMAT       the messages are not JSON; the template failed
 *           and those of tsr_chat_create
 */
TSR_API tsr_status tsr_chat_render(const tsr_model *model, const tsr_chat_options *chat,
                                   const char *messages, uint32_t answer, char **text, size_t *n);

/** A conversation that a chat template has written up to where the answer begins. Several requests may begin with
 * it, and the template is run once. */
typedef struct tsr_chat_prompt tsr_chat_prompt;

/**
 * Writes a conversation.
 *
 * chat      NULL: the model's template, without a system message or tools
 * messages  a JSON list, as in tsr_prompt, that ends with a 0 byte
 * owner     the caller destroys *out; messages are borrowed for the call
 * thread    any number of threads at once
 * error     those of tsr_chat_render
 */
TSR_API tsr_status tsr_chat_prompt_create(const tsr_model *model, const tsr_chat_options *chat,
                                          const char *messages, tsr_chat_prompt **out);
/** *prompt may be NULL, and is NULL afterwards. */
TSR_API void tsr_chat_prompt_destroy(tsr_chat_prompt **prompt);
/** The text, with a 0 byte behind it, as tsr_chat_render gives it; *n (may be NULL): its bytes. */
TSR_API const char *tsr_chat_prompt_text(const tsr_chat_prompt *prompt, size_t *n);
/** The [*n] token ids, for tsr_prompt.ids: those that its `messages` would give. */
TSR_API const int32_t *tsr_chat_prompt_ids(const tsr_chat_prompt *prompt, uint32_t *n);
/** The [*n] tokens that end the answer, besides the model's own, for tsr_request.ends. */
TSR_API const int32_t *tsr_chat_prompt_ends(const tsr_chat_prompt *prompt, uint32_t *n);

/** The tags around what models think at the beginning of an answer, each as TAG(open, close). */
#define TSR_THOUGHT_TAGS(TAG)            \
    TAG("<think>", "</think>")           \
    TAG("[THINK]", "[/THINK]")           \
    TAG("<seed:think>", "</seed:think>") \
    TAG("<|START_THINKING|>", "<|END_THINKING|>")

/** Splits one answer into its parts, as its tokens come. */
typedef struct tsr_answer tsr_answer;

/**
 * Begins an answer. What a model thinks stands between <think> and </think> at the beginning ([THINK],
 * <seed:think> and <|START_THINKING|> likewise), or in the channel "analysis" of gpt-oss, whose calls
 * have a channel, too. All else is text.
 *
 * prompt  the text that the answer follows (tsr_chat_prompt_text); it may end with an open <think>
 * size    of the prompt, in bytes
 * owner   the caller destroys *out, before the model is closed; the prompt is borrowed for the call
 * error   TSR_E_STATE  the model has no tokenizer
 */
TSR_API tsr_status tsr_answer_create(const tsr_model *model, const char *prompt, size_t size,
                                     tsr_answer **out);
/** 1 if the answer has gpt-oss' channels: the prompt ends as they want it, and the model has their
 * tokens; else 0, also for NULL. */
TSR_API uint32_t tsr_answer_has_channels(const tsr_answer *answer);
/**
 * Takes a token, and gives the parts that are now certain. Blanks around what the model thinks are left
 * out, and so are tags. With the token's `finish`, what was held back is given.
 *
 * part   called none, one or several times; may be NULL
 * error  TSR_E_CANCELLED  the callback asked for it
 */
TSR_API tsr_status tsr_answer_take(tsr_answer *answer, const tsr_generated *generated,
                                   tsr_part_fn part, void *data);
/** Ends an answer. *answer may be NULL, and is NULL afterwards. */
TSR_API void tsr_answer_destroy(tsr_answer **answer);

/**
 * Begins a conversation.
 *
 * chat     NULL: the model's template, without a system message or tools
 * options  NULL: those of tsr_generate_defaults, with one beam
 * owner    the caller destroys *out, before the model is closed; options are copied
 * thread   one call at a time for a model
 * error    TSR_E_ARGUMENT     an option is out of its range, or template_kwargs has a name that the
 *                             template has otherwise
 *          TSR_E_STATE        the model has no tokenizer, or was opened without a device
 *          TSR_E_FORMAT       the template is not Jinja, the tools are not a JSON list, or
 *                             template_kwargs is not a JSON object
 *          TSR_E_UNSUPPORTED  no template is given and the model has none; the template has a part of
 *                             Jinja that is not served; nothing would end an answer; num_beams is
 *                             above 1
 */
TSR_API tsr_status tsr_chat_create(tsr_model *model, const tsr_chat_options *chat,
                                   const tsr_generate_options *options, tsr_chat **out);
/** Ends a conversation. *chat may be NULL, and is NULL afterwards. */
TSR_API void tsr_chat_destroy(tsr_chat **chat);
/**
 * Says `text` and streams the answer; both become part of the conversation. The template renders all
 * messages anew; what it writes as before stays in the key/value memory, and the rest is fed. With
 * dynamic scaling of positions all is fed, because keys depend on the text's length. Special tokens in
 * what was said and answered are plain text. A cancelled answer stays as far as it came;
 * after any other failure the conversation is as it was before the call.
 *
 * stats   of this call; may be NULL
 * thread  one call at a time for a model
 * error   TSR_E_ARGUMENT   the conversation would be longer than the context (the sentence gives
 *                          both numbers), or the template refuses it (the sentence is its own)
 *         TSR_E_FORMAT     the template failed; the sentence names its line
 *         TSR_E_DEVICE     a logit is not finite
 *         TSR_E_CANCELLED  the callback asked for it
 */
TSR_API tsr_status tsr_chat_say(tsr_chat *chat, const char *text, size_t size,
                                tsr_generated_fn generated, void *data, tsr_generate_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
