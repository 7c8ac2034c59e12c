/* model/load/sentence_modules.c - reads the modules of a sentence-transformers folder that come after the
 * transformer. */
#include "model/load/sentence_modules.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/archive.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILE = 1 << 24, DEPTH = 16 };

tsr_status tsri_model_sentence_load(const char *folder, const char *name, json_t **out,
                                    char **path) {
    *out = NULL;
    *path = tsri_base_join(folder, name);
    if (!*path)
        return TSR_E_HOST_MEMORY;
    return tsri_base_is_file(*path) ? tsri_base_json_load(*path, MOST_FILE, DEPTH, out) : TSR_OK;
}

/* Loads a module's config.json, which must be there. */
static tsr_status load_settings(const char *folder, json_t **json, char **path) {
    TRY(tsri_model_sentence_load(folder, "config.json", json, path));
    return json_is_object(*json)
               ? TSR_OK
               : tsri_base_fail(TSR_E_FORMAT, "%s: %s", *path,
                                *json ? "an object was expected"
                                      : "there is no such file, and modules.json needs it");
}

/* Where a module reads and writes anything but the vector of a text, that changes what it does. */
static tsr_status check_places(const json_t *json, const char *path) {
    static const char *const keys[] = {"module_input_name", "module_output_name"};
    for (int i = 0; i < 2; i++) {
        const char *name = NULL;
        TRY(tsri_base_json_text(json, path, keys[i], &name));
        if (name && strcmp(name, "sentence_embedding") != 0)
            return tsri_base_fail(
                TSR_E_UNSUPPORTED,
                "%s: %s \"%s\" is not served; \"sentence_embedding\", the vector of a text, is",
                path, keys[i], name);
    }
    return TSR_OK;
}

/* ---- pooling ---- */

/* In the order in which the vectors of several flags stand side by side. */
static const struct mode {
    const char *key, *word; /* a flag, and the word that newer files have for it */
    tsri_model_pooling kind;
} modes[] = {{"pooling_mode_cls_token", "cls", TSRI_POOLING_FIRST},
             {"pooling_mode_max_tokens", "max", TSRI_POOLING_MAX},
             {"pooling_mode_mean_tokens", "mean", TSRI_POOLING_MEAN},
             {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", TSRI_POOLING_SQRT_MEAN},
             {"pooling_mode_weightedmean_tokens", "weightedmean", TSRI_POOLING_WEIGHTED_MEAN},
             {"pooling_mode_lasttoken", "lasttoken", TSRI_POOLING_LAST}};
enum { MODES = sizeof modes / sizeof *modes };

static tsr_status take_word(const json_t *word, const char *path, tsri_model_sentence *s) {
    for (int i = 0; json_is_string(word) && i < MODES; i++)
        if (!strcmp(json_string_value(word), modes[i].word)) {
            if (s->n_poolings == TSRI_MODEL_MAX_POOLINGS)
                return tsri_base_fail(
                    TSR_E_UNSUPPORTED,
                    "%s: pooling_mode names more than the %d modes that are served", path,
                    TSRI_MODEL_MAX_POOLINGS);
            s->poolings[s->n_poolings++] = modes[i].kind;
            return TSR_OK;
        }
    if (!json_is_string(word))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: pooling_mode is neither a word nor a list of words", path);
    return tsri_base_fail(
        TSR_E_UNSUPPORTED,
        "%s: pooling_mode \"%s\" is not served; cls, max, mean, mean_sqrt_len_tokens, "
        "weightedmean and lasttoken are",
        path, json_string_value(word));
}

/* pooling_mode is one word or a list of them, and flags beside it do not count. */
static tsr_status read_modes(const json_t *json, const char *path, tsri_model_sentence *s) {
    const json_t *words = json_object_get(json, "pooling_mode");
    s->n_poolings = 0;
    if (words && !json_is_array(words))
        return take_word(words, path, s);
    for (size_t i = 0; i < json_array_size(words); i++)
        TRY(take_word(json_array_get(words, i), path, s));
    for (int i = 0; !words && i < MODES; i++) {
        bool on = false;
        TRY(tsri_base_json_bool(json, path, modes[i].key, &on));
        if (on)
            s->poolings[s->n_poolings++] = modes[i].kind;
    }
    if (words && !s->n_poolings)
        return tsri_base_fail(TSR_E_FORMAT, "%s: pooling_mode is an empty list", path);
    if (!s->n_poolings)
        s->poolings[s->n_poolings++] = TSRI_POOLING_MEAN;
    return TSR_OK;
}

tsr_status tsri_model_sentence_pooling(const char *folder, tsri_model_sentence *s) {
    static const char *const widths[] = {"word_embedding_dimension", "embedding_dimension"};
    json_t *json = NULL;
    char *path = NULL;
    tsr_status status = load_settings(folder, &json, &path);
    if (status == TSR_OK)
        status = read_modes(json, path, s);
    if (status == TSR_OK)
        status = tsri_base_json_bool(json, path, "include_prompt", &s->pool_prompt);
    for (int i = 0; status == TSR_OK && i < 2; i++) {
        int64_t width = s->width;
        status = tsri_base_json_int(json, path, widths[i], 1, INT32_MAX, &width);
        if (status == TSR_OK && width != s->width)
            status = tsri_base_fail(TSR_E_FORMAT,
                                    "%s: %s is %" PRId64 "; the model's hidden states have %" PRId32
                                    " numbers",
                                    path, widths[i], width, s->width);
    }
    s->width *= s->n_poolings;
    json_decref(json);
    free(path);
    return status;
}

/* ---- weights ---- */

static tsr_status read_array(const tsri_io_archive *archive, const char *name, int64_t rows,
                             int64_t columns, float **out) {
    const tsri_io_array *a = tsri_io_find(archive, name);
    const int rank = columns ? 2 : 1;
    if (!a)
        return tsri_base_fail(TSR_E_FORMAT, "%s has no tensor \"%s\"", archive->path, name);
    if (a->rank != rank || a->dims[0] != rows || (columns && a->dims[1] != columns))
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: tensor \"%s\" has the wrong shape; [%" PRId64 "%s%" PRId64 "] is needed",
            archive->path, name, rows, columns ? ", " : " by ", columns ? columns : 1);
    TRY(tsri_base_new(a->elements, sizeof **out, out));
    TRY(tsri_io_read_as(archive, a, TSR_F32, 0, a->elements, *out));
    for (uint64_t i = 0; i < a->elements; i++)
        if (!isfinite((*out)[i]))
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: tensor \"%s\" holds a number that is not "
                                  "finite",
                                  archive->path, name);
    return TSR_OK;
}

