/* train/training.c - tessera/training.h: a training whose caller brings the batches. */
#include "tessera/training.h"

#include "base/error.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/model.h"
#include "train/checkpoint/checkpoint.h"
#include "train/recipe/settings.h"

#include <stdlib.h>
#include <string.h>

struct tsr_training {
    tsr_model *model;
    tsri_training *training;
    tsri_train_settings settings;
    tsri_train_companions companions;
    char *name;          /* of the model */
    int32_t *lengths[2]; /* where a batch gives none */
    size_t lengths_room[2];
    tsri_training_array array; /* given last */
    uint64_t steps, batches;
    bool has_gradients, has_arrays;
};

static tsri_training_objective objective_of(const tsri_model *model, uint32_t task) {
    static const tsri_training_objective tasks[] = {
        [TSR_TRAIN_GENERATE] = TSRI_OBJECTIVE_NEXT,
        [TSR_TRAIN_FILL_MASK] = TSRI_OBJECTIVE_MASKED,
        [TSR_TRAIN_TRANSLATE] = TSRI_OBJECTIVE_TRANSLATE,
        [TSR_TRAIN_CLASSIFY] = TSRI_OBJECTIVE_CLASSIFY,
        [TSR_TRAIN_CLASSIFY_TOKENS] = TSRI_OBJECTIVE_TOKENS};
    return task == TSR_TRAIN_AUTO ? tsri_training_objective_of(model) : tasks[task];
}

static tsr_status read_settings(const tsr_training_options *o, tsri_train_settings *out) {
    const tsri_train_keys *table = tsri_train_settings_keys();
    tsri_train_key_defaults(table, out);
    for (size_t i = 0; i < o->n_set; i++) {
        char name[TSRI_TRAIN_KEY_NAME];
        const char *value;
        TRY(tsri_train_key_split(o->set[i], name, &value));
        const tsri_train_key *key = tsri_train_key_find(table, name);
        if (!key)
            return tsri_train_key_unknown(&table, 1, name);
        TRY(tsri_train_key_set(key, out, value));
    }
    return TSR_OK;
}

/* A training does not need the files beside the weights that are left out. */
static void pass_over(void *data, const char *sentence) {
    (void)data, (void)sentence;
}

/* No other model runs here: the caller brings a teacher's logits. */
static tsr_status check_teacher(const tsri_train_settings *s, bool teacher) {
    const bool toward = *s->kl_to && strcmp(s->kl_to, "uniform") != 0;
    if (toward || *s->distill_from)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s=%s: a tsr_training runs no other model; set "
                              "tsr_training_options.teacher, and give its logits with each batch",
                              toward ? "kl_to" : "distill_from",
                              toward ? s->kl_to : s->distill_from);
    if (teacher && *s->kl_to)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "kl_to and tsr_training_options.teacher: give only one of them");
    if (teacher && s->kl_weight > 1)
        return tsri_base_fail(TSR_E_ARGUMENT, "kl_weight=%g: with a teacher it must be from 0 to 1",
                              s->kl_weight);
    return TSR_OK;
}

static tsr_status begin(tsr_training *t, tsr_device *device, const tsr_training_options *o) {
    const bool lora = t->settings.lora_rank > 0, head = o->head_only != 0;
    const tsr_model_options opened = {.struct_size = sizeof opened, .dtype = lora ? 0 : TSR_F32};
    tsri_training_options options;
    TRY(tsr_model_open(t->name, NULL, &opened, &t->model));
    const tsri_model *m = tsri_model_of(t->model);
    const tsri_training_objective objective = objective_of(m, o->task);
    TRY(tsri_train_settings_check(&t->settings, objective, head));
    TRY(check_teacher(&t->settings, o->teacher != 0));
    if (!lora)
        TRY(tsri_train_companions_read(m->path, false, pass_over, NULL, &t->companions));
    tsri_train_settings_training(&t->settings, objective, head, &options);
    if (o->teacher) {
        options.teacher = true;
        options.hard = (float)(1 - t->settings.kl_weight);
        options.kl = (float)t->settings.kl_weight;
        options.temperature = (float)t->settings.temperature;
    }
    t->steps = o->steps;
    return tsri_training_create(t->model, device, &options, &t->training);
}

