/* train/start/init.c - makes the folder of a new model from a recipe: config, tokenizer, drawn
 * weights. */
#include "train/start/init_parts.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/random.h"
#include "io/save.h"
#include "train/recipe/families.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 16 }; /* numbers that are drawn, or bytes that are copied, at once */

/* ---- how an array begins ---- */

typedef enum drawing { ZEROS, ONES, NORMAL, UNIFORM } drawing;

/* The official implementations draw matrices and embeddings from a normal distribution with a
 * standard deviation of 0.02. GPT-2 divides it, for the last matrix of a residual branch, by the
 * square root of the number of branches (`scaled`). Recurrent units, which have no norms, are drawn
 * uniformly within 1 / sqrt(inputs), as PyTorch does. */
static const struct rule {
    const char *family;
    bool scaled, recurrent;
} rules[] = {{"gpt2", true, false}, {"tessera", true, false}, {"bahdanau", false, true}};

static const struct rule *rule_of(const char *family) {
    static const struct rule usual = {"", false, false};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rules[i].family, family))
            return &rules[i];
    return &usual;
}

static bool is_norm(uint32_t id) {
    if (id < TSRI_WEIGHT_STACKS)
        return id == TSRI_WEIGHT_MASKED_NORM || id == TSRI_WEIGHT_LABEL_NORM;
    if (id < TSRI_WEIGHT_LAYERS) {
        const uint32_t role = (id - TSRI_WEIGHT_STACKS) % TSRI_WEIGHT_PER_STACK;
        return role == TSRI_STACK_EMBED_NORM || role == TSRI_STACK_FINAL_NORM ||
               role == TSRI_STACK_DISTANCE_NORM || role == TSRI_STACK_CONV_NORM;
    }
    const tsri_model_role role = tsri_model_weight_role(id);
    return role == TSRI_ROLE_NORM1 || role == TSRI_ROLE_NORM2 || role == TSRI_ROLE_CROSS_NORM ||
           role == TSRI_ROLE_Q_NORM || role == TSRI_ROLE_K_NORM || role == TSRI_ROLE_OUT_NORM ||
           role == TSRI_ROLE_DOWN_NORM || role == TSRI_ROLE_Q_LATENT_NORM ||
           role == TSRI_ROLE_KV_LATENT_NORM;
}

/* Whether it is the last matrix of a residual branch. */
static bool ends_branch(uint32_t id) {
    const tsri_model_role role = tsri_model_weight_role(id);
    return role == TSRI_ROLE_OUT || role == TSRI_ROLE_CROSS_OUT || role == TSRI_ROLE_DOWN;
}

static bool is_embedding(const tsri_model_spec *spec, uint32_t id) {
    return id == TSRI_WEIGHT_EMBED ||
           (spec->source_embed && id == tsri_model_stack_weight(&spec->encoder, TSRI_STACK_EMBED));
}

static drawing drawing_of(const tsri_model_spec *spec, const tsri_model_wanted_array *array,
                          double *size) {
    const struct rule *rule = rule_of(spec->family);
    const tsri_model_stack *stack = tsri_model_main_stack(spec);
    const bool score = rule->recurrent && tsri_model_weight_role(array->id) == TSRI_ROLE_SCORE;
    *size = 0.02;
    if (array->rank == 1 && !score)
        return is_norm(array->id) ? ONES : ZEROS;
    if (rule->recurrent && !is_embedding(spec, array->id)) {
        *size = 1 / sqrt((double)array->dims[score ? 0 : 1]);
        return UNIFORM;
    }
    if (rule->recurrent)
        *size = 0.1;
    if (rule->scaled && ends_branch(array->id))
        *size = 0.02 / sqrt((stack->cross ? 3.0 : 2.0) * stack->layers);
    return NORMAL;
}

/* Each name has its own stream of random numbers: its FNV-1a hash. */
static uint64_t stream_of(const char *name) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash;
}