/* ---- dense, norms ---- */

static double identity(double x) {
    return x;
}

static double relu(double x) {
    return x > 0 ? x : 0;
}

static double relu6(double x) {
    return x > 6 ? 6 : relu(x);
}

static double leaky_relu(double x) {
    return x > 0 ? x : 0.01 * x;
}

static double elu(double x) {
    return x > 0 ? x : expm1(x);
}

static double gelu(double x) {
    return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static double silu(double x) {
    return x * sigmoid(x);
}

static double softplus(double x) {
    return x > 20 ? x : log1p(exp(x));
}

static double mish(double x) {
    return x * tanh(softplus(x));
}

static double softsign(double x) {
    return x / (1 + fabs(x));
}

/* The classes of PyTorch that need no argument. */
static const struct activation {
    const char *name;
    double (*of)(double x);
} activations[] = {{"Tanh", tanh},         {"Identity", identity}, {"ReLU", relu},
                   {"GELU", gelu},         {"SiLU", silu},         {"Sigmoid", sigmoid},
                   {"ReLU6", relu6},       {"ELU", elu},           {"LeakyReLU", leaky_relu},
                   {"Softplus", softplus}, {"Mish", mish},         {"Softsign", softsign}};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

static tsr_status read_activation(const json_t *json, const char *path, tsri_model_step *step) {
    const char *name = "torch.nn.modules.activation.Tanh"; /* the class's own default */
    TRY(tsri_base_json_text(json, path, "activation_function", &name));
    const char *last = strrchr(name, '.');
    for (int i = 0; last && !strncmp(name, "torch.nn.", 9) && i < ACTIVATIONS; i++)
        if (!strcmp(last + 1, activations[i].name))
            step->activation = activations[i].of;
    return step->activation
               ? TSR_OK
               : tsri_base_fail(TSR_E_UNSUPPORTED,
                                "%s: activation_function \"%s\" is not served; of torch.nn, "
                                "Tanh, Identity, ReLU, GELU, SiLU, Sigmoid, ReLU6, ELU, "
                                "LeakyReLU, Softplus, Mish and Softsign are",
                                path, name);
}

static tsr_status read_weights(const char *folder, bool bias, bool residual,
                               tsri_model_step *step) {
    tsri_io_archive *archive = NULL;
    TRY(tsri_io_open(folder, &archive));
    tsr_status status = read_array(archive, "linear.weight", step->out, step->in, &step->weight);
    if (status == TSR_OK && bias)
        status = read_array(archive, "linear.bias", step->out, 0, &step->bias);
    if (status == TSR_OK && residual && step->in != step->out)
        status = read_array(archive, "residual.weight", step->out, step->in, &step->residual);
    tsri_io_close(&archive);
    return status;
}

static tsr_status read_sizes(const json_t *json, const char *path, tsri_model_sentence *s,
                             tsri_model_step *step) {
    int64_t in = 0, out = 0;
    TRY(tsri_base_json_int(json, path, "in_features", 1, TSRI_MODEL_MAX_WIDTH, &in));
    TRY(tsri_base_json_int(json, path, "out_features", 1, TSRI_MODEL_MAX_WIDTH, &out));
    if (in != s->width || !out)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: in_features %" PRId64 " and out_features %" PRId64
                              "; the vectors before it have %" PRId32 " numbers",
                              path, in, out, s->width);
    step->in = (int32_t)in;
    step->out = s->width = (int32_t)out;
    return TSR_OK;
}

