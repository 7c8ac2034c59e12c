/* Every family learns: the gradient of a whole model is compared with the change of its loss, and
 * the saved model can be opened again. */
#include "base/files.h"
#include "base/random.h"
#include "io/archive.h"
#include "model/model.h"
#include "support/cases.h"
#include "train/step/training.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

static int checked; /* number of models */

enum { B = 3, T = 7, S = 9, TARGETS = B * T };

typedef struct subject {
    tsr_engine *engine;
    tsr_device *device;
    tsr_model *model;
    tsri_training *training;
    int32_t ids[B * T], len[B], targets[TARGETS], source[B * S], source_len[B];
    tsri_training_batch batch;
    uint64_t drawn; /* number of the batch */
} subject;

static int32_t draw(const subject *s, uint64_t stream, uint64_t at, int32_t n) {
    return (int32_t)(tsri_base_uniform(7 + s->drawn, stream, at) * n);
}

static void fill(subject *s, const tsri_training_options *options, int64_t labels) {
    const tsri_model_spec *spec = &tsri_model_of(s->model)->spec;
    for (int i = 0; i < B * T; i++) {
        s->ids[i] = draw(s, 1, (uint64_t)i, spec->vocab);
        s->targets[i] = draw(s, 2, (uint64_t)i, spec->vocab);
    }
    for (int i = 0; i < B * S; i++)
        s->source[i] = draw(s, 3, (uint64_t)i, spec->source_vocab);
    for (int b = 0; b < B; b++) {
        s->len[b] = b == 1 ? 4 : T;
        s->source_len[b] = b == 2 ? 3 : S;
        for (int t = s->len[b]; t < T; t++)
            s->targets[b * T + t] = TSRI_TRAINING_IGNORE;
        if (options->objective == TSRI_OBJECTIVE_CLASSIFY)
            s->targets[b] = draw(s, 4, (uint64_t)b, (int32_t)labels);
        for (int t = 0; options->objective == TSRI_OBJECTIVE_TOKENS && t < s->len[b]; t++)
            s->targets[b * T + t] = draw(s, 5, (uint64_t)(b * T + t), (int32_t)labels);
    }
    s->batch =
        (tsri_training_batch){.B = B, .T = T, .ids = s->ids, .len = s->len, .targets = s->targets};
    if (options->objective == TSRI_OBJECTIVE_TRANSLATE) {
        s->batch.S = S;
        s->batch.source = s->source;
        s->batch.source_len = s->source_len;
    }
}

static tsri_training_objective objective_of(const tsri_model *model) {
    const tsri_model_spec *spec = &model->spec;
    return spec->decoder.layers
               ? spec->encoder.layers ? TSRI_OBJECTIVE_TRANSLATE : TSRI_OBJECTIVE_NEXT
           : !tsri_model_weight_at(model->weights, TSRI_WEIGHT_LABEL) ? TSRI_OBJECTIVE_MASKED
           : spec->label_tokens                                       ? TSRI_OBJECTIVE_TOKENS
                                                                      : TSRI_OBJECTIVE_CLASSIFY;
}

/* Opens a model; false: it has no head that learns from whole texts. */
static bool open_subject(subject *s, const char *folder, const char *device,
                         tsri_training_options *options) {
    OK(tsr_engine_create(NULL, &s->engine));
    OK(tsr_device_open(s->engine, device, NULL, &s->device));
    OK(tsr_model_open(folder, NULL, NULL, &s->model));
    const tsri_model *model = tsri_model_of(s->model);
    const tsri_model_weight *label = tsri_model_weight_at(model->weights, TSRI_WEIGHT_LABEL);
    options->objective = objective_of(model);
    const tsr_status status = tsri_training_create(s->model, s->device, options, &s->training);
    cr_assert(status == TSR_OK || status == TSR_E_STATE, "%s", tsr_error_last());
    if (status == TSR_OK)
        fill(s, options, label ? label->dims[0] : 0);
    return status == TSR_OK;
}

