/* model/load/sentence.c - reads the folder of a sentence-transformers model, and applies the steps
 * that follow its pooling. */
#include "model/load/sentence.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/archive.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILE = 1 << 24, DEPTH = 16 };

/* Loads a JSON file of the folder; *out is NULL if it doesn't exist. */
static tsr_status load(const char *folder, const char *name, json_t **out, char **path) {
    *out = NULL;
    *path = tsri_base_join(folder, name);
    if (!*path)
        return TSR_E_HOST_MEMORY;
    return tsri_base_is_file(*path) ? tsri_base_json_load(*path, MOST_FILE, DEPTH, out) : TSR_OK;
}

/* ---- pooling ---- */

static const struct mode {
    const char *key, *word; /* a flag, and the word that newer files have for it */
    int kind;               /* tsr_pool, -1: not served */
} modes[] = {{"pooling_mode_mean_tokens", "mean", TSR_POOL_MEAN},
             {"pooling_mode_cls_token", "cls", TSR_POOL_FIRST},
             {"pooling_mode_max_tokens", "max", TSR_POOL_MAX},
             {"pooling_mode_lasttoken", "lasttoken", TSR_POOL_LAST},
             {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", -1},
             {"pooling_mode_weightedmean_tokens", "weightedmean", -1}};
enum { MODES = sizeof modes / sizeof *modes };

static tsr_status take_mode(const struct mode *mode, const char *path, const struct mode **found) {
    if (mode->kind < 0)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: pooling by %s is not served; mean, cls, max and lasttoken are",
                              path, mode->key);
    if (*found)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: %s and %s are both on, which would put their vectors side by "
                              "side; only one is served",
                              path, (*found)->key, mode->key);
    *found = mode;
    return TSR_OK;
}

static tsr_status read_mode(const json_t *json, const char *path, tsri_model_sentence *s) {
    const struct mode *found = NULL;
    const char *word = NULL;
    for (int i = 0; i < MODES; i++) {
        bool on = false;
        TRY(tsri_base_json_bool(json, path, modes[i].key, &on));
        if (on)
            TRY(take_mode(&modes[i], path, &found));
    }
    TRY(tsri_base_json_text(json, path, "pooling_mode", &word));
    for (int i = 0; word && !found && i < MODES; i++)
        if (!strcmp(word, modes[i].word))
            TRY(take_mode(&modes[i], path, &found));
    if (!found && word)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: pooling_mode \"%s\" is not served; mean, cls, max and lasttoken "
                              "are",
                              path, word);
    if (!found)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: no pooling mode is on; one is needed, as in \"pooling_mode_mean_tokens\": true",
            path);
    s->pooling = (uint32_t)found->kind;
    return TSR_OK;
}

/* Loads a module's config.json, which must be there. */
static tsr_status load_settings(const char *folder, json_t **json, char **path) {
    TRY(load(folder, "config.json", json, path));
    return json_is_object(*json)
               ? TSR_OK
               : tsri_base_fail(TSR_E_FORMAT, "%s: %s", *path,
                                *json ? "an object was expected"
                                      : "there is no such file, and modules.json needs it");
}

static tsr_status read_pooling(const char *folder, tsri_model_sentence *s) {
    json_t *json = NULL;
    char *path = NULL;
    int64_t width = s->width;
    tsr_status status = load_settings(folder, &json, &path);
    if (status == TSR_OK)
        status = read_mode(json, path, s);
    if (status == TSR_OK)
        status = tsri_base_json_bool(json, path, "include_prompt", &s->pool_prompt);
    if (status == TSR_OK)
        status = tsri_base_json_int(json, path, "word_embedding_dimension", 1, INT32_MAX, &width);
    if (status == TSR_OK && width != s->width)
        status = tsri_base_fail(TSR_E_FORMAT,
                                "%s: word_embedding_dimension is %" PRId64
                                "; the model's hidden states have %" PRId32 " numbers",
                                path, width, s->width);
    json_decref(json);
    free(path);
    return status;
}

/* ---- dense ---- */

