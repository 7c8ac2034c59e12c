/* train/run/teacher.c - runs a frozen model beside the one that learns, for its logits. */
#include "train/run/teacher.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

struct tsri_train_teacher {
    tsr_model *model;
    tsri_session *session;
    tsri_model_sequence *sequences; /* [B] */
    float *logits;                  /* as in a batch: train/step/training.h */
    size_t room;
    int64_t *listed; /* masked: [B*T] */
    tsri_training_objective objective;
    int64_t width;
};

/* Number of logits of a row. */
static int64_t width_of(const tsri_model *model, tsri_training_objective objective) {
    return objective == TSRI_OBJECTIVE_CLASSIFY || objective == TSRI_OBJECTIVE_TOKENS
               ? model->spec.labels
               : model->spec.vocab;
}

static tsr_status open_session(tsri_train_teacher *t, int32_t B, int32_t T, int32_t S) {
    tsri_model *model = tsri_model_of(t->model);
    const int64_t reads = model->spec.decoder.layers ? model->spec.context : 0;
    if (reads && T > reads)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s reads %lld tokens, but sequences have up to %d: give a smaller "
                              "block_size",
                              model->path, (long long)reads, T);
    const tsri_session_sizes sizes = {
        .slots = B, .context = reads ? T : 0, .sources = S ? B : 0, .source_context = S};
    return tsri_session_create_sized(model, &sizes, &t->session);
}

tsr_status tsri_train_teacher_open(const char *name, tsr_device *device, const tsr_model *student,
                                   tsri_training_objective objective, int32_t B, int32_t T,
                                   int32_t S, tsri_train_teacher **out) {
    tsri_train_teacher *t = NULL;
    const tsr_model_options options = {.struct_size = sizeof options};
    const int64_t wanted = width_of(tsri_model_of(student), objective);
    TRY(tsri_base_new(1, sizeof *t, &t));
    t->objective = objective;
    tsr_status status = tsr_model_open(name, device, &options, &t->model);
    const char *lacks =
        status == TSR_OK ? tsri_training_unfit(tsri_model_of(t->model), objective) : NULL;
    if (lacks)
        status = tsri_base_fail(TSR_E_ARGUMENT,
                                "%s can't be the teacher of a model that learns this: it is not %s",
                                tsri_model_of(t->model)->path, lacks);
    if (status == TSR_OK) {
        t->width = width_of(tsri_model_of(t->model), objective);
        if (t->width != wanted)
            status = tsri_base_fail(TSR_E_ARGUMENT,
                                    "%s gives %lld logits, the model that learns %lld; the teacher "
                                    "must have the same vocabulary or labels",
                                    tsri_model_of(t->model)->path, (long long)t->width,
                                    (long long)wanted);
    }
    if (status == TSR_OK)
        status = tsri_base_new((size_t)B, sizeof *t->sequences, &t->sequences);
    if (status == TSR_OK &&
        (objective == TSRI_OBJECTIVE_MASKED || objective == TSRI_OBJECTIVE_TOKENS))
        status = tsri_base_new((size_t)B * (size_t)T, sizeof *t->listed, &t->listed);
    if (status == TSR_OK)
        status = open_session(t, B, T, S);
    if (status != TSR_OK)
        tsri_train_teacher_close(&t);
    *out = t;
    return status;
}

/* Moves rows that are stored without padding to their places in [B,T]. It goes backwards, because
 * rows only ever move towards the end. */
static void spread(const tsri_training_batch *batch, int64_t width, float *logits) {
    int64_t row = 0;
    for (int32_t b = 0; b < batch->B; b++)
        row += batch->len[b];
    for (int32_t b = batch->B - 1; b >= 0; b--) {
        float *own = logits + (int64_t)b * batch->T * width;
        const int64_t n = batch->len[b];
        row -= n;
        memmove(own, logits + row * width, (size_t)(n * width) * sizeof *own);
        memset(own + n * width, 0, (size_t)((batch->T - n) * width) * sizeof *own);
    }
}

/* Lists the tokens that have targets, by their numbers in the batch without padding. */
static int64_t list_targets(const tsri_training_batch *batch, int64_t *listed) {
    int64_t n = 0, token = 0;
    for (int32_t b = 0; b < batch->B; b++)
        for (int32_t t = 0; t < batch->len[b]; t++, token++)
            if (batch->targets[(int64_t)b * batch->T + t] != TSRI_TRAINING_IGNORE)
                listed[n++] = token;
    return n;
}

tsr_status tsri_train_teacher_run(tsri_train_teacher *t, tsri_training_batch *batch) {
    const bool labels = t->objective == TSRI_OBJECTIVE_CLASSIFY;
    const bool tokens = t->objective == TSRI_OBJECTIVE_TOKENS;
    const bool masked = t->objective == TSRI_OBJECTIVE_MASKED || tokens;
    const int64_t listed = masked ? list_targets(batch, t->listed) : 0;
    const int64_t rows = labels ? batch->B : masked ? listed : (int64_t)batch->B * batch->T;
    TRY(tsri_base_grow(&t->logits, &t->room, (size_t)((rows ? rows : 1) * t->width),
                       sizeof *t->logits));
    batch->teacher = t->logits;
    if (rows == 0) /* nothing has a target */
        return TSR_OK;
    const tsri_model_results results = {.rows = masked ? TSRI_ROWS_LISTED : TSRI_ROWS_ALL,
                                        .listed = t->listed,
                                        .n_listed = listed,
                                        .logits = labels || tokens ? NULL : t->logits,
                                        .labels = labels || tokens ? t->logits : NULL};
    const tsri_model_results none = {.rows = TSRI_ROWS_ALL};
    tsri_model_sequence *s = t->sequences;
    for (int32_t b = 0; batch->S && b < batch->B; b++)
        s[b] = (tsri_model_sequence){
            .ids = batch->source + (int64_t)b * batch->S, .n = batch->source_len[b], .slot = b};
    if (batch->S)
        TRY(tsri_session_encode(t->session, s, batch->B, &none));
    for (int32_t b = 0; b < batch->B; b++)
        s[b] = (tsri_model_sequence){.ids = batch->ids + (int64_t)b * batch->T,
                                     .types =
                                         batch->types ? batch->types + (int64_t)b * batch->T : NULL,
                                     .n = batch->len[b],
                                     .slot = b,
                                     .source = batch->S ? b : 0};
    if (labels || masked)
        TRY(tsri_session_encode(t->session, s, batch->B, &results));
    else
        TRY(tsri_session_forward(t->session, s, batch->B, &results));
    if (!labels && !masked)
        spread(batch, t->width, t->logits);
    return TSR_OK;
}

void tsri_train_teacher_close(tsri_train_teacher **teacher) {
    if (!*teacher)
        return;
    tsri_session_destroy(&(*teacher)->session);
    tsr_model_close(&(*teacher)->model);
    free((*teacher)->sequences);
    free((*teacher)->logits);
    free((*teacher)->listed);
    free(*teacher);
    *teacher = NULL;
}