static void draw(const tsri_model_spec *spec, uint64_t seed, const tsri_model_wanted_array *array,
                 int64_t first, int64_t n, float *out) {
    double size;
    const drawing kind = drawing_of(spec, array, &size);
    const uint64_t stream = stream_of(array->name);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t at = (uint64_t)(first + i);
        out[i] = kind == ZEROS     ? 0
                 : kind == ONES    ? 1
                 : kind == UNIFORM ? (float)(size * (2 * tsri_base_uniform(seed, stream, at) - 1))
                                   : (float)(size * tsri_base_normal(seed, stream, at));
    }
    if (spec->pad < 0 || array->rank != 2 || !is_embedding(spec, array->id))
        return;
    const int64_t from = spec->pad * array->dims[1],
                  to = from + array->dims[1]; /* the padding token's row is 0 */
    for (int64_t i = 0; i < n; i++)
        if (first + i >= from && first + i < to)
            out[i] = 0;
}

/* ---- the file of weights ---- */

static int64_t elements_of(const tsri_model_wanted_array *array) {
    int64_t elements = 1;
    for (int i = 0; i < array->rank; i++)
        elements *= array->dims[i];
    return elements;
}

/* A file that is being written: drawn arrays, and those copied from `source`. */
typedef struct writing {
    const tsri_train_init_options *options;
    const tsri_model_spec *spec;
    const tsri_model_wanted *wanted;
    const tsri_io_archive *source;
    const tsri_io_array *const *stored; /* for each of `wanted`; NULL: it is drawn */
    tsri_io_entry *entries;
    float *piece;
} writing;

static tsr_status write_drawn(const writing *w, const tsri_model_wanted_array *array,
                              tsri_io_saver *saver) {
    const int64_t all = elements_of(array);
    for (int64_t first = 0; first < all; first += PIECE) {
        const int64_t n = all - first < PIECE ? all - first : PIECE;
        draw(w->spec, w->options->seed, array, first, n, w->piece);
        TRY(tsri_io_save_write(saver, w->piece, (size_t)n * sizeof *w->piece));
    }
    return TSR_OK;
}

static tsr_status write_stored(const writing *w, const tsri_io_array *array, tsri_io_saver *saver) {
    for (uint64_t first = 0; first < array->bytes; first += PIECE) {
        const size_t n = array->bytes - first < PIECE ? (size_t)(array->bytes - first) : PIECE;
        TRY(tsri_io_read(w->source, array, first, n, w->piece));
        TRY(tsri_io_save_write(saver, w->piece, n));
    }
    return TSR_OK;
}

static tsr_status write_array(void *data, const tsri_io_entry *entry, tsri_io_saver *saver) {
    const writing *w = data;
    const tsri_model_wanted_array *array = entry->data;
    const tsri_io_array *found = w->stored ? w->stored[array - w->wanted->items] : NULL;
    return found ? write_stored(w, found, saver) : write_drawn(w, array, saver);
}

static tsr_status write_all(writing *w, const char *path) {
    static const char *const metadata[] = {"format", "pt"};
    for (size_t i = 0; i < w->wanted->count; i++) {
        const tsri_model_wanted_array *array = &w->wanted->items[i];
        w->entries[i] =
            (tsri_io_entry){.name = array->name,
                            .dtype = w->stored && w->stored[i] ? w->stored[i]->dtype : TSR_F32,
                            .rank = array->rank,
                            .dims = {array->dims[0], array->dims[1], array->dims[2]},
                            .data = array};
    }
    return tsri_io_save_each(path, w->entries, w->wanted->count, metadata, 1, write_array, w);
}

