/* train/start/init_from.c - makes a folder from a loaded model, with the head that an objective
 * needs. */
#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/system/paths.h"
#include "model/load/model_path.h"
#include "model/weights/arrays_by_name.h"
#include "train/recipe/families.h"
#include "train/start/init_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_BYTES = 16 << 20, CONFIG_DEPTH = 64 };

/* What the names of transformers' classes begin with. */
static const char *const classes[][2] = {{"bert", "Bert"},
                                         {"roberta", "Roberta"},
                                         {"xlm-roberta", "XLMRoberta"},
                                         {"camembert", "Camembert"},
                                         {"distilbert", "DistilBert"},
                                         {"albert", "Albert"},
                                         {"mpnet", "MPNet"},
                                         {"electra", "Electra"},
                                         {"deberta", "Deberta"},
                                         {"deberta-v2", "DebertaV2"},
                                         {"modernbert", "ModernBert"},
                                         {"nomic_bert", "NomicBert"}};

typedef struct job {
    const tsri_train_init_options *options;
    tsri_model *model;
    char *folder; /* the model's */
    json_t *config;
    tsri_model_spec spec;
    const tsri_model_arch *arch;
    tsri_model_wanted wanted;
    const tsri_io_array **stored; /* of each wanted array; NULL: drawn */
} job;

/* ---- the config ---- */

static tsr_status set_class(job *j, tsri_train_made *made) {
    static const char *const ends[] = {[TSRI_OBJECTIVE_MASKED] = "ForMaskedLM",
                                       [TSRI_OBJECTIVE_CLASSIFY] = "ForSequenceClassification",
                                       [TSRI_OBJECTIVE_TOKENS] = "ForTokenClassification"};
    const tsri_training_objective objective = j->options->objective;
    const bool labels = objective >= TSRI_OBJECTIVE_CLASSIFY;
    const json_t *given = json_array_get(json_object_get(j->config, "architectures"), 0);
    if (!ends[objective]) {
        snprintf(made->class, sizeof made->class, "%s",
                 given ? json_string_value(given) : "AutoModel");
        return TSR_OK;
    }
    made->class[0] = 0;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!strcmp(classes[i][0], j->model->arch->name))
            snprintf(made->class, sizeof made->class, "%s%s", classes[i][1], ends[objective]);
    if (made->class[0]) {
        tsri_base_json_put(j->config, "architectures", json_pack("[s]", made->class));
        TRY(tsri_base_json_made(j->config, j->model->config_name));
    }
    if (!labels)
        return TSR_OK;
    json_object_del(j->config, "num_labels");
    return tsri_train_config_labels(j->config, j->options->labels, j->options->n_labels);
}

static tsr_status make_config(job *j, tsri_train_made *made) {
    const tsri_io_format format = j->model->archive->format;
    if (format != TSRI_IO_SAFETENSORS && format != TSRI_IO_INDEX)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s is a %s model; only folders in Hugging Face's layout can learn "
                              "(config.json, model.safetensors)",
                              j->model->path, j->model->format);
    TRY(tsri_model_need_no_tasks(j->model));
    if (j->model->quantized || j->model->joined)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s has quantised weights, which can't learn; give the model that it "
                              "was made from",
                              j->model->path);
    TRY(tsri_base_json_load(j->model->config_name, CONFIG_BYTES, CONFIG_DEPTH, &j->config));
    snprintf(made->family, sizeof made->family, "%s", j->model->arch->name);
    TRY(set_class(j, made));
    return tsri_model_arch_read(j->config, j->model->config_name, &j->arch, &j->spec);
}

/* ---- the arrays ---- */

/* The array of this name, or of the name without the first parts of the family's prefix, which bare
 * models leave out. */
