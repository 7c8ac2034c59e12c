/* train/recipe/recipe.c - opens a recipe, sets its keys, and derives the values that are not given.
 */
#include "train/recipe/recipe.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/system/files.h"
#include "model/load/load.h"
#include "model/load/model_path.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20, DEPTH = 16, LIST = 512 };

/* ---- the keys ---- */

#define AT(field) offsetof(tsri_train_architecture, field)
#define SIZE(field, lowest, highest, help) \
    { #field, TSRI_TRAIN_VALUE_INT, AT(field), lowest, highest, NULL, "0", 0, help }
#define WORD(field, words, initial, help) \
    { #field, TSRI_TRAIN_VALUE_WORD, AT(field), 0, 0, words, initial, 0, help }
#define BOOL(field, initial, help) \
    { #field, TSRI_TRAIN_VALUE_BOOL, AT(field), 0, 0, NULL, initial, 0, help }

/* The words are in the order of their enums. */
static const tsri_train_key keys[] = {
    WORD(kind, "decoder|encoder|encoder-decoder|recurrent", "decoder",
         "the stacks that it has; recurrent: gated units with additive attention"),
    SIZE(layers, 0, TSRI_MODEL_MAX_LAYERS,
         "number of layers; of an encoder-decoder: of its decoder"),
    SIZE(encoder_layers, 0, TSRI_MODEL_MAX_LAYERS,
         "layers of an encoder-decoder's encoder; 0: as layers"),
    SIZE(hidden_size, 0, TSRI_MODEL_MAX_WIDTH, "the width of hidden states"),
    SIZE(heads, 0, TSRI_MODEL_MAX_WIDTH, "heads of attention, which share hidden_size equally"),
    SIZE(kv_heads, 0, TSRI_MODEL_MAX_WIDTH, "heads of keys and values; 0: as heads"),
    SIZE(ffn, 0, TSRI_MODEL_MAX_WIDTH,
         "inner width of the feed-forward part; 0: 4 times hidden_size"),
    WORD(positions, "none|learned|rotary|sinusoidal|alibi", "learned",
         "how the model is told a token's position"),
    SIZE(max_positions, 0, 1 << 20, "the longest sequence that the model reads; 0: block_size"),
    WORD(attention, "auto|causal|bidirectional", "auto",
         "what a token sees; auto: causal in a decoder, bidirectional in an encoder"),
    WORD(norm, "pre|post", "pre", "norms before each part of a layer, or after it"),
    WORD(norm_type, "layer|rms", "layer", "the kind of norm"),
    WORD(activation, "relu|gelu|gelu_tanh|silu|tanh|sigmoid", "gelu",
         "activation of the feed-forward part"),
    BOOL(gated, "false", "a third matrix in the feed-forward part, as in Llama"),
    BOOL(tied, "true", "the output matrix is the embedding"),
    BOOL(bias, "true", "matrices have a bias"),
    SIZE(embed_size, 0, TSRI_MODEL_MAX_WIDTH, "recurrent: width of the embedding; 0: hidden_size"),
    SIZE(attention_size, 0, TSRI_MODEL_MAX_WIDTH,
         "recurrent: width in which attention forms its scores; 0: hidden_size"),
    {"tokenizer", TSRI_TRAIN_VALUE_STRING, AT(tokenizer), 0, 0, NULL, "bpe", 0,
     "bpe or char: trained on the data; else a tokenizer.json, or a folder with a tokenizer"},
    {"vocab_size", TSRI_TRAIN_VALUE_INT, AT(vocab_size), 0, TSRI_MODEL_MAX_VOCAB, NULL, "8192", 0,
     "the most tokens that a trained tokenizer may have; char: 0, or not given, is all characters"},
};
static const tsri_train_keys table = {keys, sizeof keys / sizeof *keys};
_Static_assert(sizeof keys / sizeof *keys <= 32, "a recipe has a bit for each key");

static uint32_t bit_of(const tsri_train_key *key) {
    return 1u << (key - keys);
}

const tsri_train_keys *tsri_train_recipe_keys(void) {
    return &table;
}

tsr_status tsri_train_recipe_set(tsri_train_recipe *recipe, const char *key, const char *value,
                                 bool *own) {
    const tsri_train_key *found = tsri_train_key_find(&table, key);
    *own = found;
    recipe->given |= found ? bit_of(found) : 0;
    if (found && !strcmp(found->name, "vocab_size"))
        recipe->vocab_size = TSRI_TRAIN_BY_SET;
    return found ? tsri_train_key_set(found, &recipe->model, value) : TSR_OK;
}

/* ---- the file ---- */

static tsr_status read_tokenizer(tsri_train_recipe *recipe, json_t *object) {
    const char *key, *type = NULL;
    json_t *value;
    int64_t size = recipe->model.vocab_size;
    json_object_foreach(object, key, value) {
        if (strcmp(key, "type") != 0 && strcmp(key, "vocab_size") != 0)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: \"tokenizer\" has no key \"%.60s\"; it has type (bpe, "
                                  "char or a file) and vocab_size",
                                  recipe->path, key);
    }
    TRY(tsri_base_json_text(object, recipe->path, "type", &type));
    TRY(tsri_base_json_int(object, recipe->path, "vocab_size", 0, TSRI_MODEL_MAX_VOCAB, &size));
    recipe->model.vocab_size = size;
    if (json_object_get(object, "vocab_size"))
        recipe->vocab_size = TSRI_TRAIN_BY_FILE;
    if (!type)
        return TSR_OK;
    TRY(tsri_train_key_set(tsri_train_key_find(&table, "tokenizer"), &recipe->model, type));
    return TSR_OK;
}

static tsr_status read_model(tsri_train_recipe *recipe, json_t *object) {
    const char *name;
    json_t *value;
    TRY(tsri_train_key_set_object(&table, &recipe->model, object, recipe->path));
    json_object_foreach(object, name, value) {
        const tsri_train_key *key = tsri_train_key_find(&table, name);
        if (recipe->model.kind == TSRI_KIND_RECURRENT)
            recipe->given |= bit_of(key);
        if (!strcmp(key->name, "vocab_size"))
            recipe->vocab_size = TSRI_TRAIN_BY_FILE;
    }
    return TSR_OK;
}

static tsr_status read_recipe(tsri_train_recipe *recipe) {
    static const char *const objects[] = {"model", "tokenizer", "training"};
    const char *key, *text = NULL;
    json_t *value;
    if (!json_is_object(recipe->json))
        return tsri_base_fail(TSR_E_FORMAT, "%s: a recipe must be a JSON object", recipe->path);
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

tsr_status tsri_train_recipe_visit(void (*visit)(void *data, const char *name, const char *path),
                                   void *data) {
    tsr_status status = TSR_OK;
    for (int i = 0; i < FOLDERS && status == TSR_OK; i++) {
        struct dirent **entries = NULL;
        char *folder = folder_at(i);
        const int n = folder ? scandir(folder, &entries, NULL, alphasort) : -1;
        for (int e = 0; e < n; e++) {
            char *name = entries[e]->d_name, *end = strrchr(name, '.');
            if (status == TSR_OK && end && end != name && !strcmp(end, ".json")) {
                char *path = tsri_base_join(folder, name);
                *end = 0;
                if (path)
                    visit(data, name, path);
                else
                    status = TSR_E_HOST_MEMORY;
                free(path);
            }
            free(entries[e]);
        }
        free(entries);
        free(folder);
    }
    return status;
}

static void append(void *data, const char *name, const char *path) {
    char *list = data;
    const size_t n = strlen(list);
    (void)path;
    snprintf(list + n, LIST - n, "%s%s", n ? ", " : "", name);
}

static tsr_status locate_recipe(const char *name, char **path) {
    char list[LIST] = "";
    if (tsri_base_is_file(name))
        *path = tsri_base_copy_text(name, strlen(name));
    else
        *path = find_bundled(name);
    if (*path)
        return TSR_OK;
    TRY(tsri_train_recipe_visit(append, list));
    return tsri_base_fail(TSR_E_IO,
                          "%s is neither a file nor the name of a bundled recipe; bundled are %s",
                          name, *list ? list : "none (there is no folder share/tessera/recipes)");
}

tsr_status tsri_train_recipe_open(const char *name, tsri_train_recipe **out) {
    tsri_train_recipe *recipe = NULL;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *recipe, &recipe));
    tsri_train_key_defaults(&table, &recipe->model);
    recipe->tokenizer = recipe->model.tokenizer;
    tsr_status status = locate_recipe(name, &recipe->path);
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

static tsr_status require(const tsri_train_recipe *recipe, int64_t value, const char *key) {
    if (value)
        return TSR_OK;
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: \"%s\" is missing from \"model\"; add it, or --set %s=N",
                          recipe->path, key, key);
}

/* `part` must divide the whole. */
static tsr_status divides(const tsri_train_recipe *recipe, const char *part, int64_t n,
                          const char *whole, int64_t of) {
    if (of % n == 0)
        return TSR_OK;
    int64_t near = n < of ? n : of;
    while (of % near)
        near--;
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: %s %" PRId64 " does not divide %s %" PRId64 "; %" PRId64 " would",
                          recipe->path, part, n, whole, of, near);
}