static void close_subject(subject *s) {
    tsri_training_destroy(&s->training);
    tsr_model_close(&s->model);
    tsr_device_close(&s->device);
    tsr_engine_destroy(&s->engine);
}

/* Moves every parameter by h times its gradient divided by the norm. */
static void move(subject *s, float *const *values, float *const *gradients, double h) {
    for (size_t i = 0; i < tsri_training_array_count(s->training); i++) {
        tsri_training_array array;
        tsri_training_array_at(s->training, i, &array);
        const size_t n = (size_t)(array.dims[0] * (array.rank > 1 ? array.dims[1] : 1));
        float *moved = calloc(n + 1, sizeof *moved);
        for (size_t k = 0; k < n; k++)
            moved[k] = (float)((double)values[i][k] + h * (double)gradients[i][k]);
        OK(tsri_training_array_write(s->training, i, moved));
        free(moved);
    }
}

/* The loss of a batch now; with the dropout of its number, where there is dropout. */
static void loss_of(subject *s, const tsri_training_options *how, tsri_training_loss *out) {
    if (how->dropout > 0)
        OK(tsri_training_gradients(s->training, &s->batch, true, 1, 0, out));
    else
        OK(tsri_training_evaluate(s->training, &s->batch, out));
}

/* The norm of the gradient, and how the loss of a batch changes along it. Plain gradient descent
 * without momentum at a rate of 1 makes w - g of w, which gives g through the public functions.
 * False: the model has no head. */
static bool measure(const char *folder, const char *device, const tsri_training_options *how,
                    uint64_t batch, double *slope, double *of_gradient) {
    subject s = {.drawn = batch};
    tsri_training_options options = *how;
    tsri_training_loss loss, up, down;
    const char *culprit;
    double norm;
    if (!open_subject(&s, folder, device, &options)) {
        close_subject(&s);
        return false;
    }
    OK(tsri_training_gradients(s.training, &s.batch, true, 1, 0, &loss));
    OK(tsri_training_norm(s.training, &norm, &culprit));
    cr_expect_null(culprit);
    cr_assert_gt(norm, 0, "%s", folder);
    const size_t count = tsri_training_array_count(s.training);
    float **values = calloc(count, sizeof *values), **gradients = calloc(count, sizeof *gradients);
    size_t *n = calloc(count, sizeof *n);
    for (size_t i = 0; i < count; i++) {
        tsri_training_array array;
        tsri_training_array_at(s.training, i, &array);
        n[i] = (size_t)(array.dims[0] * (array.rank > 1 ? array.dims[1] : 1));
        values[i] = calloc(n[i] + 1, sizeof **values);
        gradients[i] = calloc(n[i] + 1, sizeof **gradients);
        OK(tsri_training_array_read(s.training, i, values[i]));
    }
    OK(tsri_training_update(s.training, 0, 1, 1));
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        OK(tsri_training_array_read(s.training, i, gradients[i]));
        for (size_t k = 0; k < n[i]; k++) {
            gradients[i][k] = values[i][k] - gradients[i][k];
            squares += (double)gradients[i][k] * (double)gradients[i][k];
        }
    }
    cr_expect(fabs(sqrt(squares) - norm) <= 1e-3 * norm, "%s: the norm is %g; %g by the update",
              folder, norm, sqrt(squares));
    const double h = 1e-3 / norm; /* a step of length 1e-3 along the gradient */
    move(&s, values, gradients, h / norm);
    loss_of(&s, how, &up);
    move(&s, values, gradients, -h / norm);
    loss_of(&s, how, &down);
    const double hard = how->hard > 0 ? (double)how->hard : 1;
    *slope = (hard * (up.hard - down.hard) + (double)how->kl * (up.kl - down.kl)) / (2 * h);
    *of_gradient = norm;
    for (size_t i = 0; i < count; i++) {
        free(values[i]);
        free(gradients[i]);
    }
    free(values);
    free(gradients);
    free(n);
    close_subject(&s);
    return true;
}

/* Rounding of the losses in f32 stays below 3e-4 of the slope. Where a ReLU switches within h,
 * slope and gradient differ by that unit's contribution. With other batches other units switch,
 * while a wrong gradient is wrong for every batch. */