static tsr_status read_activation(const json_t *json, const char *path, bool *tanh) {
    const char *name = "torch.nn.modules.activation.Tanh"; /* the class's own default */
    TRY(tsri_base_json_text(json, path, "activation_function", &name));
    const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
    *tanh = !strcmp(last, "Tanh");
    if (!*tanh && strcmp(last, "Identity") != 0)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: activation_function \"%s\" is not served; Tanh and Identity are",
                              path, name);
    return TSR_OK;
}

static tsr_status read_array(const tsri_io_archive *archive, const char *name, int64_t rows,
                             int64_t columns, float **out) {
    const tsri_io_array *a = tsri_io_find(archive, name);
    const int rank = columns ? 2 : 1;
    if (!a)
        return tsri_base_fail(TSR_E_FORMAT, "%s has no tensor \"%s\"", archive->path, name);
    if (a->rank != rank || a->dims[0] != rows || (columns && a->dims[1] != columns))
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: tensor \"%s\" has the wrong shape; config.json needs [%" PRId64 "%s%" PRId64 "]",
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

static tsr_status read_weights(const char *folder, bool bias, tsri_model_step *step) {
    tsri_io_archive *archive = NULL;
    TRY(tsri_io_open(folder, &archive));
    tsr_status status = read_array(archive, "linear.weight", step->out, step->in, &step->weight);
    if (status == TSR_OK && bias)
        status = read_array(archive, "linear.bias", step->out, 0, &step->bias);
    tsri_io_close(&archive);
    return status;
}

static tsr_status read_dense(const char *folder, tsri_model_sentence *s) {
    tsri_model_step *step = &s->steps[s->n_steps - 1];
    json_t *json = NULL;
    char *path = NULL;
    int64_t in = 0, out = 0;
    bool bias = true;
    tsr_status status = load_settings(folder, &json, &path);
    if (status == TSR_OK)
        status = tsri_base_json_int(json, path, "in_features", 1, TSRI_MODEL_MAX_WIDTH, &in);
    if (status == TSR_OK)
        status = tsri_base_json_int(json, path, "out_features", 1, TSRI_MODEL_MAX_WIDTH, &out);
    if (status == TSR_OK)
        status = tsri_base_json_bool(json, path, "bias", &bias);
    if (status == TSR_OK)
        status = read_activation(json, path, &step->tanh);
    if (status == TSR_OK && (in != s->width || !out))
        status = tsri_base_fail(TSR_E_FORMAT,
                                "%s: in_features %" PRId64 " and out_features %" PRId64
                                "; the vectors before it have %" PRId32 " numbers",
                                path, in, out, s->width);
    if (status == TSR_OK) {
        step->in = (int32_t)in;
        step->out = s->width = (int32_t)out;
        status = read_weights(folder, bias, step);
    }
    json_decref(json);
    free(path);
    return status;
}

/* ---- modules ---- */

static tsr_status no_step(const char *folder, tsri_model_sentence *s) {
    (void)folder;
    (void)s;
    return TSR_OK;
}

static const struct module {
    const char *type;
    int first, last; /* the first and last place in the list where it may stand */
    bool step;
    tsr_status (*read)(const char *folder, tsri_model_sentence *s);
} modules[] = {{"Transformer", 0, 0, false, no_step},
               {"Pooling", 1, 1, false, read_pooling},
               {"Dense", 2, TSRI_MODEL_MAX_STEPS + 1, true, read_dense},
               {"Normalize", 2, TSRI_MODEL_MAX_STEPS + 1, true, no_step},
               {"Dropout", 2, TSRI_MODEL_MAX_STEPS + 1, false, no_step}}; /* for training only */

/* "sentence_transformers.models.Pooling" and later spellings; a module with code of its own is not
 * found. */
static const struct module *module_of(const char *type) {
    const char *dot = strrchr(type, '.');
    if (!dot || strncmp(type, "sentence_transformers.", 22) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (!strcmp(dot + 1, modules[i].type))
            return &modules[i];
    return NULL;
}

static bool is_plain(const char *name) {
    return !strchr(name, '/') && !strchr(name, '\\') && strcmp(name, "..") != 0;
}

static tsr_status read_module(const char *folder, const char *path, int place, const json_t *entry,
                              tsri_model_sentence *s) {
    const char *type = NULL, *name = NULL;
    if (!json_is_object(entry))
        return tsri_base_fail(TSR_E_FORMAT, "%s: module %d is not an object", path, place);
    TRY(tsri_base_json_text(entry, path, "type", &type));
    TRY(tsri_base_json_text(entry, path, "path", &name));
    if (!type || !name || !is_plain(name))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: module %d needs a \"type\", and a \"path\" in this folder", path,
                              place);
    const struct module *module = module_of(type);
    if (!module)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: module \"%s\" is not served; Transformer, Pooling, Dense, "
                              "Normalize and Dropout are",
                              path, type);
    if (place < module->first || place > module->last)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: module %d is %s; Transformer, Pooling, then Dense, Normalize "
                              "and Dropout are served in this order",
                              path, place, module->type);
    s->n_steps += module->step;
    char *inside = tsri_base_join(folder, name);
    if (!inside)
        return TSR_E_HOST_MEMORY;
    const tsr_status status = module->read(inside, s);
    free(inside);
    return status;
}