/* A tokenizer from a file has as many tokens as it has. */
static tsr_status check_vocabulary(const tsri_train_recipe *recipe) {
    if (recipe->vocab_size != TSRI_TRAIN_BY_SET || !recipe->model.vocab_size ||
        !strcmp(recipe->tokenizer, "bpe") || !strcmp(recipe->tokenizer, "char"))
        return TSR_OK;
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: vocab_size=%" PRId64
                          " is for a tokenizer that is trained (bpe or char), and %s has its own "
                          "tokens: leave vocab_size out",
                          recipe->path, recipe->model.vocab_size, recipe->tokenizer);
}

/* Recurrent units have none of these. What the file says of a model of another kind is passed over where --set
 * makes that one recurrent. */
static tsr_status check_recurrent(const tsri_train_recipe *recipe) {
    static const char *const others[] = {
        "layers", "encoder_layers", "heads",      "kv_heads", "ffn",  "positions", "attention",
        "norm",   "norm_type",      "activation", "gated",    "tied", "bias"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (recipe->given & bit_of(tsri_train_key_find(&table, others[i])))
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: %s is not for models of kind recurrent, whose sizes are "
                                  "hidden_size, embed_size, attention_size and max_positions: "
                                  "leave it out",
                                  recipe->path, others[i]);
    return TSR_OK;
}