static void check_slope(const char *folder, const char *device, const tsri_training_options *how) {
    enum { BATCHES = 3 };
    double slope = 0, norm = 0;
    for (uint64_t batch = 0; batch < BATCHES; batch++) {
        if (!measure(folder, device, how, batch, &slope, &norm))
            return;
        if (fabs(slope - norm) <= 5e-3 * norm)
            break;
    }
    checked++;
    cr_expect(fabs(slope - norm) <= 5e-3 * norm,
              "%s: the loss changes by %.6g along the gradient, whose norm is %.6g", folder, slope,
              norm);
}

typedef void checking(const char *folder, const char *device, const tsri_training_options *how);

static void visit(const char *base, checking *check, const char *device,
                  const tsri_training_options *how, int depth) {
    DIR *folder = opendir(base);
    struct dirent *entry;
    char path[1024];
    while (folder && (entry = readdir(folder))) {
        snprintf(path, sizeof path, "%s/%s/config.json", base, entry->d_name);
        const bool model = entry->d_name[0] != '.' && tsri_base_is_file(path);
        *strrchr(path, '/') = 0;
        if (model)
            check(path, device, how);
        else if (depth && entry->d_name[0] != '.' && tsri_base_is_folder(path))
            visit(path, check, device, how, depth - 1);
    }
    if (folder)
        closedir(folder);
}

static void visit_all(const char *device, const tsri_training_options *how, int fewest) {
    checked = 0;
    visit(TESSERA_SOURCE_DIR "/tests/golden/models", check_slope, device, how, 1);
    cr_expect_geq(checked, fewest, "only %d models were found", checked);
}

Test(families, slopes_on_the_reference) {
    visit_all("reference", &(tsri_training_options){.optimizer = TSRI_OPTIMIZER_SGD}, 30);
}

/* Its matrices are so large that their squares are added as several partial sums. */
Test(families, slope_of_a_larger_model_on_the_reference) {
    check_slope(TESSERA_SOURCE_DIR "/models/shakespeare", "reference",
                &(tsri_training_options){.optimizer = TSRI_OPTIMIZER_SGD});
}

Test(families, slopes_recomputed_on_the_reference) {
    visit_all("reference",
              &(tsri_training_options){.optimizer = TSRI_OPTIMIZER_SGD, .checkpointing = true}, 30);
}

/* B is zero at first, so that only B has a gradient. */
Test(families, slopes_of_adapters_on_the_reference) {
    visit_all("reference",
              &(tsri_training_options){.optimizer = TSRI_OPTIMIZER_SGD,
                                       .learns = TSRI_LEARNS_LORA,
                                       .lora_rank = 3,
                                       .lora_alpha = 6,
                                       .seed = 5},
              25);
}

/* The gradient is that of the values that dropout keeps. */
Test(families, slopes_of_dropout_on_the_reference) {
    visit_all("reference",
              &(tsri_training_options){.optimizer = TSRI_OPTIMIZER_SGD,
                                       .dropout = 0.2f,
                                       .activation_dropout = 0.1f,
                                       .seed = 9},
              30);
}

Test(families, slopes_of_divergence_and_smoothing_on_the_reference) {
    visit_all("reference",
              &(tsri_training_options){.optimizer = TSRI_OPTIMIZER_SGD, .hard = 0.5f, .kl = 0.25f},
              30);
}

/* ---- saved models ---- */

