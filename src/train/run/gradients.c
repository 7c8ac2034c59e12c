/* train/run/gradients.c - runs the batches of a step, shard by shard.
 *
 * A step's batches are cut into micro-batches, which are run one at a time: a batch, or where there
 * are more shards than batches, some of its sequences. A shard's micro-batches add up one after the
 * other, the shards in pairs (docs/distributed.md).
 */
#include "base/error.h"
#include "base/memory.h"
#include "train/run/job.h"

#include <stdlib.h>

/* How a step is cut. */
typedef struct cut {
    int64_t batches, shards, micro; /* of a step */
    int64_t parts;                  /* micro-batches of a batch */
    int64_t run;                    /* micro-batches of a shard */
} cut;

static cut cut_of(const tsri_train_settings *s) {
    cut c = {.batches = s->gradient_accumulation_steps, .shards = tsri_train_settings_shards(s)};
    c.micro = c.shards > c.batches ? c.shards : c.batches;
    c.parts = c.micro / c.batches;
    c.run = c.micro / c.shards;
    return c;
}

int32_t tsri_train_rows(const tsri_train_job *job) {
    const int64_t parts = cut_of(&job->settings).parts;
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

static tsr_status run_all(tsri_train_job *job, const cut *c, tsri_training_loss *of,
                          int64_t *tokens, bool *done) {
    tsri_training_batch batch;
    for (int64_t m = 0; m < c->micro; m++) {
        const uint64_t index = (uint64_t)(job->at.step * c->batches + m / c->parts);
        if (m % c->parts == 0)
            TRY(tsri_train_data_batch(job->data, index, &batch));
        TRY(run_one(job, c, m, &batch, &of[m / c->run], tokens));
        if ((m + 1) % c->run == 0)
            TRY(tsri_training_end_shard(job->training, (uint32_t)(m / c->run)));
        if (m + 1 < c->micro && tsri_train_tell(job, (tsr_train_event){.kind = TSR_TRAIN_BATCH}))
            return TSR_OK;
    }
    *done = true;
    return TSR_OK;
}

tsr_status tsri_train_gradients(tsri_train_job *job, tsri_training_loss *loss, int64_t *tokens,
                                bool *done) {
    const cut c = cut_of(&job->settings);
    tsri_training_loss *of = NULL; /* of each shard */
    TRY(tsri_base_new((size_t)c.shards, sizeof *of, &of));
    const tsr_status status = run_all(job, &c, of, tokens, done);
    add_losses(of, c.shards);
    *loss = of[0];
    free(of);
    return status;
}