tsr_status tsri_model_sentence_dense(const char *folder, tsri_model_sentence *s) {
    tsri_model_step *step = &s->steps[s->n_steps - 1];
    json_t *json = NULL;
    char *path = NULL;
    bool bias = true;
    tsr_status status = load_settings(folder, &json, &path);
    if (status == TSR_OK)
        status = check_places(json, path);
    if (status == TSR_OK)
        status = tsri_base_json_bool(json, path, "bias", &bias);
    if (status == TSR_OK)
        status = tsri_base_json_bool(json, path, "use_residual", &step->adds);
    if (status == TSR_OK)
        status = read_activation(json, path, step);
    if (status == TSR_OK)
        status = read_sizes(json, path, s, step);
    if (status == TSR_OK)
        status = read_weights(folder, bias, step->adds, step);
    step->kind = TSRI_STEP_DENSE;
    json_decref(json);
    free(path);
    return status;
}

tsr_status tsri_model_sentence_gguf_dense(const tsri_io_archive *archive, tsri_model_sentence *s) {
    static const char *const names[] = {"dense_2.weight", "dense_3.weight"};
    for (int i = 0; i < 2; i++) {
        const tsri_io_array *a = tsri_io_find(archive, names[i]);
        if (!a)
            continue;
        const int64_t out = a->rank == 2 ? a->dims[0] : 0;
        if (out < 1 || out > TSRI_MODEL_MAX_WIDTH)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: tensor \"%s\" is not a matrix of a dense layer",
                                  archive->path, names[i]);
        tsri_model_step *step = &s->steps[s->n_steps++];
        *step = (tsri_model_step){
            .kind = TSRI_STEP_DENSE, .activation = identity, .in = s->width, .out = (int32_t)out};
        TRY(read_array(archive, names[i], out, s->width, &step->weight));
        s->width = step->out;
    }
    return TSR_OK;
}

tsr_status tsri_model_sentence_layer_norm(const char *folder, tsri_model_sentence *s) {
    tsri_model_step *step = &s->steps[s->n_steps - 1];
    tsri_io_archive *archive = NULL;
    json_t *json = NULL;
    char *path = NULL;
    int64_t width = 0;
    tsr_status status = load_settings(folder, &json, &path);
    if (status == TSR_OK)
        status = tsri_base_json_int(json, path, "dimension", 1, TSRI_MODEL_MAX_WIDTH, &width);
    if (status == TSR_OK && width != s->width)
        status = tsri_base_fail(TSR_E_FORMAT,
                                "%s: dimension %" PRId64 "; the vectors before it have %" PRId32
                                " numbers",
                                path, width, s->width);
    *step = (tsri_model_step){.kind = TSRI_STEP_LAYER_NORM, .in = s->width, .out = s->width};
    if (status == TSR_OK)
        status = tsri_io_open(folder, &archive);
    if (status == TSR_OK)
        status = read_array(archive, "norm.weight", s->width, 0, &step->weight);
    if (status == TSR_OK)
        status = read_array(archive, "norm.bias", s->width, 0, &step->bias);
    tsri_io_close(&archive);
    json_decref(json);
    free(path);
    return status;
}

/* A folder made by an older release has nothing of this module, or no folder. */
tsr_status tsri_model_sentence_normalize(const char *folder, tsri_model_sentence *s) {
    json_t *json = NULL;
    char *path = NULL;
    tsr_status status = tsri_model_sentence_load(folder, "config.json", &json, &path);
    if (status == TSR_OK && json && !json_is_object(json))
        status = tsri_base_fail(TSR_E_FORMAT, "%s: an object was expected", path);
    if (status == TSR_OK && json)
        status = check_places(json, path);
    s->steps[s->n_steps - 1] =
        (tsri_model_step){.kind = TSRI_STEP_NORMALIZE, .in = s->width, .out = s->width};
    json_decref(json);
    free(path);
    return status;
}
