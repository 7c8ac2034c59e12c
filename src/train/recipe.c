#include "train/recipe.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "model/load.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20, DEPTH = 16 };

/* ---- the keys ---- */

#define NAMES(...)          \
    (const char *const[]) { \
        __VA_ARGS__, NULL   \
    }

/* A key is a number in a range, or one of a list of names, whose places are its values. */
static const struct key {
    const char *name;
    size_t at; /* in tsri_train_architecture */
    int32_t lowest, highest;
    const char *const *names; /* by value; "" for a value that has no name */
} keys[] = {
#define AT(field) offsetof(tsri_train_architecture, field)
    {"kind", AT(kind), .names = NAMES("decoder", "encoder", "encoder-decoder", "recurrent")},
    {"layers", AT(layers), 1, TSRI_MODEL_MAX_LAYERS, NULL},
    {"encoder_layers", AT(encoder_layers), 1, TSRI_MODEL_MAX_LAYERS, NULL},
    {"hidden_size", AT(hidden_size), 1, TSRI_MODEL_MAX_WIDTH, NULL},
    {"heads", AT(heads), 1, TSRI_MODEL_MAX_WIDTH, NULL},
    {"kv_heads", AT(kv_heads), 1, TSRI_MODEL_MAX_WIDTH, NULL},
    {"ffn", AT(ffn), 1, TSRI_MODEL_MAX_WIDTH, NULL},
    {"positions", AT(positions),
     .names = NAMES("none", "learned", "rotary", "sinusoidal", "alibi")},
    {"max_positions", AT(max_positions), 1, 1 << 20, NULL},
    {"attention", AT(attention), .names = NAMES("", "causal", "bidirectional")},
    {"norm", AT(norm), .names = NAMES("pre", "post")},
    {"norm_type", AT(norm_type), .names = NAMES("layer", "rms")},
    {"activation", AT(activation),
     .names = NAMES("", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid")},
    {"gated", AT(gated), .names = NAMES("false", "true")},
    {"tied", AT(tied), .names = NAMES("false", "true")},
    {"bias", AT(bias), .names = NAMES("false", "true")},
    {"embed_size", AT(embed_size), 1, TSRI_MODEL_MAX_WIDTH, NULL},
    {"attention_size", AT(attention_size), 1, TSRI_MODEL_MAX_WIDTH, NULL},
    {"vocab_size", AT(vocab_size), 1, TSRI_MODEL_MAX_VOCAB, NULL},
#undef AT
};
enum { KEYS = sizeof keys / sizeof *keys };

static const struct key *find_key(const char *name) {
    for (size_t i = 0; i < KEYS; i++)
        if (!strcmp(keys[i].name, name))
            return &keys[i];
    return NULL;
}

enum { LIST = 512 };

static void append(char list[LIST], const char *name) {
    const size_t n = strlen(list);
    snprintf(list + n, LIST - n, "%s%s", n ? ", " : "", name);
}

static tsr_status set_name(const struct key *key, const char *what, const char *value,
                           int32_t *out) {
    char list[LIST] = "";
    for (int32_t i = 0; key->names[i]; i++) {
        if (*key->names[i] && !strcmp(key->names[i], value)) {
            *out = i;
            return TSR_OK;
        }
        if (*key->names[i])
            append(list, key->names[i]);
    }
    return tsri_base_fail(TSR_E_FORMAT, "%s: %s is \"%.60s\"; it is one of %s", what, key->name,
                          value, list);
}

static tsr_status set_key(const struct key *key, const char *what, const char *value,
                          tsri_train_architecture *model) {
    int32_t *out = (int32_t *)((char *)model + key->at);
    if (key->names)
        return set_name(key, what, value, out);
    char *end = NULL;
    errno = 0;
    const long long number = strtoll(value, &end, 10);
    if (errno || !*value || *end || number < key->lowest || number > key->highest)
        return tsri_base_fail(
            TSR_E_FORMAT, "%s: %s is \"%.60s\"; it is a whole number from %" PRId32 " to %" PRId32,
            what, key->name, value, key->lowest, key->highest);
    *out = (int32_t)number;
    return TSR_OK;
}

static tsr_status set_tokenizer(tsri_train_recipe *recipe, const char *value) {
    char *copy = *value ? tsri_base_copy_text(value, strlen(value)) : NULL;
    if (!*value)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tokenizer is empty; it is char, bpe, or a tokenizer.json",
                              recipe->path);
    if (!copy)
        return TSR_E_HOST_MEMORY;
    free(recipe->tokenizer);
    recipe->tokenizer = copy;
    return TSR_OK;
}

tsr_status tsri_train_recipe_set(tsri_train_recipe *recipe, const char *key, const char *value,
                                 bool *own) {
    const struct key *found = find_key(key);
    const bool tokenizer = !strcmp(key, "tokenizer");
    *own = found || tokenizer;
    if (tokenizer)
        return set_tokenizer(recipe, value);
    return found ? set_key(found, "--set", value, &recipe->model) : TSR_OK;
}

/* ---- the file ---- */

static tsr_status unknown(const tsri_train_recipe *recipe, const char *object, const char *key,
                          const char *list) {
    return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\"%s has no key \"%.60s\"; it has %s",
                          recipe->path, object, *object ? "" : "a recipe", key, list);
}