/* The saved model, opened again, has the same loss as the one that learned. */
static void check_saved(const char *folder, const char *device, const tsri_training_options *how) {
    tsri_training_options options = *how;
    subject s = {0}, again = {0};
    tsri_training_loss loss, saved;
    const char *culprit;
    double norm;
    char path[] = "/tmp/tessera-saved-XXXXXX", file[64], command[2400];
    if (!open_subject(&s, folder, device, &options)) {
        close_subject(&s);
        return;
    }
    cr_assert_not_null(mkdtemp(path));
    snprintf(command, sizeof command, "cp '%s'/*.json '%s' && rm -f '%s'/*.index.json", folder,
             path, path);
    cr_assert_eq(system(command), 0);
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    OK(tsri_training_gradients(s.training, &s.batch, true, 1, 0, &loss));
    OK(tsri_training_norm(s.training, &norm, &culprit));
    OK(tsri_training_update(s.training, 0, 0.05 / norm, 1));
    OK(tsri_training_evaluate(s.training, &s.batch, &loss));
    OK(tsri_training_save(s.training, file));
    cr_assert(open_subject(&again, path, device, &options));
    OK(tsri_training_evaluate(again.training, &again.batch, &saved));
    cr_expect(fabs(saved.loss - loss.loss) <= 1e-6 * (1 + fabs(loss.loss)),
              "%s: %.9g when it learned, %.9g when it was opened again", folder, loss.loss,
              saved.loss);
    checked++;
    close_subject(&again);
    close_subject(&s);
    snprintf(command, sizeof command, "rm -r '%s'", path);
    cr_assert_eq(system(command), 0);
}

/* PEFT finds the modules of Gemma 3 by the names that they have in memory, not by those of the files. */
Test(families, adapters_are_named_as_modules_are) {
    static const char begin[] = "base_model.model.model.language_model.layers.";
    tsri_training_options options = {.learns = TSRI_LEARNS_LORA, .lora_rank = 2, .lora_alpha = 4};
    char path[] = "/tmp/tessera-adapters-XXXXXX", file[64], command[128];
    subject s = {0};
    tsri_training_loss loss;
    tsri_io_archive *archive = NULL;
    tsri_bytes config = {0};
    cr_assert(open_subject(&s, TESSERA_SOURCE_DIR "/tests/golden/models/gemma3-odd", "reference",
                           &options));
    cr_assert_not_null(mkdtemp(path));
    snprintf(file, sizeof file, "%s/adapter_model.safetensors", path);
    OK(tsri_training_evaluate(s.training, &s.batch, &loss));
    OK(tsri_training_save(s.training, file));
    OK(tsri_io_open(file, &archive));
    cr_assert(archive->n_arrays > 0);
    for (size_t i = 0; i < archive->n_arrays; i++)
        cr_expect(!strncmp(archive->arrays[i].name, begin, strlen(begin)), "%s",
                  archive->arrays[i].name);
    tsri_io_close(&archive);
    snprintf(file, sizeof file, "%s/adapter_config.json", path);
    OK(tsri_base_read_whole(file, 1 << 20, &config));
    cr_expect(strstr(config.data, "\"model.language_model.layers.0.self_attn.q_proj\""), "%s",
              config.data);
    tsri_base_bytes_clear(&config);
    close_subject(&s);
    snprintf(command, sizeof command, "rm -r '%s'", path);
    cr_assert_eq(system(command), 0);
}

Test(families, what_is_saved_is_what_was_learned) {
    checked = 0;
    visit(TESSERA_SOURCE_DIR "/tests/golden/models", check_saved, "reference",
          &(tsri_training_options){.optimizer = TSRI_OPTIMIZER_SGD}, 1);
    cr_expect_geq(checked, 30, "only %d models were found", checked);
}

/* ---- a decoder's loss ---- */

static const char *const decoders[] = {"gpt2-tiny", "llama-tiny", "gpt_neox"};

static void open_decoder(subject *s, const char *name, const char *device,
                         const tsri_training_options *how) {
    tsri_training_options options = *how;
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/models/%s", TESSERA_SOURCE_DIR, name);
    cr_assert(open_subject(s, path, device, &options));
}

/* The loss of one pass over T tokens is the mean of the losses at the ends of its T prefixes: no
 * token sees those behind it. */