static const tsri_io_array *find_array(const job *j, const char *name) {
    const tsri_model_names *names =
        j->spec.decoder.layers ? j->arch->names : j->arch->encoder_names;
    const char *prefix = names->prefix;
    const tsri_io_array *array = tsri_model_find_stored(j->model->archive, name);
    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return array;
    for (; !array && *prefix; prefix = strchr(prefix, '.') + 1) {
        name = strchr(name, '.') + 1;
        array = tsri_model_find_stored(j->model->archive, name);
    }
    return array;
}

static bool is_head(uint32_t id) {
    return id >= TSRI_WEIGHT_HEAD && id < TSRI_WEIGHT_STACKS;
}

static bool has_shape(const tsri_io_array *array, const tsri_model_wanted_array *wanted) {
    bool same = array->rank == wanted->rank;
    for (int i = 0; i < wanted->rank && same; i++)
        same = array->dims[i] == wanted->dims[i];
    return same && array->dtype != TSR_DTYPE_NONE && !array->n_divisors;
}

/* The array of a weight that the file has by another of the family's names, which the copy keeps. */
static const tsri_io_array *find_other(const job *j, tsri_model_wanted_array *wanted) {
    const tsri_model_weight *weight = tsri_model_weight_at(j->model->weights, wanted->id);
    const tsri_io_array *array = weight && weight->n_parts == 1 ? weight->parts[0].array : NULL;
    if (!array || !has_shape(array, wanted) || strlen(array->name) >= sizeof wanted->name)
        return NULL;
    snprintf(wanted->name, sizeof wanted->name, "%s", array->name);
    return array;
}

/* Whether the stored classifier has exactly these labels, in this order, and of the same things:
 * texts or words. */
static bool same_labels(const job *j) {
    const tsri_model_spec *spec = &j->model->spec;
    bool same = spec->labels == (int32_t)j->options->n_labels && spec->label_of &&
                spec->label_tokens == (j->options->objective == TSRI_OBJECTIVE_TOKENS);
    for (int32_t i = 0; same && i < spec->labels; i++)
        same = !strcmp(spec->label_of[i], j->options->labels[i]);
    return same;
}

/* Adapters learn beside the layers alone, and they alone are kept. */
static tsr_status fail_new_head(const job *j) {
    static const char *const head[] = {
        [TSRI_OBJECTIVE_MASKED] = "head that fills masks",
        [TSRI_OBJECTIVE_CLASSIFY] = "classifier of texts with these labels",
        [TSRI_OBJECTIVE_TOKENS] = "classifier of words with these labels"};
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "lora_rank trains no new head, and %s lacks a %s: train the head first "
                          "(--head-only), then the adapters on its result",
                          j->model->path, head[j->options->objective]);
}

static tsr_status match_arrays(job *j) {
    const bool keep_label = same_labels(j);
    TRY(tsri_base_new(j->wanted.count, sizeof *j->stored, &j->stored));
    for (size_t i = 0; i < j->wanted.count; i++) {
        tsri_model_wanted_array *wanted = &j->wanted.items[i];
        const bool label = wanted->id == TSRI_WEIGHT_LABEL || wanted->id == TSRI_WEIGHT_LABEL_BIAS;
        const tsri_io_array *array = find_array(j, wanted->name);
        if (!array && (!label || keep_label))
            array = find_other(j, wanted);
        if (array && (!label || keep_label) && has_shape(array, wanted))
            j->stored[i] = array;
        else if (!is_head(wanted->id))
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: tensor \"%s\" %s; a new head needs a model with all its "
                                  "layers",
                                  j->model->archive->path, wanted->name,
                                  array ? "has another shape" : "is missing");
        else if (j->options->no_new_head)
            return fail_new_head(j);
    }
    return TSR_OK;
}

