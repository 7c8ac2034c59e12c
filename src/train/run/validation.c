/* train/run/validation.c - measures the model on data that it does not learn from. */
#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"
#include "train/data/entities.h"
#include "train/run/job.h"
#include "transport/ranks.h"

#include <math.h>
#include <stdlib.h>

static int32_t likeliest(const float *row, int32_t labels) {
    int32_t best = 0;
    for (int32_t k = 1; k < labels; k++)
        best = row[k] > row[best] ? k : best;
    return best;
}

/* Counts the sequences for which the right label is the likeliest. */
static tsr_status count_right(tsri_train_job *job, const tsri_training_batch *batch, int32_t labels,
                              float *logits, int64_t *right) {
    TRY(tsri_training_logits(job->training, batch, NULL, logits));
    for (int32_t b = 0; b < batch->B; b++)
        *right += likeliest(logits + (int64_t)b * labels, labels) == batch->targets[b];
    return TSR_OK;
}

/* Counts the words whose right label is the likeliest, and entities; `given` and `wanted` have room for T labels. */
static tsr_status count_words(tsri_train_job *job, const tsri_training_batch *batch, int32_t labels,
                              float *logits, int32_t *given, int64_t *right,
                              tsri_train_entities *entities) {
    int32_t *wanted = given + batch->T;
    TRY(tsri_training_logits(job->training, batch, NULL, logits));
    for (int32_t b = 0; b < batch->B; b++) {
        size_t n = 0;
        for (int32_t t = 0; t < batch->T; t++) {
            const int32_t target = batch->targets[(int64_t)b * batch->T + t];
            if (target == TSRI_TRAINING_IGNORE)
                continue;
            given[n] = likeliest(logits, labels);
            wanted[n] = target;
            *right += given[n] == wanted[n];
            logits += labels;
            n++;
        }
        tsri_train_entities_count(tsri_model_of(job->model)->spec.label_of, given, wanted, n,
                                  entities);
    }
    return TSR_OK;
}

/* What one part of a validation gave; whole numbers, too, are kept in f64. */
typedef struct tally {
    double sum; /* of losses */
    double counted, right, sequences;
    double entities[3]; /* right, given, wanted */
} tally;

/* Runs as many sequences at a time as a step has, so that validation needs no memory of its own. */
static tsr_status run_batch(tsri_train_job *job, const tsri_training_batch *batch, int32_t labels,
                            float *logits, int32_t *words, tally *parts) {
    for (int32_t first = 0; first < batch->B && !job->stop; first += job->plan.B, parts++) {
        const int32_t left = batch->B - first;
        const tsri_training_batch part = tsri_training_part_of(
            job->training, batch, first, left < job->plan.B ? left : job->plan.B);
        tsri_training_loss loss;
        tsri_train_entities entities = {0};
        int64_t right = 0;
        TRY(tsri_training_evaluate(job->training, &part, &loss));
        if (words)
            TRY(count_words(job, &part, labels, logits, words, &right, &entities));
        else if (labels > 0)
            TRY(count_right(job, &part, labels, logits, &right));
        *parts = (tally){
            .sum = loss.counted > 0 ? loss.loss * (double)loss.counted : 0,
            .counted = (double)loss.counted,
            .right = (double)right,
            .sequences = part.B,
            .entities = {(double)entities.right, (double)entities.given, (double)entities.wanted}};
        (void)tsri_train_tell(job, (tsr_train_event){.kind = TSR_TRAIN_BATCH});
    }
    return TSR_OK;
}

