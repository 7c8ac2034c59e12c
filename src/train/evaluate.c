/* train/job.h: how well the model does on what it does not learn from. */
#include "base/error.h"
#include "base/memory.h"
#include "model/opened.h"
#include "train/job.h"

#include <math.h>
#include <stdlib.h>

/* Sequences whose likeliest label is theirs. */
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

tsr_status tsri_train_evaluate(tsri_train_job *job, double *loss, double *accuracy) {
    const bool classify = job->objective == TSRI_OBJECTIVE_CLASSIFY;
    const int32_t labels = classify ? tsri_model_of(job->model)->spec.labels : 0;
    const uint64_t most = (uint64_t)job->settings.eval_batches;
    uint64_t batches = tsri_train_data_batches(job->validation);
    int64_t counted = 0, right = 0, sequences = 0;
    double sum = 0;
    float *logits = NULL;
    batches = most && most < batches ? most : batches;
    TRY(tsri_base_new((size_t)job->plan.B * (size_t)labels, sizeof *logits, &logits));
    tsr_status status = TSR_OK;
    for (uint64_t i = 0; i < batches && status == TSR_OK && !job->stop; i++) {
        tsri_training_batch batch;
        tsri_training_loss part = {0};
        status = tsri_train_data_batch(job->validation, i, &batch);
        if (status == TSR_OK)
            status = tsri_training_evaluate(job->training, &batch, &part);
        if (status == TSR_OK && classify)
            status = count_right(job, &batch, labels, logits, &right);
        if (part.counted > 0)
            sum += part.loss * (double)part.counted;
        counted += part.counted;
        sequences += batch.B;
        if (status == TSR_OK)
            (void)tsri_train_tell(job, (tsr_train_event){.kind = TSR_TRAIN_BATCH});
    }
    free(logits);
    *loss = counted > 0 ? sum / (double)counted : NAN;
    *accuracy = classify && sequences > 0 ? (double)right / (double)sequences : NAN;
    return status;
}
