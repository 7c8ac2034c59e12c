/* Compares gradients, losses and weights with the official implementation's: tests/golden/training,
 * and the larger train-* where these are present. */
#include "base/files.h"
#include "base/json.h"
#include "io/archive.h"
#include "model/model.h"
#include "support/larger.h"
#include "train/step/training.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

typedef struct learning {
    char folder[512];
    json_t *json;
    tsr_engine *engine;
    tsr_device *device;
    tsr_model *model;
    tsri_training *training;
    int32_t *ids, *len, *targets, *types, *source, *source_len;
} learning;

static double number(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

static int32_t *table(const json_t *rows, int32_t *B, int32_t *T) {
    *B = (int32_t)json_array_size(rows);
    *T = (int32_t)json_array_size(json_array_get(rows, 0));
    int32_t *out = calloc((size_t)(*B * *T), sizeof *out);
    for (int32_t i = 0; i < *B * *T; i++)
        out[i] = (int32_t)json_integer_value(
            json_array_get(json_array_get(rows, (size_t)(i / *T)), (size_t)(i % *T)));
    return out;
}

static int32_t *lengths(const json_t *mask) {
    int32_t B, T, *all = table(mask, &B, &T), *len = calloc((size_t)B, sizeof *len);
    for (int32_t i = 0; i < B * T; i++)
        len[i / T] += all[i];
    free(all);
    return len;
}

static void drop_batch(learning *l) {
    int32_t **const all[] = {&l->ids, &l->len, &l->targets, &l->types, &l->source, &l->source_len};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(*all[i]);
        *all[i] = NULL;
    }
}

static tsri_training_batch batch_at(learning *l, size_t i) {
    const json_t *object = json_array_get(json_object_get(l->json, "batches"), i),
                 *decoder = json_object_get(object, "decoder_input_ids"),
                 *types = json_object_get(object, "token_type_ids");
    tsri_training_batch batch = {0};
    drop_batch(l);
    l->ids = table(json_object_get(object, decoder ? "decoder_input_ids" : "input_ids"), &batch.B,
                   &batch.T);
    l->len = lengths(json_object_get(object, "attention_mask"));
    l->targets = table(json_object_get(object, "targets"), &batch.B, &batch.T);
    if (types)
        l->types = table(types, &batch.B, &batch.T);
    if (decoder) {
        l->source = table(json_object_get(object, "input_ids"), &batch.B, &batch.S);
        l->source_len = l->len;
        l->len = calloc((size_t)batch.B, sizeof *l->len);
        for (int32_t b = 0; b < batch.B; b++)
            l->len[b] = batch.T;
    }
    batch.ids = l->ids;
    batch.len = l->len;
    batch.targets = l->targets;
    batch.types = l->types;
    batch.source = l->source;
    batch.source_len = l->source_len;
    return batch;
}

/* A name that begins with "train-" belongs to the larger set (support/larger.h). */
static void open_learning(learning *l, const char *name, const char *device,
                          tsri_training_objective objective, bool distill, bool recompute) {
    const bool larger = strncmp(name, "train-", 6) == 0;
    char path[640];
    *l = (learning){0};
    snprintf(l->folder, sizeof l->folder, "%s/%s/%s",
             larger ? getenv("TESSERA_SHARED") : TESSERA_SOURCE_DIR,
             larger ? "golden" : "tests/golden/training", name);
    snprintf(path, sizeof path, "%s/training.json", l->folder);
    OK(tsri_base_json_load(path, 64 << 20, 16, &l->json));
    const json_t *hyper = json_object_get(l->json, "hyper");
    const tsri_training_options options = {
        .objective = objective,
        .beta1 = (float)number(hyper, "beta1"),
        .beta2 = (float)number(hyper, "beta2"),
        .eps = (float)number(hyper, "eps"),
        .decay = (float)number(hyper, "weight_decay"),
        .label_smoothing = (float)number(hyper, "label_smoothing"),
        .kl = distill,
        .temperature =
            distill ? (float)number(json_object_get(l->json, "distill"), "temperature") : 0.0f,
        .teacher = distill,
        .checkpointing = recompute};
    snprintf(path, sizeof path, "%s/init", l->folder);
    OK(tsr_engine_create(NULL, &l->engine));
    OK(tsr_device_open(l->engine, device, NULL, &l->device));
    OK(tsr_model_open(path, NULL, NULL, &l->model));
    OK(tsri_training_create(l->model, l->device, &options, &l->training));
}

static void close_learning(learning *l) {
    drop_batch(l);
    tsri_training_destroy(&l->training);
    tsr_model_close(&l->model);
    tsr_device_close(&l->device);
    tsr_engine_destroy(&l->engine);
    json_decref(l->json);
}

