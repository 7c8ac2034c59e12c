/* train/run/teacher.c - runs a frozen model beside the one that learns, for its logits. */
#include "train/run/teacher.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"
#include "train/data/data.h"

#include <inttypes.h>
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
    int32_t *columns; /* classifiers: [width] of each of the student's labels, its column here */
    float *row;       /* [width] while its columns change places */
};

static bool is_classifier(tsri_training_objective objective) {
    return objective == TSRI_OBJECTIVE_CLASSIFY || objective == TSRI_OBJECTIVE_TOKENS;
}

/* Number of logits of a row. */
static int64_t width_of(const tsri_model *model, tsri_training_objective objective) {
    return is_classifier(objective) ? model->spec.labels : model->spec.vocab;
}

static tsr_status check_width(const tsri_train_teacher *t, const tsri_model *student) {
    const int64_t wanted = width_of(student, t->objective);
    return t->width == wanted
               ? TSR_OK
               : tsri_base_fail(TSR_E_ARGUMENT,
                                "%s gives %lld logits, the model that learns %lld; the teacher "
                                "must have the same vocabulary or labels",
                                tsri_model_of(t->model)->path, (long long)t->width,
                                (long long)wanted);
}

static tsr_status match_labels(tsri_train_teacher *t, const tsri_model_spec *student) {
    const tsri_model *own = tsri_model_of(t->model);
    TRY(tsri_base_new((size_t)t->width, sizeof *t->columns, &t->columns));
    TRY(tsri_base_new((size_t)t->width, sizeof *t->row, &t->row));
    for (int32_t i = 0; i < student->labels; i++) {
        const char *label = student->label_of[i];
        t->columns[i] = tsri_train_label_number(&own->spec, label, strlen(label));
        if (t->columns[i] < 0)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "%s lacks the label \"%.60s\" of the model that learns; the "
                                  "teacher must have the same labels (\"id2label\" in config.json)",
                                  own->path, label);
    }
    return TSR_OK;
}

/* Whether an id is the same token for both: its pieces are equal, or stand for the same bytes,
 * because formats spell pieces differently. An id that one of them does not have is passed over. */
static tsr_status same_token(const tsri_text_tokenizer *a, const tsri_text_tokenizer *b, int32_t id,
                             bool *same) {
    size_t n, m;
    tsri_bytes x = {0}, y = {0};
    const char *p = tsri_text_piece_of(a, id, &n), *q = tsri_text_piece_of(b, id, &m);
    *same = !p || !q || (n == m && !memcmp(p, q, n));
    if (*same)
        return TSR_OK;
    tsr_status status = tsri_text_token_bytes(a, id, &x);
    if (status == TSR_OK)
        status = tsri_text_token_bytes(b, id, &y);
    *same = status == TSR_OK && x.size && x.size == y.size && !memcmp(x.data, y.data, x.size);
    tsri_base_bytes_clear(&x);
    tsri_base_bytes_clear(&y);
    return status;
}

/* The teacher reads the student's ids, and its logits are of ids, too. */
static tsr_status check_vocabulary(const tsri_train_teacher *t, const tsri_model *student) {
    const tsri_model *own = tsri_model_of(t->model);
    const tsri_text_tokenizer *a = own->tokenizer, *b = student->tokenizer;
    const int32_t size = a && b ? tsri_text_vocabulary_size(b) : 0;
    for (int32_t id = 0; id < size; id++) {
        bool same;
        size_t n, m;
        TRY(same_token(a, b, id, &same));
        if (same)
            continue;
        const char *p = tsri_text_piece_of(a, id, &n), *q = tsri_text_piece_of(b, id, &m);
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s has the token \"%.*s\" with id %" PRId32
                              ", the model that learns has \"%.*s\"; the teacher must have the "
                              "same vocabulary",
                              own->path, n < 60 ? (int)n : 60, p, id, m < 60 ? (int)m : 60, q);
    }
    return TSR_OK;
}

/* Whether the teacher's logits are of what the student's are of. */
static tsr_status match(tsri_train_teacher *t, const tsri_model *student) {
    const char *lacks = tsri_training_unfit(tsri_model_of(t->model), t->objective);
    if (lacks)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s can't be the teacher of a model that learns this: it is not %s",
                              tsri_model_of(t->model)->path, lacks);
    t->width = width_of(tsri_model_of(t->model), t->objective);
    TRY(check_width(t, student));
    TRY(check_vocabulary(t, student));
    return is_classifier(t->objective) ? match_labels(t, &student->spec) : TSR_OK;
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
    TRY(tsri_base_new(1, sizeof *t, &t));
    t->objective = objective;
    tsr_status status = tsr_model_open(name, device, &options, &t->model);
    if (status == TSR_OK)
        status = match(t, tsri_model_of(student));
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

/* Puts the columns of each row into the order of the student's labels. */
static void reorder(const tsri_train_teacher *t, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) {
        float *row = t->logits + r * t->width;
        memcpy(t->row, row, (size_t)t->width * sizeof *row);
        for (int64_t i = 0; i < t->width; i++)
            row[i] = t->row[t->columns[i]];
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
    if (t->columns)
        reorder(t, rows);
    if (!labels && !masked)
        spread(batch, t->width, t->logits);
    return TSR_OK;
}

const tsr_model *tsri_train_teacher_model(const tsri_train_teacher *teacher) {
    return teacher->model;
}

void tsri_train_teacher_close(tsri_train_teacher **teacher) {
    if (!*teacher)
        return;
    tsri_session_destroy(&(*teacher)->session);
    tsr_model_close(&(*teacher)->model);
    free((*teacher)->sequences);
    free((*teacher)->logits);
    free((*teacher)->listed);
    free((*teacher)->columns);
    free((*teacher)->row);
    free(*teacher);
    *teacher = NULL;
}