static void check_prefixes(const char *name, const char *device) {
    subject s = {0};
    tsri_training_loss whole, part;
    int32_t targets[T];
    double sum = 0;
    open_decoder(&s, name, device, &(tsri_training_options){.optimizer = TSRI_OPTIMIZER_SGD});
    for (int32_t n = 1; n <= T; n++) {
        for (int32_t t = 0; t < T; t++)
            targets[t] = t == n - 1 ? s.targets[t] : TSRI_TRAINING_IGNORE;
        const tsri_training_batch prefix = {
            .B = 1, .T = n, .ids = s.ids, .len = &n, .targets = targets};
        OK(tsri_training_evaluate(s.training, &prefix, &part));
        sum += part.loss;
    }
    const tsri_training_batch all = {
        .B = 1, .T = T, .ids = s.ids, .len = (int32_t[]){T}, .targets = s.targets};
    OK(tsri_training_evaluate(s.training, &all, &whole));
    cr_expect(fabs(whole.loss - sum / T) <= 1e-5, "%s: %.9g in one pass, %.9g by its prefixes",
              name, whole.loss, sum / T);
    close_subject(&s);
}

Test(families, prefixes_on_the_reference) {
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++)
        check_prefixes(decoders[i], "reference");
}

Test(families, prefixes) {
    check_prefixes(decoders[0], NULL);
}

/* ---- padding ---- */

/* Of a batch that has the padding's id alone: the largest sum of a column of the embedding's gradient, and the
 * largest number in the gradient. What an output matrix that is the embedding adds to a column is 0 in all, because
 * probabilities and targets have the same sum; so the sum is what the lookups give. */
static double gradient_of_padding(const char *name, double *largest) {
    tsri_training_options options = {.optimizer = TSRI_OPTIMIZER_SGD};
    subject s = {0};
    tsri_training_loss loss;
    tsri_training_array array;
    double most = 0;
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/models/%s", TESSERA_SOURCE_DIR, name);
    cr_assert(open_subject(&s, path, "reference", &options));
    for (int i = 0; i < B * T; i++)
        s.ids[i] = tsri_model_of(s.model)->spec.pad;
    OK(tsri_training_gradients(s.training, &s.batch, true, 1, 0, &loss));
    tsri_training_array_at(s.training, 0, &array);
    cr_assert(strstr(array.name, "embed") && array.rank == 2, "%s", array.name);
    const int64_t rows = array.dims[0], columns = array.dims[1];
    float *gradient = calloc((size_t)(rows * columns), sizeof *gradient);
    OK(tsri_training_gradient_read(s.training, 0, gradient));
    *largest = 0;
    for (int64_t c = 0; c < columns; c++) {
        double sum = 0;
        for (int64_t r = 0; r < rows; r++) {
            const double x = (double)gradient[r * columns + c];
            *largest = fabs(x) > *largest ? fabs(x) : *largest;
            sum += x;
        }
        most = fabs(sum) > most ? fabs(sum) : most;
    }
    free(gradient);
    close_subject(&s);
    return most;
}

/* As in transformers: families whose embedding has a padding_idx, with an output matrix of its own or not, and two
 * that have none. */
