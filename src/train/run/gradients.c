/* train/run/gradients.c - runs the batches of a step, shard by shard.
 *
 * A step's batches are cut into micro-batches, which are run one at a time: a batch, or where there
 * are more shards than batches, some of its sequences. A shard's micro-batches add up one after the
 * other, the shards in pairs (docs/distributed.md). With several ranks, each runs the shards that were dealt
 * to it (train/step/deal.h).
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "train/run/job.h"
#include "transport/ranks.h"

#include <stdlib.h>
#include <string.h>

/* How a step is cut. */
typedef struct cut {
    int64_t batches, shards, micro; /* of a step */
    int64_t parts;                  /* micro-batches of a batch */
    int64_t run;                    /* micro-batches of a shard */
} cut;

/* What a rank has made of its part of a step; `losses` of all its shards follow, in the order in which it
 * ran them. */
typedef struct part {
    int64_t tokens, complete;
    double seconds; /* that it computed */
    tsri_training_loss losses[];
} part;

static cut cut_of(const tsri_train_job *job) {
    const tsri_train_settings *s = &job->settings;
    cut c = {.batches = s->gradient_accumulation_steps, .shards = tsri_train_settings_shards(s)};
    c.micro = c.shards > c.batches ? c.shards : c.batches;
    c.parts = c.micro / c.batches;
    c.run = c.micro / c.shards;
    return c;
}

int32_t tsri_train_rows(const tsri_train_job *job) {
    const int64_t parts = cut_of(job).parts;
    int32_t B, T, S;
    tsri_train_data_sizes(job->data, &B, &T, &S);
    return (int32_t)((B + parts - 1) / parts);
}

static int64_t tokens_of(const tsri_training_batch *batch) {
    int64_t n = 0;
    for (int32_t b = 0; b < batch->B; b++)
        n += batch->len[b] + (batch->S ? batch->source_len[b] : 0);
    return n;
}

/* Part number `part` of a batch. A small batch may have fewer sequences than parts: then *empty,
 * and the part is a sequence that counts nothing. */
static tsri_training_batch part_of(const tsri_train_job *job, const tsri_training_batch *batch,
                                   int64_t part, int64_t parts, bool *empty) {
    const int32_t first = (int32_t)(batch->B * part / parts),
                  end = (int32_t)(batch->B * (part + 1) / parts);
    *empty = first == end;
    if (parts == 1)
        return *batch;
    tsri_training_batch out =
        tsri_training_part_of(job->training, batch, *empty ? 0 : first, *empty ? 1 : end - first);
    out.counted = tsri_training_count_targets(job->training, batch);
    return out;
}

/* Runs micro-batch `m` of the step, which is a part of `batch`, and adds what it gives. */
static tsr_status run_one(tsri_train_job *job, const cut *c, int64_t m,
                          const tsri_training_batch *batch, tsri_training_loss *sum,
                          int64_t *tokens) {
    const double share = 1 / (double)c->batches;
    const uint64_t draw = (uint64_t)(job->at.step * c->micro + m);
    tsri_training_loss loss;
    bool empty;
    tsri_training_batch part = part_of(job, batch, m % c->parts, c->parts, &empty);
    if (job->teacher)
        TRY(tsri_train_teacher_run(job->teacher, &part));
    TRY(tsri_training_gradients(job->training, &part, m % c->run == 0, empty ? 0 : share, draw,
                                &loss));
    if (empty)
        return TSR_OK;
    sum->loss += loss.loss * share;
    sum->hard += loss.hard * share;
    sum->kl += loss.kl * share;
    *tokens += tokens_of(&part);
    return TSR_OK;
}

/* Adds the shards' losses in pairs, as their gradients are. */
static void add_losses(tsri_training_loss *of, int64_t n) {
    for (int64_t apart = 1; apart < n; apart *= 2)
        for (int64_t i = 0; i < n; i += 2 * apart) {
            of[i].loss += of[i + apart].loss;
            of[i].hard += of[i + apart].hard;
            of[i].kl += of[i + apart].kl;
        }
}

