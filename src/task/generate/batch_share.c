/* task/generate/batch_share.c - how many tokens of prompts a step takes in, beside the tokens of requests that are
 * answered already. */
#include "task/generate/batch_parts.h"

#include "base/clock.h"

enum {
    LEAST = 64, /* tokens: fewer don't pay for reading the weights */
    MOST = 512,
    /* With 8 in place of 3, 32 requests that come at once get 5 % more tokens/s, but where long prompts come faster than
     * they can be read, so that 8 of 40 requests are always waiting, tokens come at a third of the rate. */
    EAGER = 3,
};

/* The mean of what was measured, in which the last measurement has a quarter of the weight. */
static void note(double *mean, double value) {
    *mean = *mean > 0 ? (3 * *mean + value) / 4 : value;
}

int64_t tsri_task_batch_room(const tsri_task_batch *batch) {
    uint32_t answered = 0, reading = 0;
    if (batch->options.step_tokens != TSRI_TASK_STEP_SHARED)
        return batch->options.step_tokens ? batch->options.step_tokens : INT64_MAX;
    for (uint32_t i = 0; i < batch->n; i++) {
        answered += tsri_task_member_decodes(batch->members[i]);
        reading += tsri_task_member_reads(batch->members[i]);
    }
    if (reading * EAGER > answered) /* many have come at once, or nobody waits for a token */
        return MOST;
    if (!(batch->prompt_ns > 0) || !(batch->answer_ns > 0))
        return LEAST;
    const double tokens = batch->answer_ns / batch->prompt_ns;
    return tokens <= LEAST ? LEAST : tokens >= MOST ? MOST : (int64_t)tokens;
}

void tsri_task_batch_note_answers(tsri_task_batch *batch, uint64_t begun) {
    if (batch->n_rows)
        note(&batch->answer_ns, (double)(tsri_base_now_ns() - begun));
}

void tsri_task_batch_note_prompts(tsri_task_batch *batch, uint64_t begun, int64_t tokens) {
    if (tokens >= LEAST / 2) /* the end of a prompt costs more for each of its tokens */
        note(&batch->prompt_ns, (double)(tsri_base_now_ns() - begun) / (double)tokens);
}
