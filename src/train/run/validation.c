/* train/run/validation.c - measures the model on data that it does not learn from. */
#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"
#include "train/run/job.h"

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

/* The results of a validation so far. */
typedef struct tally {
    double sum; /* of losses */
    int64_t counted, right, sequences;
} tally;

/* Runs as many sequences at a time as a step has, so that validation needs no memory of its own. */
static tsr_status add_batch(tsri_train_job *job, const tsri_training_batch *batch, int32_t labels,
                            float *logits, tally *so_far) {
    for (int32_t first = 0; first < batch->B && !job->stop; first += job->plan.B) {
        const int32_t left = batch->B - first;
        const tsri_training_batch part = tsri_training_part_of(
            job->training, batch, first, left < job->plan.B ? left : job->plan.B);
        tsri_training_loss loss;
        TRY(tsri_training_evaluate(job->training, &part, &loss));
        if (labels > 0)
            TRY(count_right(job, &part, labels, logits, &so_far->right));
        if (loss.counted > 0)
            so_far->sum += loss.loss * (double)loss.counted;
        so_far->counted += loss.counted;
        so_far->sequences += part.B;
        (void)tsri_train_tell(job, (tsr_train_event){.kind = TSR_TRAIN_BATCH});
    }
    return TSR_OK;
}

tsr_status tsri_train_validate(tsri_train_job *job, double *loss, double *accuracy) {
    const bool classify = job->objective == TSRI_OBJECTIVE_CLASSIFY;
    const int32_t labels = classify ? tsri_model_of(job->model)->spec.labels : 0;
    const uint64_t most = (uint64_t)job->settings.eval_batches;
    uint64_t batches = tsri_train_data_batches(job->validation);
    tally all = {0};
    float *logits = NULL;
    batches = most && most < batches ? most : batches;
    TRY(tsri_base_new((size_t)job->plan.B * (size_t)labels, sizeof *logits, &logits));
    tsr_status status = TSR_OK;
    for (uint64_t i = 0; i < batches && status == TSR_OK && !job->stop; i++) {
        tsri_training_batch batch;
        status = tsri_train_data_batch(job->validation, i, &batch);
        if (status == TSR_OK)
            status = add_batch(job, &batch, labels, logits, &all);
    }
    free(logits);
    *loss = all.counted > 0 ? all.sum / (double)all.counted : NAN;
    *accuracy = classify && all.sequences > 0 ? (double)all.right / (double)all.sequences : NAN;
    return status;
}