tsr_status tsri_train_init_weights(const tsri_train_init_options *options,
                                   const tsri_model_spec *spec, const tsri_model_wanted *wanted,
                                   const tsri_io_archive *source,
                                   const tsri_io_array *const *stored, int64_t *parameters) {
    writing w = {
        .options = options, .spec = spec, .wanted = wanted, .source = source, .stored = stored};
    *parameters = 0;
    for (size_t i = 0; i < wanted->count; i++)
        *parameters += elements_of(&wanted->items[i]);
    char *path = tsri_base_join(options->folder, "model.safetensors");
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = tsri_base_new(wanted->count, sizeof *w.entries, &w.entries);
    if (status == TSR_OK)
        status = tsri_base_new(PIECE, sizeof *w.piece, &w.piece);
    if (status == TSR_OK)
        status = write_all(&w, path);
    free(w.piece);
    free(w.entries);
    free(path);
    return status;
}

/* ---- from a recipe ---- */

uint32_t tsri_train_init_heads(const tsri_model_arch *arch, tsri_training_objective objective) {
    const tsri_model_names *names = arch->encoder_names;
    if (objective == TSRI_OBJECTIVE_MASKED && names && names->masked_dense)
        return 1u << TSRI_WEIGHT_MASKED_DENSE;
    if (objective == TSRI_OBJECTIVE_TOKENS && names && names->token_label)
        return 1u << TSRI_WEIGHT_LABEL;
    if (objective != TSRI_OBJECTIVE_CLASSIFY || !names || !names->label)
        return 0;
    return 1u << TSRI_WEIGHT_LABEL |
           (names->label_dense ? 1u << TSRI_WEIGHT_LABEL_DENSE : 1u << TSRI_WEIGHT_POOLER);
}

static tsr_status write_model(const tsri_train_recipe *recipe, json_t *config,
                              const tsri_train_init_options *options, tsri_train_made *made) {
    const tsri_model_arch *arch = NULL;
    tsri_model_wanted wanted = {0};
    tsri_model_spec spec;
    tsr_status status = tsri_model_arch_read(config, recipe->path, &arch, &spec);
    if (status == TSR_OK) {
        wanted.heads = tsri_train_init_heads(arch, options->objective);
        status = tsri_model_weights_wanted(arch, &spec, &wanted);
    }
    if (status == TSR_OK)
        status = tsri_train_write_json(options->folder, "config.json", config);
    if (status == TSR_OK)
        status = tsri_train_write_generation(options->folder, config);
    if (status == TSR_OK)
        status = tsri_train_init_weights(options, &spec, &wanted, NULL, NULL, &made->parameters);
    free(wanted.items);
    tsri_model_spec_clear(&spec);
    return status;
}

tsr_status tsri_train_init(const tsri_train_recipe *recipe, const tsri_train_init_options *options,
                           tsri_train_made *made) {
    tsri_train_config config = {.model = &recipe->model,
                                .objective = options->objective,
                                .dropout = options->dropout,
                                .labels = options->labels,
                                .n_labels = options->n_labels};
    tsri_train_family family;
    tsri_train_special_ids tokens;
    json_t *json = NULL;
    char origin[128];
    TRY(tsri_base_make_folders(options->folder));
    if (options->tokenizer)
        TRY(tsri_train_copy_tokenizer(options->tokenizer, options->folder));
    TRY(tsri_train_init_tokenizer(options->folder, recipe->model.max_positions,
                                  tsri_train_recipe_specials(recipe), &tokens));
    config.vocab = tokens.vocab;
    config.bos = tokens.bos;
    config.eos = tokens.eos;
    config.pad = tokens.pad;
    if (options->objective == TSRI_OBJECTIVE_TRANSLATE && tokens.eos < 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s has no token that ends a text, such as </s>, and a translation "
                              "needs one",
                              options->tokenizer ? options->tokenizer : "the tokenizer");
    TRY(tsri_train_config_json(&config, &family, &json));
    snprintf(made->family, sizeof made->family, "%s", family.type);
    snprintf(made->class, sizeof made->class, "%s", family.class ? family.class : "");
    tsr_status status = write_model(recipe, json, options, made);
    json_decref(json);
    TRY(status);
    snprintf(origin, sizeof origin, "the recipe %.100s", recipe->name);
    return tsri_train_write_card(options->folder, origin, options->objective, made);
}
