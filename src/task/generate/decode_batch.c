/* task/generate/decode_batch.c - decodes sequences that begin together, until the last has ended. */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "task/generate/batch.h"
#include "task/generate/settings.h"

#include <stdlib.h>

static bool all_finished(const tsri_task_sequence *sequences, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (!sequences[i].finish)
            return false;
    return true;
}

static tsr_status run_batch(const tsri_task_decoding *d, tsri_task_batch *batch,
                            const tsri_task_sequence *sequences, uint32_t n) {
    const uint64_t began = tsri_base_now_ns();
    const tsri_task_batch_counts *counts = tsri_task_batch_counts_of(batch);
    uint64_t taken_in = 0, first_tokens = 0, prompt = 0;
    tsr_status status = TSR_OK;
    for (uint32_t i = 0; i < n; i++)
        prompt += sequences[i].ids.count - (size_t)sequences[i].past;
    while (status == TSR_OK && (tsri_task_batch_busy(batch) || !all_finished(sequences, n))) {
        status = tsri_task_batch_step(batch);
        if (!taken_in && counts->first_ns) {
            taken_in = tsri_base_now_ns();
            first_tokens = counts->tokens;
        }
    }
    if (d->stats) {
        const uint64_t tokens = counts->tokens;
        d->stats->prompt_tokens += prompt;
        d->stats->new_tokens += tokens;
        d->stats->decode_tokens += tokens - first_tokens;
        d->stats->prefill_ns += taken_in ? taken_in - began : 0;
        d->stats->first_token_ns = taken_in ? counts->first_ns - began : 0;
        d->stats->drafted_tokens += counts->drafted;
        d->stats->accepted_tokens += counts->accepted;
        d->stats->decode_ns += taken_in ? tsri_base_now_ns() - taken_in : 0;
    }
    return status;
}

tsr_status tsri_task_decode(const tsri_task_decoding *d, tsri_task_sequence *sequences,
                            uint32_t n) {
    const tsri_task_batch_options options = {.slots = n};
    tsri_task_token_rules rules = {0};
    tsri_task_member *members = NULL;
    tsri_task_batch *batch = NULL;
    tsr_status status =
        tsri_task_token_rules_create(d->model, d->options, d->ends, d->n_ends, &rules);
    if (status == TSR_OK)
        status = tsri_base_new(n, sizeof *members, &members);
    if (status == TSR_OK)
        status = tsri_task_batch_create(d->session, &options, &batch);
    for (uint32_t i = 0; i < n && status == TSR_OK; i++) {
        members[i] = (tsri_task_member){.decoding = d, .sequence = &sequences[i], .rules = &rules};
        status = tsri_task_batch_add(batch, &members[i]);
    }
    if (status == TSR_OK)
        status = run_batch(d, batch, sequences, n);
    tsri_task_batch_destroy(&batch);
    free(members);
    tsri_task_token_rules_clear(&rules);
    return status;
}