/* Whether this row of `name` has a gradient of 0 in exact arithmetic. */
static bool is_zero(const json_t *json, const char *name, size_t row, size_t rows) {
    const json_t *list = json_object_get(json, "zero_gradient");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const size_t first = (size_t)number(item, "first");
        if (!strcmp(json_string_value(json_object_get(item, "tensor")), name) && row >= first &&
            row < first + (size_t)number(item, "count"))
            return true;
    }
    (void)rows;
    return false;
}

static float *read_all(const tsri_io_archive *archive, const tsri_io_array *array) {
    float *out = calloc(array->elements + 1, sizeof *out);
    OK(tsri_io_read_as(archive, array, TSR_F32, 0, array->elements, out));
    return out;
}

/* Compares every array of the golden file with ours. `weights`: weights after some steps; else
 * gradients. */
static void compare(const learning *l, const char *file, const char *ours, bool weights) {
    const double atol = weights ? 1e-5 : 1e-6, rtol = weights ? 5e-5 : 2e-5;
    tsri_io_archive *want, *got;
    char path[640];
    snprintf(path, sizeof path, "%s/%s", l->folder, file);
    OK(tsri_io_open(path, &want));
    OK(tsri_io_open(ours, &got));
    for (size_t i = 0; i < want->n_arrays; i++) {
        const tsri_io_array *a = &want->arrays[i], *b = tsri_io_find(got, a->name);
        cr_expect_not_null(b, "%s: we have no %s", file, a->name);
        if (!b)
            continue;
        cr_assert_eq(a->elements, b->elements);
        float *x = read_all(want, a), *y = read_all(got, b);
        double largest = 0, worst = 0;
        size_t at = 0;
        for (size_t k = 0; k < a->elements; k++)
            largest = fabs((double)x[k]) > largest ? fabs((double)x[k]) : largest;
        for (size_t k = 0; k < a->elements; k++) {
            const bool zero = is_zero(l->json, a->name, k / (a->rank > 1 ? (size_t)a->dims[1] : 1),
                                      (size_t)a->dims[0]);
            const double error = fabs((double)y[k] - (double)x[k]);
            if (weights && zero)
                continue;
            if (error / (atol + (zero ? 0 : rtol * largest)) > worst || isnan(error)) {
                worst = isnan(error) ? INFINITY : error / (atol + (zero ? 0 : rtol * largest));
                at = k;
            }
        }
        cr_expect(worst <= 1, "%s: %s[%zu] is %g; it should be %g (%.3g of the tolerance)", file,
                  a->name, at, (double)y[at], (double)x[at], worst);
        free(x);
        free(y);
    }
    tsri_io_close(&want);
    tsri_io_close(&got);
    unlink(ours);
}

static void near(const char *what, size_t step, double got, double want) {
    cr_expect(fabs(got - want) <= 1e-6 + 1e-5 * fabs(want),
              "%s of step %zu is %.9g; it should be %.9g", what, step, got, want);
}

static char *scratch(void) {
    static char path[] = "/tmp/tessera-training-XXXXXX";
    static char file[64];
    strcpy(path, "/tmp/tessera-training-XXXXXX");
    cr_assert_not_null(mkdtemp(path));
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    return file;
}

static void drop_scratch(char *file) {
    *strrchr(file, '/') = 0;
    rmdir(file);
}

static void check_gradients(const char *name, const char *device, tsri_training_objective objective,
                            bool recompute) {
    learning l;
    tsri_training_loss loss;
    const char *culprit;
    double norm;
    open_learning(&l, name, device, objective, false, recompute);
    const json_t *one = json_object_get(l.json, "one_step");
    char *file = scratch();
    const tsri_training_batch batch = batch_at(&l, 0);
    OK(tsri_training_gradients(l.training, &batch, true, 1, 0, &loss));
    OK(tsri_training_norm(l.training, &norm, &culprit));
    near("loss", 0, loss.loss, number(one, "loss"));
    near("norm", 0, norm, number(one, "grad_norm"));
    OK(tsri_training_save_gradients(l.training, file));
    compare(&l, "grads.safetensors", file, false);
    /* Gradients with shares of a batch's loss add up to those of the whole. */
    OK(tsri_training_gradients(l.training, &batch, true, 0.25, 0, &loss));
    OK(tsri_training_gradients(l.training, &batch, false, 0.75, 0, &loss));
    OK(tsri_training_save_gradients(l.training, file));
    compare(&l, "grads.safetensors", file, false);
    drop_scratch(file);
    close_learning(&l);
}

