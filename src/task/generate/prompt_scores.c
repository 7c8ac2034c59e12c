/* task/generate/prompt_scores.c - the log-probability of each token of a prompt. */
#include "task/generate/prompt_scores.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/tokenizer/languages.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_LOGITS = 16 << 20 }; /* floats in memory at once */

tsr_status tsri_task_scoring_begin(const tsri_model *model, const tsr_generate_options *options,
                                   tsr_generated_fn give, tsri_task_scoring *out) {
    out->give = give;
    if (model->tokenizer)
        TRY(tsri_text_stream_new(tsri_text_target(model->tokenizer),
                                 TSRI_TEXT_SKIP_SPECIAL | TSRI_TEXT_UNCLEANED, &out->stream));
    return tsri_base_new(options->logprobs, sizeof *out->candidates, &out->candidates);
}

void tsri_task_scoring_clear(tsri_task_scoring *scoring) {
    tsri_text_stream_destroy(&scoring->stream);
    tsri_base_bytes_clear(&scoring->text);
    free(scoring->candidates);
    *scoring = (tsri_task_scoring){0};
}

int64_t tsri_task_scored_rows(int32_t V) {
    return V < MOST_LOGITS ? MOST_LOGITS / V : 1;
}

/* The n largest logits, best first; of equal ones, the lower id. */
static void find_candidates(const float *row, int32_t V, float lse, uint32_t n, tsr_candidate *to) {
    uint32_t found = 0;
    for (int32_t id = 0; id < V && n; id++) {
        const float logit = isnan(row[id]) ? -INFINITY : row[id];
        if (found == n && !(logit > to[n - 1].logprob))
            continue;
        uint32_t at = found < n ? found++ : n - 1;
        for (; at && logit > to[at - 1].logprob; at--)
            to[at] = to[at - 1];
        to[at] = (tsr_candidate){.id = id, .logprob = logit};
    }
    for (uint32_t i = 0; i < n; i++)
        to[i].logprob -= lse;
}

tsr_status tsri_task_score_token(tsri_task_scoring *scoring, const tsri_task_decoding *decoding,
                                 const tsri_task_sequence *sequence, int64_t at, const float *row) {
    const int32_t V = decoding->model->spec.vocab;
    tsr_generated g = {
        .struct_size = sizeof g, .prompt = sequence->prompt, .id = sequence->ids.data[at]};
    if (at < scoring->given)
        return TSR_OK;
    scoring->given = at + 1;
    if (row) {
        const float lse = tsri_task_log_sum_exp(row, V);
        if (!isfinite(lse))
            return tsri_task_bad_logits(at, lse);
        g.logprob = isnan(row[g.id]) ? -INFINITY : row[g.id] - lse;
        g.n_candidates = decoding->options->logprobs;
        g.candidates = scoring->candidates;
        find_candidates(row, V, lse, g.n_candidates, scoring->candidates);
    }
    scoring->text.size = 0;
    if (scoring->stream)
        TRY(tsri_text_stream_push(scoring->stream, g.id, &scoring->text));
    g.text = scoring->text.size ? scoring->text.data : "";
    g.text_size = scoring->text.size;
    return scoring->give(decoding->data, &g)
               ? tsri_base_fail(TSR_E_CANCELLED, "generation was cancelled")
               : TSR_OK;
}