/* A value as --set would give it. */
static tsr_status as_text(const tsri_train_recipe *recipe, const char *key, const json_t *value,
                          char *number, size_t size, const char **out) {
    *out = number;
    if (json_is_string(value))
        *out = json_string_value(value);
    else if (json_is_boolean(value))
        *out = json_is_true(value) ? "true" : "false";
    else if (json_is_integer(value))
        snprintf(number, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"%s\" must be a whole number, a name, true or false",
                              recipe->path, key);
    return TSR_OK;
}

static tsr_status read_model(tsri_train_recipe *recipe, json_t *object) {
    const char *key, *text;
    json_t *value;
    char number[32], list[LIST] = "";
    json_object_foreach(object, key, value) {
        const struct key *found = find_key(key);
        for (size_t i = 0; !found && i < KEYS; i++)
            append(list, keys[i].name);
        if (!found)
            return unknown(recipe, "model", key, list);
        TRY(as_text(recipe, key, value, number, sizeof number, &text));
        TRY(set_key(found, recipe->path, text, &recipe->model));
    }
    return TSR_OK;
}

static tsr_status read_tokenizer(tsri_train_recipe *recipe, json_t *object) {
    const char *key, *text;
    json_t *value;
    char number[32];
    json_object_foreach(object, key, value) {
        const bool type = !strcmp(key, "type");
        if (!type && strcmp(key, "vocab_size") != 0)
            return unknown(recipe, "tokenizer", key, "type, vocab_size");
        TRY(as_text(recipe, key, value, number, sizeof number, &text));
        TRY(type ? set_tokenizer(recipe, text)
                 : set_key(find_key(key), recipe->path, text, &recipe->model));
    }
    return TSR_OK;
}

static tsr_status read_recipe(tsri_train_recipe *recipe) {
    static const char *const objects[] = {"model", "tokenizer", "training"};
    const char *key, *text = NULL;
    json_t *value;
    if (!json_is_object(recipe->json))
        return tsri_base_fail(TSR_E_FORMAT, "%s: an object was expected", recipe->path);
    json_object_foreach(recipe->json, key, value) {
        bool is_object = false;
        for (size_t i = 0; i < 3; i++)
            is_object = is_object || !strcmp(key, objects[i]);
        if (is_object && !json_is_object(value))
            return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" must be an object", recipe->path, key);
        if (!is_object && strcmp(key, "name") != 0 && strcmp(key, "description") != 0)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: a recipe has no key \"%.60s\"; it has name, description, "
                                  "model, tokenizer, training",
                                  recipe->path, key);
    }
    TRY(tsri_base_json_text(recipe->json, recipe->path, "description", &text));
    TRY(tsri_base_json_text(recipe->json, recipe->path, "name", &recipe->name));
    recipe->name = recipe->name ? recipe->name : recipe->path;
    TRY(set_tokenizer(recipe, "bpe"));
    TRY(read_model(recipe, json_object_get(recipe->json, "model")));
    return read_tokenizer(recipe, json_object_get(recipe->json, "tokenizer"));
}