static void check_steps(const char *name, const char *device, tsri_training_objective objective) {
    const double pi = 3.14159265358979323846;
    learning l;
    open_learning(&l, name, device, objective, false, false);
    const json_t *hyper = json_object_get(l.json, "hyper"), *log = json_object_get(l.json, "train");
    const double peak = number(hyper, "peak_lr"), last = number(hyper, "final_lr"),
                 warmup = number(hyper, "warmup_steps"), most = number(hyper, "max_grad_norm");
    const size_t steps = (size_t)number(hyper, "steps"),
                 batches = json_array_size(json_object_get(l.json, "batches"));
    char *file = scratch();
    for (size_t step = 0; step < steps; step++) {
        const json_t *line = json_array_get(log, step);
        const tsri_training_batch batch = batch_at(&l, step % batches);
        const double rate =
            (double)step < warmup
                ? peak * (double)(step + 1) / warmup
                : last + (peak - last) *
                             (1 + cos(pi * ((double)step - warmup) / ((double)steps - warmup))) / 2;
        tsri_training_loss loss;
        const char *culprit;
        double norm;
        OK(tsri_training_gradients(l.training, &batch, true, 1, step, &loss));
        OK(tsri_training_norm(l.training, &norm, &culprit));
        near("loss", step, loss.loss, number(line, "loss"));
        near("norm", step, norm, number(line, "grad_norm"));
        OK(tsri_training_update(l.training, step, rate, norm > most ? most / (norm + 1e-6) : 1));
        if (step && step + 1 < steps)
            continue;
        OK(tsri_training_save(l.training, file));
        compare(&l, step ? "final.safetensors" : "step1.safetensors", file, true);
    }
    drop_scratch(file);
    close_learning(&l);
}

static void check_distillation(const char *name, const char *device) {
    learning l;
    tsri_training_loss loss;
    tsri_io_archive *teacher;
    char path[640];
    open_learning(&l, name, device, TSRI_OBJECTIVE_NEXT, true, false);
    char *file = scratch();
    snprintf(path, sizeof path, "%s/teacher_logits.safetensors", l.folder);
    OK(tsri_io_open(path, &teacher));
    float *logits = read_all(teacher, &teacher->arrays[0]);
    tsri_training_batch batch = batch_at(&l, 0);
    batch.teacher = logits;
    OK(tsri_training_gradients(l.training, &batch, true, 1, 0, &loss));
    near("divergence", 0, loss.loss, number(json_object_get(l.json, "distill"), "loss"));
    OK(tsri_training_save_gradients(l.training, file));
    compare(&l, "grads_distill.safetensors", file, false);
    tsri_io_close(&teacher);
    free(logits);
    drop_scratch(file);
    close_learning(&l);
}

#define GRADIENTS(TEST, name, folder, objective)                \
    TEST(name##_gradients_on_the_reference) {                   \
        check_gradients(folder, "reference", objective, false); \
    }                                                           \
    TEST(name##_gradients) {                                    \
        check_gradients(folder, NULL, objective, false);        \
    }                                                           \
    TEST(name##_gradients_recomputed) {                         \
        check_gradients(folder, NULL, objective, true);         \
    }
#define FAMILY(TEST, name, folder, objective)        \
    GRADIENTS(TEST, name, folder, objective)         \
    TEST(name##_steps_on_the_reference) {            \
        check_steps(folder, "reference", objective); \
    }                                                \
    TEST(name##_steps) {                             \
        check_steps(folder, NULL, objective);        \
    }
#define OWN(title) Test(training, title)
#define LARGER(title) LARGER_TEST(training, title, "golden/train-gpt2")

FAMILY(OWN, gpt2, "gpt2", TSRI_OBJECTIVE_NEXT)
FAMILY(OWN, bert, "bert", TSRI_OBJECTIVE_MASKED)
FAMILY(OWN, marian, "marian", TSRI_OBJECTIVE_TRANSLATE)
FAMILY(OWN, deberta_v2, "deberta_v2", TSRI_OBJECTIVE_MASKED)
FAMILY(OWN, gpt_oss, "gpt_oss", TSRI_OBJECTIVE_NEXT)
FAMILY(OWN, deepseek_v2, "deepseek_v2", TSRI_OBJECTIVE_NEXT)
FAMILY(OWN, deepseek_v3, "deepseek_v3", TSRI_OBJECTIVE_NEXT)
GRADIENTS(OWN, deberta, "deberta", TSRI_OBJECTIVE_MASKED)
GRADIENTS(OWN, deberta_v2_conv, "deberta_v2_conv", TSRI_OBJECTIVE_MASKED)
GRADIENTS(OWN, bert_tokens, "bert_tokens", TSRI_OBJECTIVE_TOKENS)
FAMILY(LARGER, larger_gpt2, "train-gpt2", TSRI_OBJECTIVE_NEXT)
FAMILY(LARGER, larger_bert, "train-bert-mlm", TSRI_OBJECTIVE_MASKED)
FAMILY(LARGER, larger_marian, "train-marian", TSRI_OBJECTIVE_TRANSLATE)

OWN(distillation_on_the_reference) {
    check_distillation("gpt2", "reference");
}
OWN(distillation) {
    check_distillation("gpt2", NULL);
}
LARGER(larger_distillation) {
    check_distillation("train-gpt2", NULL);
}