static tsr_status read_modules(const char *folder, tsri_model_sentence *s) {
    json_t *json = NULL;
    char *path = NULL;
    tsr_status status = load(folder, "modules.json", &json, &path);
    if (status == TSR_OK && json && json_array_size(json) < 2)
        status = tsri_base_fail(TSR_E_FORMAT,
                                "%s: a list of modules, Transformer and Pooling at least, was "
                                "expected",
                                path);
    s->found = json != NULL;
    for (size_t i = 0; status == TSR_OK && i < json_array_size(json); i++)
        status = i > TSRI_MODEL_MAX_STEPS + 1
                     ? tsri_base_fail(TSR_E_UNSUPPORTED, "%s has %zu modules; %d are served", path,
                                      json_array_size(json), TSRI_MODEL_MAX_STEPS + 2)
                     : read_module(folder, path, (int)i, json_array_get(json, i), s);
    json_decref(json);
    free(path);
    return status;
}

/* ---- the text ---- */

static tsr_status read_length(const char *folder, int64_t context, tsri_model_sentence *s) {
    static const char *const names[] = {
        "sentence_bert_config.json",       "sentence_roberta_config.json",
        "sentence_distilbert_config.json", "sentence_camembert_config.json",
        "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
        "sentence_xlnet_config.json"};
    json_t *json = NULL;
    char *path = NULL;
    tsr_status status = TSR_OK;
    for (size_t i = 0; status == TSR_OK && !json && i < sizeof names / sizeof *names; i++) {
        free(path);
        status = load(folder, names[i], &json, &path);
    }
    if (status == TSR_OK && json && !json_is_object(json))
        status = tsri_base_fail(TSR_E_FORMAT, "%s: an object was expected", path);
    if (status == TSR_OK && json)
        status = tsri_base_json_int(json, path, "max_seq_length", 1, INT32_MAX, &s->max_tokens);
    if (status == TSR_OK && json)
        status = tsri_base_json_bool(json, path, "do_lower_case", &s->lower_case);
    if (status == TSR_OK && s->max_tokens > context)
        status = tsri_base_fail(
            TSR_E_FORMAT, "%s: max_seq_length is %" PRId64 "; the model reads %" PRId64 " tokens",
            path, s->max_tokens, context);
    json_decref(json);
    free(path);
    return status;
}

static tsr_status take_prompts(json_t *list, const char *path, tsri_model_sentence *s) {
    const char *name;
    json_t *text;
    TRY(tsri_base_new(json_object_size(list), sizeof *s->prompts, &s->prompts));
    json_object_foreach(list, name, text) {
        if (!json_is_string(text))
            return tsri_base_fail(TSR_E_FORMAT, "%s: the prompt \"%s\" is not a text", path, name);
        tsri_model_prompt *p = &s->prompts[s->n_prompts++];
        p->name = tsri_base_copy_text(name, strlen(name));
        p->text = tsri_base_copy_text(json_string_value(text), json_string_length(text));
        if (!p->name || !p->text)
            return TSR_E_HOST_MEMORY;
    }
    return TSR_OK;
}