/* ---- where recipes lie ---- */

enum { FOLDERS = 2 };

static char *folder_at(int i) {
    const char *given = getenv("TESSERA_RECIPES");
    if (i == 0)
        return given && *given ? tsri_base_copy_text(given, strlen(given)) : NULL;
    return tsri_model_share_folder("recipes");
}

/* New memory; NULL where no folder has it. */
static char *find_bundled(const char *name) {
    char file[256], *path = NULL;
    snprintf(file, sizeof file, "%s.json", name);
    for (int i = 0; i < FOLDERS && !path && !strchr(name, '/'); i++) {
        char *folder = folder_at(i);
        path = folder ? tsri_base_join(folder, file) : NULL;
        if (path && !tsri_base_is_file(path)) {
            free(path);
            path = NULL;
        }
        free(folder);
    }
    return path;
}

static void list_bundled(char list[LIST]) {
    for (int i = 0; i < FOLDERS; i++) {
        struct dirent **entries = NULL;
        char *folder = folder_at(i);
        const int n = folder ? scandir(folder, &entries, NULL, alphasort) : -1;
        for (int e = 0; e < n; e++) {
            char *name = entries[e]->d_name, *end = strrchr(name, '.');
            if (end && end != name && !strcmp(end, ".json")) {
                *end = 0;
                append(list, name);
            }
            free(entries[e]);
        }
        free(entries);
        free(folder);
    }
}

static tsr_status locate(const char *name, char **path) {
    char list[LIST] = "";
    if (tsri_base_is_file(name))
        *path = tsri_base_copy_text(name, strlen(name));
    else
        *path = find_bundled(name);
    if (*path)
        return TSR_OK;
    list_bundled(list);
    return tsri_base_fail(TSR_E_IO,
                          "%s is no file here and no recipe that came along; these are %s", name,
                          *list ? list : "none (share/tessera/recipes is not there)");
}

tsr_status tsri_train_recipe_open(const char *name, tsri_train_recipe **out) {
    tsri_train_recipe *recipe = NULL;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *recipe, &recipe));
    recipe->model = (tsri_train_architecture){
        .positions = TSRI_POSITIONS_LEARNED, .activation = TSR_ACT_GELU, .tied = 1, .bias = 1};
    tsr_status status = locate(name, &recipe->path);
    if (status == TSR_OK)
        status = tsri_base_json_load(recipe->path, MOST, DEPTH, &recipe->json);
    if (status == TSR_OK)
        status = read_recipe(recipe);
    if (status != TSR_OK)
        tsri_train_recipe_close(&recipe);
    *out = recipe;
    return status;
}

void tsri_train_recipe_close(tsri_train_recipe **recipe) {
    if (!*recipe)
        return;
    json_decref((*recipe)->json);
    free((*recipe)->tokenizer);
    free((*recipe)->path);
    free(*recipe);
    *recipe = NULL;
}

const json_t *tsri_train_recipe_settings(const tsri_train_recipe *recipe) {
    return json_object_get(recipe->json, "training");
}

/* ---- what must hold ---- */

static tsr_status refuse(const tsri_train_recipe *recipe, const char *why) {
    return tsri_base_fail(TSR_E_FORMAT, "%s: %s", recipe->path, why);
}

static tsr_status require(const tsri_train_recipe *recipe, int32_t value, const char *key) {
    if (value)
        return TSR_OK;
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: \"%s\" is missing from \"model\"; add it, or --set %s=N",
                          recipe->path, key, key);
}

/* `part` of the whole must divide it. */
static tsr_status divides(const tsri_train_recipe *recipe, const char *part, int32_t n,
                          const char *whole, int32_t of) {
    if (of % n == 0)
        return TSR_OK;
    int32_t near = n < of ? n : of;
    while (of % near)
        near--;
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: %s %" PRId32 " does not divide %s %" PRId32 "; %" PRId32 " would",
                          recipe->path, part, n, whole, of, near);
}

