/* task/generate/prompt_scores.h - the log-probability of each token of a prompt after those before it,
 * from whole rows of logits. */
#ifndef TSRI_TASK_GENERATE_PROMPT_SCORES_H
#define TSRI_TASK_GENERATE_PROMPT_SCORES_H

#include "task/generate/decode.h"

/* What the scores of one prompt need. */
typedef struct tsri_task_scoring {
    tsr_generated_fn give;     /* gets each token, with the `data` of the decoding */
    tsri_text_stream *stream;  /* NULL: no text */
    tsri_bytes text;           /* of the last token */
    tsr_candidate *candidates; /* [options->logprobs] */
    int64_t given;             /* how many tokens were given already: none is given twice */
} tsri_task_scoring;

/* The caller clears *out, after a failure, too. */
tsr_status tsri_task_scoring_begin(const tsri_model *model, const tsr_generate_options *options,
                                   tsr_generated_fn give, tsri_task_scoring *out);
void tsri_task_scoring_clear(tsri_task_scoring *scoring);

/* How many rows of V logits are held at once. */
int64_t tsri_task_scored_rows(int32_t V);

/* Gives token number `at` of the sequence. row: [V] the logits after the tokens before it; NULL: it is
 * the first.
 *
 * error  TSR_E_CANCELLED  the callback asked for it
 *        TSR_E_DEVICE     the largest logit is not finite */
tsr_status tsri_task_score_token(tsri_task_scoring *scoring, const tsri_task_decoding *decoding,
                                 const tsri_task_sequence *sequence, int64_t at, const float *row);

#endif