static tsr_status check_positions(const tsri_train_recipe *recipe) {
    const tsri_train_architecture *model = &recipe->model;
    if (model->positions == TSRI_POSITIONS_ROTARY && model->hidden_size / model->heads % 2)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: rotary positions need heads of an even size; hidden_size "
                              "%" PRId64 " over %" PRId64 " heads gives %" PRId64,
                              recipe->path, model->hidden_size, model->heads,
                              model->hidden_size / model->heads);
    if (model->positions == TSRI_POSITIONS_SINUSOIDAL && model->hidden_size % 2)
        return refuse(recipe, "sinusoidal positions need an even hidden_size");
    if (model->kind == TSRI_KIND_DECODER && model->attention == TSRI_TRAIN_BIDIRECTIONAL)
        return refuse(recipe, "with bidirectional attention, a decoder sees the token that it is "
                              "to predict; kind=encoder reads both ways");
    return TSR_OK;
}

tsr_status tsri_train_recipe_finish(tsri_train_recipe *recipe, int64_t block_size) {
    tsri_train_architecture *model = &recipe->model;
    TRY(check_vocabulary(recipe));
    TRY(require(recipe, model->hidden_size, "hidden_size"));
    model->max_positions = model->max_positions ? model->max_positions : block_size;
    TRY(require(recipe, model->max_positions, "max_positions"));
    if (model->max_positions < block_size)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: block_size %" PRId64 " exceeds max_positions %" PRId64
                              ", the longest sequence that the model reads",
                              recipe->path, block_size, model->max_positions);
    if (model->kind == TSRI_KIND_RECURRENT) {
        TRY(check_recurrent(recipe));
        model->embed_size = model->embed_size ? model->embed_size : model->hidden_size;
        model->attention_size = model->attention_size ? model->attention_size : model->hidden_size;
        return TSR_OK;
    }
    if (model->embed_size || model->attention_size)
        return refuse(recipe,
                      "embed_size and attention_size are only for models of kind recurrent");
    TRY(require(recipe, model->layers, "layers"));
    TRY(require(recipe, model->heads, "heads"));
    if (model->encoder_layers && model->kind != TSRI_KIND_ENCODER_DECODER)
        return refuse(recipe,
                      "encoder_layers is only for models of kind encoder-decoder; an encoder "
                      "alone has layers");
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