/* Runs every batch whose turn it is for this rank. */
static tsr_status run_own(tsri_train_job *job, uint64_t batches, int64_t each, tally *parts) {
    const bool tokens = job->objective == TSRI_OBJECTIVE_TOKENS;
    const int32_t labels =
        job->objective >= TSRI_OBJECTIVE_CLASSIFY ? tsri_model_of(job->model)->spec.labels : 0;
    const uint32_t ranks = tsri_ranks_size(job->ranks);
    float *logits = NULL;
    int32_t *words = NULL, B, T, S;
    tsri_train_data_sizes(job->validation, &B, &T, &S);
    const size_t rows = (size_t)job->plan.B * (tokens ? (size_t)T : 1);
    TRY(tsri_base_new(rows * (size_t)labels, sizeof *logits, &logits));
    tsr_status status = tokens ? tsri_base_new(2 * (size_t)T, sizeof *words, &words) : TSR_OK;
    for (uint64_t i = tsri_ranks_rank(job->ranks); i < batches && status == TSR_OK && !job->stop;
         i += ranks) {
        tsri_training_batch batch;
        const uint64_t drawn = tsri_train_data_drawn(job->validation, i, batches);
        status = tsri_train_data_batch(job->validation, drawn, &batch);
        if (status == TSR_OK)
            status = run_batch(job, &batch, labels, logits, words, parts + (int64_t)i * each);
    }
    free(logits);
    free(words);
    return status;
}

/* Adds the parts in the order of the batches, whichever rank ran them. */
static tally add_parts(const tally *all, uint64_t batches, int64_t each, uint32_t ranks) {
    tally sum = {0};
    for (uint64_t i = 0; i < batches; i++) {
        const tally *of = all + ((int64_t)(i % ranks) * (int64_t)batches + (int64_t)i) * each;
        for (int64_t k = 0; k < each; k++) {
            sum.sum += of[k].sum;
            sum.counted += of[k].counted;
            sum.right += of[k].right;
            sum.sequences += of[k].sequences;
            for (int e = 0; e < 3; e++)
                sum.entities[e] += of[k].entities[e];
        }
    }
    return sum;
}

static tsri_train_measures measures_of(const tsri_train_job *job, const tally *sum) {
    const tsri_model_spec *spec = &tsri_model_of(job->model)->spec;
    const bool tokens = job->objective == TSRI_OBJECTIVE_TOKENS;
    const double judged = tokens                                      ? sum->counted
                          : job->objective == TSRI_OBJECTIVE_CLASSIFY ? sum->sequences
                                                                      : 0;
    const tsri_train_entities entities = {.right = (uint64_t)sum->entities[0],
                                          .given = (uint64_t)sum->entities[1],
                                          .wanted = (uint64_t)sum->entities[2]};
    const bool named = tokens && tsri_train_entities_are_named(spec->label_of, spec->labels);
    return (tsri_train_measures){.loss = sum->counted > 0 ? sum->sum / sum->counted : NAN,
                                 .accuracy = judged > 0 ? sum->right / judged : NAN,
                                 .f1 = named ? tsri_train_entities_f1(&entities) : NAN};
}

tsr_status tsri_train_validate(tsri_train_job *job, tsri_train_measures *out) {
    const uint64_t most = (uint64_t)job->settings.eval_batches;
    const uint32_t ranks = tsri_ranks_size(job->ranks);
    uint64_t batches = tsri_train_data_batches(job->validation);
    int32_t B, T, S;
    tally *own = NULL, *all = NULL, sum = {0};
    batches = most && most < batches ? most : batches;
    tsri_train_data_sizes(job->validation, &B, &T, &S);
    const int64_t each = (B + job->plan.B - 1) / job->plan.B; /* parts of a batch */
    const size_t n = (size_t)batches * (size_t)each;
    tsr_status status = tsri_base_new(n, sizeof *own, &own);
    if (status == TSR_OK)
        status = tsri_base_new(n * ranks, sizeof *all, &all);
    if (status == TSR_OK)
        status = run_own(job, batches, each, own);
    if (status == TSR_OK)
        status = tsri_train_ranks_agree(job);
    if (status == TSR_OK && !job->stop)
        status = tsri_ranks_gather_equal(job->ranks, own, all, n * sizeof *own);
    if (status == TSR_OK && !job->stop)
        sum = add_parts(all, batches, each, ranks);
    free(own);
    free(all);
    *out = measures_of(job, &sum);
    return status;
}
