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

/* Batches that take turns: more than one only where ranks share the layers. Sequence i is in batch i % n. */
typedef struct batches {
    tsri_task_batch **items;
    uint32_t n;
} batches;

static bool is_busy(const batches *all) {
    for (uint32_t i = 0; i < all->n; i++)
        if (tsri_task_batch_busy(all->items[i]))
            return true;
    return false;
}

static tsri_task_batch_counts count(const batches *all) {
    tsri_task_batch_counts sum = {0};
    for (uint32_t i = 0; i < all->n; i++) {
        const tsri_task_batch_counts *c = tsri_task_batch_counts_of(all->items[i]);
        sum.tokens += c->tokens;
        sum.drafted += c->drafted;
        sum.accepted += c->accepted;
        if (c->first_ns && (!sum.first_ns || c->first_ns < sum.first_ns))
            sum.first_ns = c->first_ns;
    }
    return sum;
}

static tsr_status step(const batches *all) {
    if (all->n == 1)
        return tsri_task_batch_step(all->items[0]);
    for (uint32_t i = 0; i < all->n; i++)
        TRY(tsri_task_batch_turn(all->items[i]));
    return TSR_OK;
}

static tsr_status run(const tsri_task_decoding *d, const batches *all,
                      const tsri_task_sequence *sequences, uint32_t n) {
    const uint64_t began = tsri_base_now_ns();
    uint64_t taken_in = 0, first_tokens = 0, prompt = 0;
    tsr_status status = TSR_OK;
    for (uint32_t i = 0; i < n; i++)
        prompt += sequences[i].ids.count - (size_t)sequences[i].past;
    while (status == TSR_OK && (is_busy(all) || !all_finished(sequences, n))) {
        status = step(all);
        if (!taken_in && count(all).first_ns) {
            taken_in = tsri_base_now_ns();
            first_tokens = count(all).tokens;
        }
    }
    if (d->stats) {
        const tsri_task_batch_counts counts = count(all);
        d->stats->prompt_tokens += prompt;
        d->stats->new_tokens += counts.tokens;
        d->stats->decode_tokens += counts.tokens - first_tokens;
        d->stats->prefill_ns += taken_in ? taken_in - began : 0;
        d->stats->first_token_ns = taken_in ? counts.first_ns - began : 0;
        d->stats->drafted_tokens += counts.drafted;
        d->stats->accepted_tokens += counts.accepted;
        d->stats->decode_ns += taken_in ? tsri_base_now_ns() - taken_in : 0;
    }
    return status;
}

static tsr_status make(const tsri_task_decoding *d, uint32_t n, batches *all) {
    const uint32_t most = tsri_model_groups(d->model), wanted = n < most ? n : most;
    const tsri_task_batch_options options = {.slots = (n + wanted - 1) / wanted};
    TRY(tsri_base_new(wanted, sizeof(void *), &all->items));
    for (; all->n < wanted; all->n++)
        TRY(tsri_task_batch_create(d->session, &options, &all->items[all->n]));
    return TSR_OK;
}

static void destroy(batches *all) {
    for (uint32_t i = 0; i < all->n; i++)
        tsri_task_batch_destroy(&all->items[i]);
    free(all->items);
}

tsr_status tsri_task_decode(const tsri_task_decoding *d, tsri_task_sequence *sequences,
                            uint32_t n) {
    tsri_task_token_rules rules = {0};
    tsri_task_member *members = NULL;
    batches all = {0};
    tsr_status status =
        tsri_task_token_rules_create(d->model, d->options, d->ends, d->n_ends, &rules);
    if (status == TSR_OK)
        status = tsri_base_new(n, sizeof *members, &members);
    if (status == TSR_OK)
        status = make(d, n, &all);
    for (uint32_t i = 0; i < n && status == TSR_OK; i++) {
        members[i] = (tsri_task_member){.decoding = d, .sequence = &sequences[i], .rules = &rules};
        status = tsri_task_batch_add(all.items[i % all.n], &members[i]);
    }
    if (status == TSR_OK)
        status = run(d, &all, sequences, n);
    destroy(&all);
    free(members);
    tsri_task_token_rules_clear(&rules);
    return status;
}