tsr_status tsr_training_create(const char *model, tsr_device *device,
                               const tsr_training_options *options, tsr_training **out) {
    tsr_training_options known;
    tsr_training *t = NULL;
    TRY(NEED(out));
    *out = NULL;
    TRY(NEED(model));
    TRY(NEED(device));
    TRY(tsri_base_adopt("tsr_training_options", options, &known, sizeof known));
    TRY(NEED_ARRAY(known.set, known.n_set));
    if (known.task > TSR_TRAIN_CLASSIFY_TOKENS)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "tsr_training_options.task is %u; a tsr_train_task is wanted",
                              known.task);
    TRY(tsri_base_new(1, sizeof *t, &t));
    t->name = tsri_base_copy_text(model, strlen(model));
    tsr_status status = t->name ? read_settings(&known, &t->settings) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = begin(t, device, &known);
    if (status != TSR_OK)
        tsr_training_destroy(&t);
    *out = t;
    return status;
}

void tsr_training_destroy(tsr_training **training) {
    tsr_training *t = training ? *training : NULL;
    if (!t)
        return;
    tsri_training_destroy(&t->training);
    tsr_model_close(&t->model);
    tsri_train_companions_clear(&t->companions);
    free(t->lengths[0]);
    free(t->lengths[1]);
    free(t->name);
    free(t);
    *training = NULL;
}

/* ---- steps ---- */

static tsr_status lengths_of(tsr_training *t, int which, const int32_t *given, int32_t B,
                             int32_t all, const int32_t **out) {
    *out = given;
    if (given || B < 1)
        return TSR_OK;
    TRY(tsri_base_grow(&t->lengths[which], &t->lengths_room[which], (size_t)B,
                       sizeof *t->lengths[which]));
    for (int32_t b = 0; b < B; b++)
        t->lengths[which][b] = all;
    *out = t->lengths[which];
    return TSR_OK;
}

static tsr_status take_batch(tsr_training *t, const tsr_training_batch *given,
                             tsri_training_batch *out) {
    tsr_training_batch b;
    TRY(tsri_base_adopt("tsr_training_batch", given, &b, sizeof b));
    if (!b.ids || !b.targets)
        return tsri_base_fail(TSR_E_ARGUMENT, "tsr_training_batch: ids and targets are wanted");
    *out = (tsri_training_batch){.B = b.B,
                                 .T = b.T,
                                 .S = b.source ? b.S : 1,
                                 .ids = b.ids,
                                 .targets = b.targets,
                                 .types = b.types,
                                 .source = b.source,
                                 .teacher = b.teacher};
    TRY(lengths_of(t, 0, b.len, b.B, b.T, &out->len));
    return b.source ? lengths_of(t, 1, b.source_len, b.B, b.S, &out->source_len) : TSR_OK;
}

static void give_loss(const tsri_training_loss *loss, tsr_training_loss *out) {
    const tsr_training_loss told = {
        .loss = loss->loss, .hard = loss->hard, .kl = loss->kl, .counted = loss->counted};
    tsri_base_give(&told, sizeof told, out);
}

tsr_status tsr_training_gradients(tsr_training *t, const tsr_training_batch *batch, double share,
                                  tsr_training_loss *out) {
    tsri_training_batch taken;
    tsri_training_loss loss = {0};
    TRY(NEED(t));
    TRY(NEED(batch));
    TRY(tsri_base_check_out("tsr_training_loss", out));
    TRY(take_batch(t, batch, &taken));
    TRY(tsri_training_gradients(t->training, &taken, !t->has_gradients, share, t->batches, &loss));
    t->has_gradients = t->has_arrays = true;
    t->batches++;
    give_loss(&loss, out);
    return TSR_OK;
}

static tsr_status check_gradients(const tsr_training *t) {
    return t->has_gradients ? TSR_OK
                            : tsri_base_fail(TSR_E_STATE, "there are no gradients since the last "
                                                          "step: tsr_training_gradients");
}

tsr_status tsr_training_norm(tsr_training *t, double *out) {
    const char *culprit = NULL;
    TRY(NEED(t));
    TRY(NEED(out));
    TRY(check_gradients(t));
    TRY(tsri_training_norm(t->training, out, &culprit));
    return culprit ? tsri_base_fail(TSR_E_STATE, "the gradient of %s is not a number", culprit)
                   : TSR_OK;
}