/* Takes all arrays as they are, for objectives that need no new head. */
static tsr_status take_all(job *j) {
    const tsri_io_archive *archive = j->model->archive;
    TRY(tsri_base_new(archive->n_arrays, sizeof *j->wanted.items, &j->wanted.items));
    TRY(tsri_base_new(archive->n_arrays, sizeof *j->stored, &j->stored));
    for (size_t i = 0; i < archive->n_arrays; i++) {
        tsri_model_wanted_array *wanted = &j->wanted.items[j->wanted.count];
        const tsri_io_array *array = &archive->arrays[i];
        if (array->rank > 2 || array->rank < 1)
            continue; /* a buffer, such as a causal mask, which is not a weight */
        wanted->rank = array->rank;
        memcpy(wanted->dims, array->dims, sizeof wanted->dims);
        if ((size_t)snprintf(wanted->name, sizeof wanted->name, "%s", array->name) >=
            sizeof wanted->name)
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: the name of tensor \"%.60s...\" is too long", archive->path,
                                  array->name);
        j->stored[j->wanted.count++] = array;
    }
    return TSR_OK;
}

static tsr_status choose_arrays(job *j) {
    static const char *const does[] = {[TSRI_OBJECTIVE_MASKED] = "fills masks",
                                       [TSRI_OBJECTIVE_CLASSIFY] = "classifies",
                                       [TSRI_OBJECTIVE_TOKENS] = "labels tokens"};
    const char *what = does[j->options->objective];
    j->wanted.heads = tsri_train_init_heads(j->arch, j->options->objective);
    if (!what)
        return take_all(j);
    if (!j->wanted.heads || j->spec.decoder.layers)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: a %s model has no head that %s; encoders like BERT have one",
                              j->model->path, j->arch->name, what);
    TRY(tsri_model_weights_wanted(j->arch, &j->spec, &j->wanted));
    return match_arrays(j);
}

/* ---- the folder ---- */

static tsr_status write_folder(job *j, tsri_train_made *made) {
    const char *folder = j->options->folder;
    const char *slash = tsri_system_last_slash(j->folder);
    char origin[192], *from = tsri_base_join(j->folder, "generation_config.json");
    tsr_status status = from ? tsri_base_make_folders(folder) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = tsri_train_copy_tokenizer(
            j->options->tokenizer ? j->options->tokenizer : j->folder, folder);
    if (status == TSR_OK && tsri_base_is_file(from)) {
        json_t *object = NULL;
        status = tsri_base_json_load(from, CONFIG_BYTES, CONFIG_DEPTH, &object);
        if (status == TSR_OK)
            status = tsri_train_write_json(folder, "generation_config.json", object);
        json_decref(object);
    }
    if (status == TSR_OK)
        status = tsri_train_write_json(folder, "config.json", j->config);
    if (status == TSR_OK)
        status = tsri_train_init_weights(j->options, &j->spec, &j->wanted, j->model->archive,
                                         j->stored, &made->parameters);
    free(from);
    TRY(status);
    snprintf(origin, sizeof origin, "the model %.160s", slash && slash[1] ? slash + 1 : j->folder);
    return tsri_train_write_card(folder, origin, j->options->objective, made);
}

tsr_status tsri_train_init_from(const char *model, const tsri_train_init_options *options,
                                tsri_train_made *made) {
    const tsri_model_options open = {.slots = 1};
    job j = {.options = options};
    char *path = NULL;
    tsri_model_spec_defaults(&j.spec);
    tsr_status status = tsri_model_locate(model, &path);
    if (status == TSR_OK)
        status = tsri_model_open(path, &open, &j.model);
    if (status == TSR_OK)
        status = make_config(&j, made);
    if (status == TSR_OK)
        status = choose_arrays(&j);
    if (status == TSR_OK) {
        const char *end = strrchr(j.model->config_name, '/');
        j.folder = tsri_base_copy_text(j.model->config_name,
                                       end ? (size_t)(end - j.model->config_name) : 0);
        status = j.folder ? write_folder(&j, made) : TSR_E_HOST_MEMORY;
    }
    free(j.stored);
    free(j.wanted.items);
    free(j.folder);
    json_decref(j.config);
    tsri_model_spec_clear(&j.spec);
    tsri_model_close(&j.model);
    free(path);
    return status;
}