static tsr_status take_default(const json_t *json, const char *path, tsri_model_sentence *s) {
    const char *name = NULL;
    TRY(tsri_base_json_text(json, path, "default_prompt_name", &name));
    for (size_t i = 0; name && i < s->n_prompts; i++)
        if (!strcmp(name, s->prompts[i].name))
            s->default_prompt = s->prompts[i].name;
    if (name && !s->default_prompt)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: default_prompt_name is \"%s\", which is not one of its prompts",
                              path, name);
    return TSR_OK;
}

static tsr_status read_prompts(const char *folder, tsri_model_sentence *s) {
    json_t *json = NULL;
    char *path = NULL;
    tsr_status status = load(folder, "config_sentence_transformers.json", &json, &path);
    json_t *list = json_object_get(json, "prompts");
    if (status == TSR_OK && json && !json_is_object(json))
        status = tsri_base_fail(TSR_E_FORMAT, "%s: an object was expected", path);
    if (status == TSR_OK && list && !json_is_null(list) && !json_is_object(list))
        status = tsri_base_fail(TSR_E_FORMAT, "%s: \"prompts\" is not an object", path);
    if (status == TSR_OK && json_is_object(list))
        status = take_prompts(list, path, s);
    if (status == TSR_OK && json)
        status = take_default(json, path, s);
    json_decref(json);
    free(path);
    return status;
}

/* ---- the whole ---- */

/* The folder itself, or the one above it if its modules.json names this folder first. */
static tsr_status find_folder(const char *folder, char **out) {
    const char *slash = strrchr(folder, '/');
    char *own = tsri_base_join(folder, "modules.json");
    tsr_status status = own ? TSR_OK : TSR_E_HOST_MEMORY;
    *out = NULL;
    if (status == TSR_OK && !tsri_base_is_file(own) && slash && slash != folder) {
        char *above = tsri_base_copy_text(folder, (size_t)(slash - folder));
        char *first = above ? tsri_model_sentence_transformer(above) : NULL;
        if (first && !strcmp(strrchr(first, '/'), slash))
            *out = above;
        else
            free(above);
        free(first);
    }
    if (status == TSR_OK && !*out && !(*out = tsri_base_copy_text(folder, strlen(folder))))
        status = TSR_E_HOST_MEMORY;
    free(own);
    return status;
}

/* The pooling that a GGUF file names; -1: it names none. */
static tsr_status read_pooling_type(const tsri_io_archive *archive, int *out) {
    static const int kinds[] = {-1, TSR_POOL_MEAN, TSR_POOL_FIRST, TSR_POOL_LAST};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    const char *name = NULL;
    char key[128];
    int64_t kind = 0;
    TRY(tsri_io_meta_text(archive, "general.architecture", &name, NULL));
    snprintf(key, sizeof key, "%s.pooling_type", name ? name : "");
    TRY(tsri_io_meta_int(archive, key, 0, INT32_MAX, &kind));
    if (kind >= KINDS)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"%s\" is %" PRId64 ", which is not served; 1 (mean), 2 (first "
                              "token) and 3 (last token) are",
                              archive->path, key, kind);
    *out = kinds[kind];
    return TSR_OK;
}

/* Vectors are normalised, as llama.cpp does. */
static tsr_status read_gguf(const tsri_io_archive *archive, tsri_model_sentence *out) {
    int pooling;
    TRY(read_pooling_type(archive, &pooling));
    if (pooling < 0)
        return TSR_OK;
    out->found = true;
    out->pooling = (uint32_t)pooling;
    out->steps[out->n_steps++] = (tsri_model_step){.in = out->width, .out = out->width};
    return TSR_OK;
}

static tsr_status read_folder(const char *folder, int64_t context, tsri_model_sentence *out) {
    char *place = NULL;
    TRY(find_folder(folder, &place));
    tsr_status status = read_modules(place, out);
    if (status == TSR_OK)
        status = read_length(folder, context, out);
    if (status == TSR_OK)
        status = read_prompts(place, out);
    free(place);
    return status;
}