static tsr_status check_positions(const tsri_train_recipe *recipe) {
    const tsri_train_architecture *model = &recipe->model;
    if (model->positions == TSRI_POSITIONS_ROTARY && model->hidden_size / model->heads % 2)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: rotary positions need heads of an even size; hidden_size "
                              "%" PRId32 " over %" PRId32 " heads gives %" PRId32,
                              recipe->path, model->hidden_size, model->heads,
                              model->hidden_size / model->heads);
    if (model->positions == TSRI_POSITIONS_SINUSOIDAL && model->hidden_size % 2)
        return refuse(recipe, "sinusoidal positions need an even hidden_size");
    if (model->kind == TSRI_KIND_DECODER && model->attention == TSRI_TRAIN_BIDIRECTIONAL)
        return refuse(recipe, "a decoder whose attention is bidirectional sees the token that it "
                              "is to predict; kind encoder reads both ways");
    return TSR_OK;
}

tsr_status tsri_train_recipe_finish(tsri_train_recipe *recipe, int32_t block_size) {
    tsri_train_architecture *model = &recipe->model;
    TRY(require(recipe, model->hidden_size, "hidden_size"));
    model->max_positions = model->max_positions ? model->max_positions : block_size;
    TRY(require(recipe, model->max_positions, "max_positions"));
    if (model->max_positions < block_size)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: block_size %" PRId32 " exceeds max_positions %" PRId32
                              ", beyond which the model reads nothing",
                              recipe->path, block_size, model->max_positions);
    model->vocab_size = model->vocab_size ? model->vocab_size : 8192;
    if (model->kind == TSRI_KIND_RECURRENT) {
        model->embed_size = model->embed_size ? model->embed_size : model->hidden_size;
        model->attention_size = model->attention_size ? model->attention_size : model->hidden_size;
        return TSR_OK;
    }
    if (model->embed_size || model->attention_size)
        return refuse(recipe, "embed_size and attention_size are of kind recurrent");
    TRY(require(recipe, model->layers, "layers"));
    TRY(require(recipe, model->heads, "heads"));
    if (model->encoder_layers && model->kind != TSRI_KIND_ENCODER_DECODER)
        return refuse(recipe, "encoder_layers is of kind encoder-decoder; layers says how many an "
                              "encoder alone has");
    model->encoder_layers = model->encoder_layers ? model->encoder_layers : model->layers;
    model->kv_heads = model->kv_heads ? model->kv_heads : model->heads;
    model->ffn = model->ffn ? model->ffn : 4 * model->hidden_size;
    if (!model->attention)
        model->attention =
            model->kind == TSRI_KIND_DECODER ? TSRI_TRAIN_CAUSAL : TSRI_TRAIN_BIDIRECTIONAL;
    TRY(divides(recipe, "heads", model->heads, "hidden_size", model->hidden_size));
    TRY(divides(recipe, "kv_heads", model->kv_heads, "heads", model->heads));
    return check_positions(recipe);
}

/* ---- special tokens ---- */

static const char *const decoder_names[] = {"<|endoftext|>", NULL},
                         *const encoder_names[] = {"[PAD]", "[UNK]",  "[CLS]",
                                                   "[SEP]", "[MASK]", NULL},
                         *const pair_names[] = {"</s>", "<unk>", "<pad>", NULL};

static const tsri_train_specials specials[] = {
    [TSRI_KIND_DECODER] = {.names = decoder_names,
                           .bos = "<|endoftext|>",
                           .eos = "<|endoftext|>",
                           .unk = "<|endoftext|>"},
    [TSRI_KIND_ENCODER] = {.names = encoder_names,
                           .unk = "[UNK]",
                           .pad = "[PAD]",
                           .mask = "[MASK]",
                           .before = "[CLS]",
                           .behind = "[SEP]"},
    [TSRI_KIND_ENCODER_DECODER] =
        {.names = pair_names, .eos = "</s>", .unk = "<unk>", .pad = "<pad>", .behind = "</s>"},
    [TSRI_KIND_RECURRENT] =
        {.names = pair_names, .eos = "</s>", .unk = "<unk>", .pad = "<pad>", .behind = "</s>"},
};

const tsri_train_specials *tsri_train_recipe_specials(const tsri_train_recipe *recipe) {
    return &specials[recipe->model.kind];
}