Test(families, a_lookup_of_padding_has_no_gradient) {
    static const struct {
        const char *model;
        bool fixed;
    } rows[] = {{"llama-tiny", true}, {"phi3", true},     {"qwen2", true},
                {"gpt_oss", true},    {"opt", true},      {"distilbert/cls", true},
                {"gpt2-tiny", false}, {"gpt_neox", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double largest;
        const double sum = gradient_of_padding(rows[i].model, &largest);
        cr_expect(rows[i].fixed ? sum <= 1e-4 * largest : sum > 1e-3 * largest,
                  "%s: the lookups give %g, where the largest number is %g", rows[i].model, sum,
                  largest);
    }
}

/* ---- steps ---- */

static double learn(const char *device, const tsri_training_options *how, int steps,
                    double *first) {
    subject s = {0};
    tsri_training_loss loss = {0};
    open_decoder(&s, "gpt2-tiny", device, how);
    for (int step = 0; step < steps; step++) {
        OK(tsri_training_gradients(s.training, &s.batch, true, 1, (uint64_t)step, &loss));
        OK(tsri_training_update(s.training, (uint64_t)step, 3e-3, 1));
        if (!step)
            *first = loss.loss;
    }
    close_subject(&s);
    return loss.loss;
}

/* Each way to learn lowers the loss of one batch. Where only the fewest cases run, it is AdamW with
 * dropout. */
Test(families, ways_to_learn) {
    static const tsri_training_options ways[] = {
        {.beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-8f, .decay = 0.1f},
        {.beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-8f, .bf16 = true},
        {.beta1 = 0.9f,
         .beta2 = 0.99f,
         .eps = 1e-8f,
         .dropout = 0.1f,
         .activation_dropout = 0.1f,
         .seed = 3},
        {.beta1 = 0.9f,
         .beta2 = 0.99f,
         .eps = 1e-8f,
         .learns = TSRI_LEARNS_LORA,
         .lora_rank = 4,
         .lora_alpha = 8},
        {.optimizer = TSRI_OPTIMIZER_SGD, .momentum = 0.9f, .nesterov = true}};
    const bool least = cases_wanted() == TEST_SMOKE;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (least && ways[i].dropout == 0)
            continue;
        double first, last = learn(NULL, &ways[i], 20, &first);
        cr_expect_lt(last, first - 0.02, "way %zu: %g at first, %g after 20 steps", i, first, last);
    }
}

/* Values after one update by SGD at a rate of 1. Compared without decay, parameters that decay have
 * lost that share of themselves, whatever the gradient is. */
static float *updated(float decay, float *before, bool *matrix, size_t *n) {
    const tsri_training_options how = {.optimizer = TSRI_OPTIMIZER_SGD, .decay = decay};
    subject s = {0};
    tsri_training_loss loss;
    float *out = NULL;
    size_t at = 0;
    open_decoder(&s, "gpt2-tiny", "reference", &how);
    OK(tsri_training_gradients(s.training, &s.batch, true, 1, 0, &loss));
    for (int pass = 0; pass < 2; pass++) {
        at = 0;
        for (size_t i = 0; i < tsri_training_array_count(s.training); i++) {
            tsri_training_array array;
            tsri_training_array_at(s.training, i, &array);
            const size_t size = (size_t)(array.dims[0] * (array.rank > 1 ? array.dims[1] : 1));
            cr_assert_leq(at + size, *n);
            OK(tsri_training_array_read(s.training, i, (pass ? out : before) + at));
            for (size_t k = at; k < at + size; k++)
                matrix[k] = array.rank > 1;
            at += size;
        }
        if (pass == 0) {
            out = calloc(at, sizeof *out);
            OK(tsri_training_update(s.training, 0, 1, 1));
        }
    }
    *n = at;
    close_subject(&s);
    return out;
}

Test(families, sgd_decays_matrices_alone) {
    enum { ROOM = 1 << 18 };
    static float before[ROOM];
    static bool matrix[ROOM];
    size_t n = ROOM, again = ROOM, vectors = 0;
    float *without = updated(0, before, matrix, &n), *with = updated(0.5f, before, matrix, &again);
    cr_assert_eq(n, again);
    for (size_t k = 0; k < n; k++) {
        const double lost = (double)without[k] - (double)with[k],
                     wanted = matrix[k] ? 0.5 * (double)before[k] : 0;
        vectors += !matrix[k];
        cr_assert(fabs(lost - wanted) <= 1e-5 * (1 + fabs((double)without[k])),
                  "number %zu of a %s lost %g; it should lose %g", k,
                  matrix[k] ? "matrix" : "vector", lost, wanted);
    }
    cr_expect(vectors > 0 && vectors < n);
    free(without);
    free(with);
}

/* The matrices that products read are the learned ones, rounded: writing the learned ones again
 * changes nothing. */