/* One shard: the batches from micro-batch `first` on. */
static tsr_status run_shard(tsri_train_job *job, const cut *c, int64_t shard, bool begins,
                            bool ends, tsri_training_batch *batch, part *own,
                            tsri_training_loss *loss) {
    const int64_t first = shard * c->run;
    for (int64_t m = first; m < first + c->run; m++) {
        const bool last = ends && m + 1 == first + c->run;
        const uint64_t index = (uint64_t)(job->at.step * c->batches + m / c->parts);
        if (m % c->parts == 0 || (begins && m == first))
            TRY(tsri_train_data_batch(job->data, index, batch));
        if (last)
            TRY(tsri_training_send_ahead(job->training));
        TRY(run_one(job, c, m, batch, loss, &own->tokens));
        if (m + 1 == first + c->run)
            TRY(tsri_training_end_shard(job->training, (uint32_t)shard));
        if (!last && tsri_train_tell(job, (tsr_train_event){.kind = TSR_TRAIN_BATCH})) {
            own->complete = 0;
            return TSR_OK;
        }
    }
    return TSR_OK;
}

/* All shards of this rank's nodes. */
static tsr_status run_own(tsri_train_job *job, const cut *c, part *own) {
    const tsri_training_deal *deal = tsri_training_dealt(job->training);
    const uint32_t rank = tsri_ranks_rank(job->ranks);
    const size_t nodes = tsri_training_deal_count(deal, rank);
    const uint64_t begun = tsri_base_now_ns(), waited = tsri_ranks_waited_ns(job->ranks);
    tsri_training_batch batch;
    size_t done = 0;
    own->complete = 1;
    for (size_t i = 0; i < nodes; i++) {
        const tsri_training_node *node = &deal->nodes[tsri_training_deal_index(deal, rank, i)];
        const uint32_t n = 1u << node->level;
        for (uint32_t k = 0; k < n && own->complete; k++, done++)
            TRY(run_shard(job, c, node->first + k, k == 0, i + 1 == nodes && k + 1 == n, &batch,
                          own, &own->losses[done]));
    }
    own->seconds =
        (double)(tsri_base_now_ns() - begun - (tsri_ranks_waited_ns(job->ranks) - waited)) * 1e-9;
    return TSR_OK;
}

/* Bytes of a part: all ranks give as many. */
static size_t part_bytes(const tsri_training_deal *deal) {
    uint32_t most = 0;
    for (uint32_t r = 0; r < deal->ranks; r++) {
        const uint32_t n = tsri_training_deal_shards(deal, r);
        most = n > most ? n : most;
    }
    return sizeof(part) + most * sizeof(tsri_training_loss);
}

/* Puts the ranks' parts together: the losses of all shards, in the order of these. */
static void collect(tsri_train_job *job, const char *parts, size_t bytes, tsri_training_loss *of,
                    int64_t *tokens, bool *complete) {
    const tsri_training_deal *deal = tsri_training_dealt(job->training);
    *complete = true;
    for (uint32_t r = 0; r < deal->ranks; r++) {
        const part *p = (const part *)(const void *)(parts + r * bytes);
        const tsri_training_loss *from = p->losses;
        *tokens += p->tokens;
        *complete &= p->complete != 0;
        for (size_t i = 0; i < tsri_training_deal_count(deal, r); i++) {
            const tsri_training_node *node = &deal->nodes[tsri_training_deal_index(deal, r, i)];
            const size_t n = (size_t)1 << node->level;
            memcpy(of + node->first, from, n * sizeof *of);
            from += n;
        }
        if (job->balance)
            tsri_train_balance_took(job->balance, r, p->seconds);
    }
}

tsr_status tsri_train_gradients(tsri_train_job *job, tsri_training_loss *loss, int64_t *tokens,
                                bool *done) {
    const cut c = cut_of(job);
    const size_t ranks = tsri_ranks_size(job->ranks),
                 bytes = part_bytes(tsri_training_dealt(job->training));
    tsri_training_loss *of = NULL; /* of each shard */
    part *own = NULL;
    char *all = NULL;
    tsr_status status = tsri_base_new(1, bytes, &own);
    if (status == TSR_OK)
        status = tsri_base_new(ranks, bytes, &all);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)c.shards, sizeof *of, &of);
    if (status == TSR_OK)
        status = run_own(job, &c, own);
    if (status == TSR_OK)
        status = tsri_training_send_rest(job->training);
    if (status == TSR_OK)
        status = tsri_ranks_gather_equal(job->ranks, own, all, bytes);
    if (status == TSR_OK) {
        collect(job, all, bytes, of, tokens, done);
        job->stop |= !*done;
        add_losses(of, c.shards);
        *loss = of[0];
    }
    if (status == TSR_OK)
        status = (*done ? tsri_training_join : tsri_training_discard)(job->training);
    free(of);
    free(own);
    free(all);
    return status;
}