tsr_status tsri_model_sentence_read(const tsri_io_archive *archive, const char *path, int32_t width,
                                    int64_t context, tsri_model_sentence *out) {
    *out = (tsri_model_sentence){.pooling = TSR_POOL_MEAN, .pool_prompt = true, .width = width};
    return archive->format == TSRI_IO_GGUF ? read_gguf(archive, out)
           : tsri_base_is_folder(path)     ? read_folder(path, context, out)
                                           : TSR_OK;
}

static tsr_status has_modules(const char *folder, bool *out) {
    char *place = NULL;
    TRY(find_folder(folder, &place));
    char *path = tsri_base_join(place, "modules.json");
    *out = path && tsri_base_is_file(path);
    free(place);
    free(path);
    return path ? TSR_OK : TSR_E_HOST_MEMORY;
}

tsr_status tsri_model_sentence_is(const tsri_io_archive *archive, const char *folder, bool *out) {
    int pooling = -1;
    if (archive->format == TSRI_IO_SAFETENSORS || archive->format == TSRI_IO_INDEX)
        return has_modules(folder, out);
    if (archive->format == TSRI_IO_GGUF)
        TRY(read_pooling_type(archive, &pooling));
    *out = pooling >= 0;
    return TSR_OK;
}

void tsri_model_sentence_clear(tsri_model_sentence *s) {
    for (int i = 0; i < s->n_steps; i++) {
        free(s->steps[i].weight);
        free(s->steps[i].bias);
    }
    for (size_t i = 0; i < s->n_prompts; i++) {
        free(s->prompts[i].name);
        free(s->prompts[i].text);
    }
    free(s->prompts);
    *s = (tsri_model_sentence){0};
}

char *tsri_model_sentence_transformer(const char *folder) {
    json_t *json = NULL;
    char *path = NULL, *inside = NULL;
    const char *name = NULL;
    if (load(folder, "modules.json", &json, &path) == TSR_OK &&
        tsri_base_json_text(json_array_get(json, 0), path, "path", &name) == TSR_OK && name &&
        *name && is_plain(name))
        inside = tsri_base_join(folder, name);
    json_decref(json);
    free(path);
    return inside;
}

/* ---- running ---- */

static void normalize(float *row, int32_t C) {
    double square = 0;
    for (int32_t c = 0; c < C; c++)
        square += (double)row[c] * (double)row[c];
    const double norm = sqrt(square), scale = 1 / (norm > 1e-12 ? norm : 1e-12);
    for (int32_t c = 0; c < C; c++)
        row[c] = (float)(row[c] * scale);
}

static void apply(const tsri_model_step *step, const float *x, float *y) {
    for (int32_t o = 0; o < step->out; o++) {
        double sum = step->bias ? step->bias[o] : 0;
        for (int32_t i = 0; i < step->in; i++)
            sum += (double)step->weight[(size_t)o * (size_t)step->in + (size_t)i] * (double)x[i];
        y[o] = (float)(step->tanh ? tanh(sum) : sum);
    }
}

tsr_status tsri_model_sentence_finish(const tsri_model_sentence *s, const float *rows, size_t n,
                                      int32_t width, float *out) {
    int32_t most = width;
    float *now = NULL, *next = NULL;
    for (int i = 0; i < s->n_steps; i++)
        most = s->steps[i].out > most ? s->steps[i].out : most;
    tsr_status status = tsri_base_new((size_t)most, sizeof *now, &now);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)most, sizeof *next, &next);
    for (size_t row = 0; status == TSR_OK && row < n; row++) {
        int32_t C = width;
        memcpy(now, rows + row * (size_t)width, (size_t)width * sizeof *now);
        for (int i = 0; i < s->n_steps; i++) {
            if (!s->steps[i].weight) {
                normalize(now, C);
                continue;
            }
            apply(&s->steps[i], now, next);
            float *const other = now;
            now = next;
            next = other;
            C = s->steps[i].out;
        }
        memcpy(out + row * (size_t)C, now, (size_t)C * sizeof *out);
    }
    free(now);
    free(next);
    return status;
}
