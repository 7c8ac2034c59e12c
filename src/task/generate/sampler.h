/* task/generate/sampler.h - from logits to a token: penalty, temperature, top k, top p, min p,
 * draw. */
#ifndef TSRI_TASK_GENERATE_SAMPLER_H
#define TSRI_TASK_GENERATE_SAMPLER_H

#include "task/generate/token_rules.h"

typedef struct tsri_task_sampler tsri_task_sampler;

/* Options are checked by tsri_task_options_check before; they must outlive the sampler. V: size of
 * the vocabulary. */
tsr_status tsri_task_sampler_create(const tsr_generate_options *options, int32_t V,
                                    tsri_task_sampler **out);
void tsri_task_sampler_destroy(tsri_task_sampler **sampler);

/* How many of the largest logits it needs from the device, where so many of them may be banned; 0:
 * whole rows, for tsri_task_sampler_row. */
int32_t tsri_task_sampler_top_k(const tsri_task_sampler *sampler, int64_t banned);

/* Takes one position: a row of V logits (`seen[id]` not 0: a token of the text so far, for the
 * penalty; NULL: none is), or the k largest, best first, with the log of the sum of exponentials
 * over the whole row. What is banned is reported like any other, and not drawn; NULL: nothing is.
 */
void tsri_task_sampler_row(tsri_task_sampler *sampler, const float *row, const unsigned char *seen,
                           const tsri_task_bans *bans);
void tsri_task_sampler_largest(tsri_task_sampler *sampler, int32_t k, const int32_t *ids,
                               const float *logits, float lse, const tsri_task_bans *bans);

/* The token for `position` (counted from the first token of the prompt), and its log-probability
 * before any of the options. TSR_E_DEVICE where the largest logit is no number. */
tsr_status tsri_task_sampler_draw(tsri_task_sampler *sampler, int64_t position, int32_t *id,
                                  float *logprob);
/* The likeliest, best first; options->logprobs of them. */
const tsr_candidate *tsri_task_sampler_candidates(const tsri_task_sampler *sampler);

#endif
