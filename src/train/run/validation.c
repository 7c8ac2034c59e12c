/* train/run/validation.c - measures the model on data that it does not learn from. */
#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"
#include "train/run/job.h"
#include "transport/ranks.h"

#include <math.h>
#include <stdlib.h>

/* Counts the sequences for which the right label is the likeliest. */
static tsr_status count_right(tsri_train_job *job, const tsri_training_batch *batch, int32_t labels,
                              float *logits, int64_t *right) {
    TRY(tsri_training_logits(job->training, batch, NULL, logits));
    for (int32_t b = 0; b < batch->B; b++) {
        const float *row = logits + (int64_t)b * labels;
        int32_t best = 0;
        for (int32_t k = 1; k < labels; k++)
            best = row[k] > row[best] ? k : best;
        *right += best == batch->targets[b];
    }
    return TSR_OK;
}

/* What one part of a validation gave; whole numbers, too, are kept in f64. */
typedef struct tally {
    double sum; /* of losses */
    double counted, right, sequences;
} tally;

/* Runs as many sequences at a time as a step has, so that validation needs no memory of its own. */
static tsr_status run_batch(tsri_train_job *job, const tsri_training_batch *batch, int32_t labels,
                            float *logits, tally *parts) {
    for (int32_t first = 0; first < batch->B && !job->stop; first += job->plan.B, parts++) {
        const int32_t left = batch->B - first;
        const tsri_training_batch part = tsri_training_part_of(
            job->training, batch, first, left < job->plan.B ? left : job->plan.B);
        tsri_training_loss loss;
        int64_t right = 0;
        TRY(tsri_training_evaluate(job->training, &part, &loss));
        if (labels > 0)
            TRY(count_right(job, &part, labels, logits, &right));
        *parts = (tally){.sum = loss.counted > 0 ? loss.loss * (double)loss.counted : 0,
                         .counted = (double)loss.counted,
                         .right = (double)right,
                         .sequences = part.B};
        (void)tsri_train_tell(job, (tsr_train_event){.kind = TSR_TRAIN_BATCH});
    }
    return TSR_OK;
}

/* Runs every batch whose turn it is for this rank. */
static tsr_status run_own(tsri_train_job *job, uint64_t batches, int64_t each, tally *parts) {
    const int32_t labels =
        job->objective == TSRI_OBJECTIVE_CLASSIFY ? tsri_model_of(job->model)->spec.labels : 0;
    const uint32_t ranks = tsri_ranks_size(job->ranks);
    float *logits = NULL;
    TRY(tsri_base_new((size_t)job->plan.B * (size_t)labels, sizeof *logits, &logits));
    tsr_status status = TSR_OK;
    for (uint64_t i = tsri_ranks_rank(job->ranks); i < batches && status == TSR_OK && !job->stop;
         i += ranks) {
        tsri_training_batch batch;
        status = tsri_train_data_batch(job->validation, i, &batch);
        if (status == TSR_OK)
            status = run_batch(job, &batch, labels, logits, parts + (int64_t)i * each);
    }
    free(logits);
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
        }
    }
    return sum;
}

tsr_status tsri_train_validate(tsri_train_job *job, double *loss, double *accuracy) {
    const bool classify = job->objective == TSRI_OBJECTIVE_CLASSIFY;
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
    *loss = sum.counted > 0 ? sum.sum / sum.counted : NAN;
    *accuracy = classify && sum.sequences > 0 ? sum.right / sum.sequences : NAN;
    return status;
}