tsr_status tsr_training_step(tsr_training *t, double learning_rate, double factor) {
    TRY(NEED(t));
    TRY(check_gradients(t));
    if (!(learning_rate >= 0) || !(factor >= 0))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a step with the learning rate %g and the factor %g; numbers from 0 "
                              "on are wanted",
                              learning_rate, factor);
    TRY(tsri_training_update(t->training, t->steps, learning_rate, factor));
    t->steps++;
    t->has_gradients = false;
    return TSR_OK;
}

tsr_status tsr_training_evaluate(tsr_training *t, const tsr_training_batch *batch,
                                 tsr_training_loss *out) {
    tsri_training_batch taken;
    tsri_training_loss loss = {0};
    TRY(NEED(t));
    TRY(NEED(batch));
    TRY(NEED(out));
    TRY(tsri_base_check_out("tsr_training_loss", out));
    TRY(take_batch(t, batch, &taken));
    TRY(tsri_training_evaluate(t->training, &taken, &loss));
    give_loss(&loss, out);
    return TSR_OK;
}

/* ---- arrays ---- */

size_t tsr_training_array_count(const tsr_training *t) {
    return t ? tsri_training_array_count(t->training) : 0;
}

static tsr_status check_array(const tsr_training *t, size_t i) {
    const size_t n = tsri_training_array_count(t->training);
    return i < n ? TSR_OK : tsri_base_fail(TSR_E_ARGUMENT, "array %zu: there are %zu", i, n);
}

/* Arrays lie on the device from the first batch on: before it, the smallest makes them. */
static tsr_status make_arrays(tsr_training *t) {
    if (!t->has_arrays)
        TRY(tsri_training_reserve(t->training, 1, 1, 1));
    t->has_arrays = true;
    return TSR_OK;
}

tsr_status tsr_training_array_get(tsr_training *t, size_t i, tsr_training_array *out) {
    TRY(NEED(t));
    TRY(NEED(out));
    TRY(tsri_base_check_out("tsr_training_array", out));
    TRY(check_array(t, i));
    tsri_training_array_at(t->training, i, &t->array);
    const tsri_training_array *a = &t->array;
    const tsr_training_array told = {.rank = (uint32_t)a->rank,
                                     .name = a->name,
                                     .dims = {a->dims[0], a->rank > 1 ? a->dims[1] : 1},
                                     .elements = a->dims[0] * (a->rank > 1 ? a->dims[1] : 1),
                                     .moment =
                                         (uint32_t)tsri_training_array_moment(t->training, i)};
    tsri_base_give(&told, sizeof told, out);
    return TSR_OK;
}

tsr_status tsr_training_array_read(tsr_training *t, size_t i, float *data) {
    TRY(NEED(t));
    TRY(NEED(data));
    TRY(check_array(t, i));
    TRY(make_arrays(t));
    return tsri_training_array_read(t->training, i, data);
}

tsr_status tsr_training_array_write(tsr_training *t, size_t i, const float *data) {
    TRY(NEED(t));
    TRY(NEED(data));
    TRY(check_array(t, i));
    TRY(make_arrays(t));
    return tsri_training_array_write(t->training, i, data);
}

tsr_status tsr_training_gradient_read(tsr_training *t, size_t i, float *data) {
    TRY(NEED(t));
    TRY(NEED(data));
    TRY(check_array(t, i));
    if (tsri_training_array_moment(t->training, i))
        return tsri_base_fail(
            TSR_E_ARGUMENT, "array %zu is a moment of the optimizer; parameters have gradients", i);
    TRY(check_gradients(t));
    return tsri_training_gradient_read(t->training, i, data);
}

tsr_status tsr_training_save(tsr_training *t, const char *folder) {
    TRY(NEED(t));
    TRY(NEED(folder));
    TRY(make_arrays(t));
    const tsri_train_kept kept = {.training = t->training,
                                  .companions = &t->companions,
                                  .base = t->name,
                                  .settings = &t->settings};
    char *temporary = NULL;
    TRY(tsri_base_folder_check_free(folder));
    tsr_status status = tsri_base_folder_begin(folder, &temporary);
    if (status != TSR_OK)
        return status;
    status = tsri_train_checkpoint_write_model(&kept, temporary);
    return tsri_base_folder_end(folder, &temporary, status);
}