Test(families, bf16_reads_what_was_learned) {
    const tsri_training_options how = {.beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-8f, .bf16 = true};
    const tsri_training_options ways[] = {how, {.optimizer = TSRI_OPTIMIZER_SGD, .bf16 = true}};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        subject s = {0};
        tsri_training_loss before, loss, written;
        open_decoder(&s, "gpt2-tiny", "reference", &ways[w]);
        OK(tsri_training_gradients(s.training, &s.batch, true, 1, 0, &before));
        OK(tsri_training_update(s.training, 0, 0.1, 1));
        OK(tsri_training_evaluate(s.training, &s.batch, &loss));
        for (size_t i = 0; i < tsri_training_array_count(s.training); i++) {
            tsri_training_array array;
            tsri_training_array_at(s.training, i, &array);
            const size_t n = (size_t)(array.dims[0] * (array.rank > 1 ? array.dims[1] : 1));
            float *values = calloc(n + 1, sizeof *values);
            OK(tsri_training_array_read(s.training, i, values));
            OK(tsri_training_array_write(s.training, i, values));
            free(values);
        }
        OK(tsri_training_evaluate(s.training, &s.batch, &written));
        cr_expect_eq(loss.loss, written.loss, "way %zu: %.9g, and %.9g when written anew", w,
                     loss.loss, written.loss);
        cr_expect_neq(loss.loss, before.loss);
        close_subject(&s);
    }
}

/* The gradient of a batch on the device of the tests, all parameters one after the other. */
static float *gradient_by(uint32_t compute, size_t *n, double *loss, bool *faster) {
    const tsri_training_options how = {
        .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-8f, .compute = compute};
    subject s = {0};
    tsri_training_loss sum;
    float *all = NULL;
    *n = 0;
    open_decoder(&s, "gpt2-tiny", NULL, &how);
    OK(tsri_training_products(s.training, faster));
    OK(tsri_training_gradients(s.training, &s.batch, true, 1, 0, &sum));
    for (size_t i = 0; i < tsri_training_array_count(s.training); i++) {
        tsri_training_array array;
        tsri_training_array_at(s.training, i, &array);
        const size_t more = (size_t)(array.dims[0] * (array.rank > 1 ? array.dims[1] : 1));
        all = realloc(all, (*n + more + 1) * sizeof *all);
        cr_assert_not_null(all);
        if (!tsri_training_array_moment(s.training, i)) {
            OK(tsri_training_gradient_read(s.training, i, all + *n));
            *n += more;
        }
    }
    *loss = sum.loss;
    close_subject(&s);
    return all;
}

/* Each product is off by 2.01 * 2^-8 of the magnitudes of its terms at most (op.h), by far less in the
 * mean, so the gradient of a small model stays within 2 % of that of f32. On a device that has no such
 * products both are the same. */
Test(families, bf16_products_give_nearly_the_same_gradient) {
    double loss[2], again, difference = 0, norm = 0;
    size_t n, same;
    bool faster, of_f32;
    float *exact = gradient_by(TSR_COMPUTE_F32, &n, &loss[0], &of_f32),
          *rounded = gradient_by(TSR_COMPUTE_BF16, &same, &loss[1], &faster);
    cr_assert_eq(n, same);
    cr_expect(!of_f32);
    for (size_t i = 0; i < n; i++) {
        difference += pow((double)rounded[i] - (double)exact[i], 2);
        norm += pow((double)exact[i], 2);
    }
    cr_expect_lt(sqrt(difference / norm), 0.02, "%g of the gradient", sqrt(difference / norm));
    cr_expect_float_eq(loss[1], loss[0], 2e-3 * loss[0]);
    cr_expect_eq(difference > 0, faster);
    free(exact);
    exact = gradient_by(TSR_COMPUTE_BF16, &n, &again, &faster);
    cr_expect_eq(again, loss[1]);
    cr_expect_arr_eq(exact, rounded, n * sizeof *exact);
    free(exact);
    free(rounded);
}

/* Dropout is a function of seed, batch and position. */
Test(families, dropout_repeats) {
    const tsri_training_options how = {
        .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-8f, .dropout = 0.3f, .seed = 11};
    tsri_training_options other = how;
    double first, a = learn("reference", &how, 5, &first), b = learn("reference", &how, 5, &first);
    cr_expect_eq(a, b);
    other.seed = 12;
    cr_expect_neq(learn("reference", &other, 5, &first), a);
}
