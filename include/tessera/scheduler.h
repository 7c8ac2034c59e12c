/* tessera/scheduler.h - many requests on one model: they come at any time, and each is continued as
 * if it were alone. */
#ifndef TESSERA_SCHEDULER_H
#define TESSERA_SCHEDULER_H

#include "tessera/generate.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Requests that are decoded together: they join and leave between steps. */
typedef struct tsr_scheduler tsr_scheduler;

typedef struct tsr_scheduler_options {
    uint32_t struct_size;
    uint32_t slots; /**< requests that run at the same time; 0: 8. Others wait */
    /** Tokens of a request at most, prompt and continuation; 0: what the model reads. In a model with
     * longrope it also chooses the rotary factors, for all requests: the long ones above the original
     * length. */
    int64_t context;
    /** Tokens of prompts that a step takes in at most, so that a long prompt does not keep the others
     * waiting. 0: as many as take no longer than the step's other tokens, but at least 64, and more where
     * many requests wait for their prompts; at most 512. No answer depends on it. */
    int64_t step_tokens;
    uint32_t no_reuse; /**< 1: every prompt is computed from its first token */
    uint32_t reserved;
    /** Tokens whose keys and values the memory holds, those of all requests together, in whole pages of 32;
     * 0: half of slots x context, but at least one context. Where they are fewer than a context, no request
     * has more tokens than these. What requests do not use keeps the beginnings of prompts. Where it does not
     * suffice for the running requests, the newest one waits again, and goes on later, with the same bytes. */
    int64_t kv_tokens;
} tsr_scheduler_options;

/**
 * Makes a scheduler without requests.
 *
 * options  NULL: all of them 0
 * owner    the caller destroys *out before the model is closed
 * thread   one call at a time for a model, its schedulers and sessions
 * error    TSR_E_ARGUMENT     a context above what the model reads, or a negative number
 *          TSR_E_UNSUPPORTED  the model has no decoder, or also an encoder
 *          TSR_E_STATE        the model was opened without a device
 */
TSR_API tsr_status tsr_scheduler_create(tsr_model *model, const tsr_scheduler_options *options,
                                        tsr_scheduler **out);
/** Ends all requests without further events. Takes NULL content; leaves NULL. */
TSR_API void tsr_scheduler_destroy(tsr_scheduler **scheduler);

typedef struct tsr_request {
    uint32_t struct_size;
    uint32_t n_ends;
    const tsr_prompt *prompt;
    const tsr_generate_options *options; /**< NULL: those of tsr_generate_defaults */
    const int32_t *ends; /**< [n_ends] tokens that end the answer, besides the model's own */
    void *data;          /**< given back with each event */
    /** 1: the prompt's tokens are given, too, each with its log-probability after those before it and
     * with options->logprobs candidates. The whole prompt is computed for that, whatever of it was
     * there already. */
    uint32_t prompt_logprobs;
    uint32_t reserved;
} tsr_request;

/**
 * Adds a request behind those that wait.
 *
 * id      its number, from 1 on; none is given twice
 * owner   everything is copied
 * error   as tsr_generate; TSR_E_ARGUMENT also for a prompt that the memory for keys and values does not
 *         hold; TSR_E_UNSUPPORTED where the options ask for a beam search, or
 *         prompt_logprobs is 1 and the model's positions depend on the length of a run
 */
TSR_API tsr_status tsr_scheduler_add(tsr_scheduler *scheduler, const tsr_request *request,
                                     uint64_t *id);
/**
 * Ends a request without further events; its place is free in the next step. Does nothing where it has
 * ended.
 *
 * error   TSR_E_ARGUMENT  no request had this number
 */
TSR_API tsr_status tsr_scheduler_cancel(tsr_scheduler *scheduler, uint64_t id);

/** What happened to a request. */
typedef struct tsr_scheduler_event {
    uint32_t struct_size;
    uint32_t status; /**< tsr_status: other than TSR_OK, the request failed, and this is its end */
    uint64_t request;
    /** Its next token or its end, as tsr_generate gives them; `prompt` is 0. NULL if it failed. Of a
     * token of the prompt: id, log-probability, candidates and text. The first has none before it:
     * its log-probability is 0, without candidates. */
    const tsr_generated *generated;
    void *data;             /**< the request's */
    const char *error;      /**< the sentence, if it failed; else "" */
    uint32_t prompt_tokens; /**< tokens of its prompt, and how many of them were there already */
    uint32_t cached_tokens;
    uint32_t of_prompt; /**< 1: `generated` is a token of the prompt; they come first, in order */
    uint32_t reserved;
} tsr_scheduler_event;

/** Called in a step. Returns not 0 to cancel the request. May call tsr_scheduler_cancel and
 * tsr_scheduler_count, and no other function of the scheduler. What it is given is valid during its call. */
typedef int (*tsr_scheduler_event_fn)(void *data, const tsr_scheduler_event *event);

/**
 * Lets requests that wait take free places, gives each running request its next token (and those that
 * were guessed behind it: tsr_generate_options.speculate), and takes in as much of the prompts as a step
 * may. Does nothing where there is no request.
 *
 * What a request gets (ids, texts, log-probabilities) does not depend on what else runs, on when it
 * came, or on whether the beginning of its prompt was there already, byte for byte.
 *
 * alloc   nothing on the device after the first steps
 * error   those of the device: every request that was running has ended with an event of the same
 *         error. The failure of a single request (a logit that is not finite) is its event alone
 */
TSR_API tsr_status tsr_scheduler_step(tsr_scheduler *scheduler, tsr_scheduler_event_fn event,
                                      void *data);

typedef struct tsr_scheduler_counts {
    uint32_t struct_size;
    uint32_t slots;
    uint32_t running, waiting;             /**< requests now */
    int64_t context;                       /**< tokens of a request at most */
    int64_t tokens;                        /**< tokens of the running requests now */
    uint64_t finished, cancelled, failed;  /**< requests so far */
    uint64_t prompt_tokens, cached_tokens; /**< of the requests that have run so far */
    uint64_t new_tokens;
    uint64_t steps;
    /** How often tokens of a request were guessed (tsr_generate_options.speculate), how many, and how many
     * of them were right. */
    uint64_t drafts, drafted_tokens, accepted_tokens;
    /** Tokens whose keys and values the memory holds, and of these the ones in pages that requests have now. */
    int64_t kv_tokens, kv_used;
    uint64_t put_back; /**< how often a running request had to wait again, for want of memory */
} tsr_scheduler_counts;

/**
 * Fills counts. In an event, they have its token, and its request if that ends.
 *
 * counts  its struct_size is set before the call
 * thread  one call at a time for a model
 * error   TSR_E_ARGUMENT  counts->struct_size is not set
 */
TSR_API tsr_status tsr_scheduler_count(const tsr_scheduler *scheduler,
                                       tsr_scheduler_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
