/* task/generate/sampler.h - draws a token from logits: penalties and biases, temperature, top k, top
 * p, min p, draw. */
#ifndef TSRI_TASK_GENERATE_SAMPLER_H
#define TSRI_TASK_GENERATE_SAMPLER_H

#include "task/generate/token_rules.h"
#include "tensor/draw.h"

typedef struct tsri_task_sampler tsri_task_sampler;

/* What the options change the logit of a token by, besides the repetition penalty's factor. */
typedef struct tsri_task_seen {
    bool in_text;       /* in the prompt or among the new tokens */
    uint32_t generated; /* how often it is among the new tokens */
    float bias;
} tsri_task_seen;

/* Whether the options change logits, so that a text needs a tsri_task_seen for each token. */
bool tsri_task_changes_logits(const tsr_generate_options *options);

/* Whether they ask for the log-probabilities of tokens. */
static inline bool tsri_task_tells_logprobs(const tsr_generate_options *options) {
    return options->logprobs || options->return_logprob;
}

/* tsri_task_options_check has checked the options, which must outlive the sampler. V: size of the
 * vocabulary. */
tsr_status tsri_task_sampler_create(const tsr_generate_options *options, int32_t V,
                                    tsri_task_sampler **out);
void tsri_task_sampler_destroy(tsri_task_sampler **sampler);
/* Takes other options for the positions that follow. Allocates nothing for options that it had before.
 */
tsr_status tsri_task_sampler_use(tsri_task_sampler *sampler, const tsr_generate_options *options);

/* How many of the largest logits it needs from the device, where up to `banned` of them may be
 * banned; 0: whole rows, for tsri_task_sampler_row. */
int32_t tsri_task_sampler_top_k(const tsri_task_sampler *sampler, int64_t banned);

/* How the op `sample` draws the token for `position` (counted from the first token of the prompt) by
 * these options, as tsri_task_sampler_draw does. */
tsri_tensor_draw tsri_task_draw_of(const tsr_generate_options *options, int64_t position);

/* Takes one position: a row of V logits, or the k largest, best first, with the log of the sum of
 * exponentials over the whole row. seen: [V], not read where the options change no logit. Banned
 * tokens are reported like any other, but never drawn; NULL: none is banned. */
void tsri_task_sampler_row(tsri_task_sampler *sampler, const float *row, const tsri_task_seen *seen,
                           const tsri_task_bans *bans);
void tsri_task_sampler_largest(tsri_task_sampler *sampler, int32_t k, const int32_t *ids,
                               const float *logits, float lse, const tsri_task_bans *bans);

/* Draws the token for `position`, and gives its log-probability before any option applied.
 * TSR_E_DEVICE: the largest logit is not finite. */
tsr_status tsri_task_sampler_draw(tsri_task_sampler *sampler, int64_t position, int32_t *id,
                                  float *logprob);
/* The log of the sum of exponentials of a row of V logits; a NaN counts as minus infinity. */
float tsri_task_log_sum_exp(const float *row, int32_t V);
/* The error where the logits for `position` are not numbers; largest: what they gave instead. */
tsr_status tsri_task_bad_logits(int64_t position, float largest);
/* The same, where the op `sample` or `argmax` gave a number below 0. */
tsr_status tsri_task_not_drawn(int64_t position, int32_t drawn);
/* The options->logprobs likeliest tokens, best first. */
const tsr_candidate *tsri_task_sampler_candidates(const tsri_task_sampler *sampler);

#endif
