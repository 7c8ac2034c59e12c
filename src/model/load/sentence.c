/* model/load/sentence.c - reads the folder of a sentence-transformers model. */
#include "model/load/sentence_modules.h"

#include "base/error.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/system/paths.h"
#include "base/text.h"
#include "io/archive.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- modules ---- */

static tsr_status no_step(const char *folder, tsri_model_sentence *s) {
    (void)folder;
    (void)s;
    return TSR_OK;
}

/* Its vectors are the means of a table's rows, so it stands for a transformer and its pooling. */
static const char table_module[] = "StaticEmbedding";

static const struct module {
    const char *type;
    int first, last; /* the first and last place in the list where it may stand */
    bool step;
    tsr_status (*read)(const char *folder, tsri_model_sentence *s);
} modules[] = {{"Transformer", 0, 0, false, no_step},
               {table_module, 0, 0, false, no_step},
               {"Pooling", 1, 1, false, tsri_model_sentence_pooling},
               {"Dense", 2, TSRI_MODEL_MAX_STEPS + 1, true, tsri_model_sentence_dense},
               {"LayerNorm", 2, TSRI_MODEL_MAX_STEPS + 1, true, tsri_model_sentence_layer_norm},
               {"Normalize", 2, TSRI_MODEL_MAX_STEPS + 1, true, tsri_model_sentence_normalize},
               {"Dropout", 2, TSRI_MODEL_MAX_STEPS + 1, false, no_step}}; /* for training only */

/* "sentence_transformers.models.Pooling" and later spellings. Of modules with code of their own, one is found, in families
 * that are `by_task`: a Transformer that takes a task. */
static const struct module *module_of(const char *type, bool by_task) {
    const char *dot = type ? strrchr(type, '.') : NULL;
    if (by_task && type && !strcmp(type, "custom_st.Transformer"))
        return modules;
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

/* Reads module `number` of the list; where its first one stands for two, the others are at the next place. */
static tsr_status read_module(const char *folder, const char *path, int number, int place,
                              bool by_task, const json_t *entry, tsri_model_sentence *s) {
    const char *type = NULL, *name = NULL;
    if (!json_is_object(entry))
        return tsri_base_fail(TSR_E_FORMAT, "%s: module %d is not an object", path, number);
    TRY(tsri_base_json_text(entry, path, "type", &type));
    TRY(tsri_base_json_text(entry, path, "path", &name));
    if (!type || !name || !is_plain(name))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: module %d needs a \"type\", and a \"path\" in this folder", path,
                              number);
    const struct module *module = module_of(type, by_task);
    if (!module)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: module \"%s\" is not served; Transformer, StaticEmbedding, "
                              "Pooling, Dense, LayerNorm, Normalize and Dropout are",
                              path, type);
    if (place < module->first || place > module->last)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: module %d is %s; Transformer and Pooling or StaticEmbedding, "
            "then Dense, LayerNorm, Normalize and Dropout are served in this order",
            path, number, module->type);
    s->n_steps += module->step;
    char *inside = tsri_base_join(folder, name);
    if (!inside)
        return TSR_E_HOST_MEMORY;
    const tsr_status status = module->read(inside, s);
    free(inside);
    return status;
}

/* Whether the first of a list of modules is a table. */
static bool begins_with_table(const json_t *list) {
    const struct module *first =
        module_of(json_string_value(json_object_get(json_array_get(list, 0), "type")), false);
    return first && first->type == table_module;
}

static tsr_status read_modules(const char *folder, bool by_task, tsri_model_sentence *s) {
    json_t *json = NULL;
    char *path = NULL;
    tsr_status status = tsri_model_sentence_load(folder, "modules.json", &json, &path);
    const size_t n = json_array_size(json), merged = begins_with_table(json);
    if (status == TSR_OK && json && n + merged < 2)
        status = tsri_base_fail(TSR_E_FORMAT,
                                "%s: a list of modules, Transformer and Pooling or StaticEmbedding "
                                "at least, was expected",
                                path);
    s->found = json != NULL;
    for (size_t i = 0; status == TSR_OK && i < n; i++) {
        const size_t place = i ? i + merged : 0;
        status = place > TSRI_MODEL_MAX_STEPS + 1
                     ? tsri_base_fail(TSR_E_UNSUPPORTED, "%s has %zu modules; %zu are served", path,
                                      n, TSRI_MODEL_MAX_STEPS + 2 - merged)
                     : read_module(folder, path, (int)i, (int)place, by_task,
                                   json_array_get(json, i), s);
    }
    json_decref(json);
    free(path);
    return status;
}

/* ---- prompts ---- */

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

static tsr_status read_prompts(const json_t *json, const char *path, tsri_model_sentence *s) {
    json_t *list = json_object_get(json, "prompts");
    if (list && !json_is_null(list) && !json_is_object(list))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"prompts\" is not an object", path);
    if (json_is_object(list))
        TRY(take_prompts(list, path, s));
    return take_default(json, path, s);
}

/* truncate_dim: a vector is cut to so many numbers, after all steps. */
static tsr_status read_cut(const json_t *json, const char *path, tsri_model_sentence *s) {
    int64_t cut = 0;
    TRY(tsri_base_json_int(json, path, "truncate_dim", 1, INT32_MAX, &cut));
    s->cut = (int32_t)cut;
    tsri_model_sentence_set_width(s, s->width);
    return TSR_OK;
}

/* Loads the settings of a sentence-transformers folder as a whole, an object; *out is NULL if it has none. */
static tsr_status load_settings(const char *folder, json_t **out, char **path) {
    TRY(tsri_model_sentence_load(folder, "config_sentence_transformers.json", out, path));
    return *out && !json_is_object(*out)
               ? tsri_base_fail(TSR_E_FORMAT, "%s: an object was expected", *path)
               : TSR_OK;
}

static tsr_status read_settings(const char *folder, tsri_model_sentence *s) {
    json_t *json = NULL;
    char *path = NULL;
    tsr_status status = load_settings(folder, &json, &path);
    if (status == TSR_OK && json)
        status = read_prompts(json, path, s);
    if (status == TSR_OK && json)
        status = read_cut(json, path, s);
    json_decref(json);
    free(path);
    return status;
}

tsr_status tsri_model_sentence_prompt_names(const tsri_model_sentence *s, tsri_bytes *out) {
    for (size_t i = 0; i < s->n_prompts; i++)
        TRY(tsri_base_bytes_printf(out, i ? ", %s" : "%s", s->prompts[i].name));
    return tsri_base_bytes_append(out, "", 0);
}

tsr_status tsri_model_sentence_prompt(const tsri_model_sentence *s, const char *model,
                                      const char *name, const char *text, const char **out) {
    const char *asked = name ? name : s->default_prompt;
    *out = "";
    if (name && text)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the prompt \"%s\" by its name and \"%s\" as a text were asked for: "
                              "give one of them",
                              name, text);
    if (text)
        *out = text;
    if (text || !asked || !*asked)
        return TSR_OK;
    for (size_t i = 0; i < s->n_prompts; i++)
        if (!strcmp(asked, s->prompts[i].name)) {
            *out = s->prompts[i].text;
            return TSR_OK;
        }
    tsri_bytes names = {0};
    tsr_status status = tsri_model_sentence_prompt_names(s, &names);
    if (status == TSR_OK)
        status = tsri_base_fail(TSR_E_ARGUMENT, "%s has no prompt \"%s\"; it has %s", model, asked,
                                s->n_prompts ? names.data : "none");
    tsri_base_bytes_clear(&names);
    return status;
}

/* ---- the whole ---- */

/* The folder above, in new memory: as the path writes it or, where its last part is "." or "..", by "..". */
static char *folder_above(const char *folder) {
    char *path = tsri_base_copy_text(folder, tsri_base_folder_length(folder));
    const char *slash = path ? tsri_system_last_slash(path) : NULL,
               *name = slash ? slash + 1 : path;
    const bool named = path && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    char *above = !path ? NULL : named ? tsri_base_parent(path) : tsri_base_join(path, "..");
    free(path);
    return above;
}

/* Whether the modules.json of a folder names `inner` first. */
static bool names_first(const char *folder, const char *inner) {
    char *first = tsri_model_sentence_transformer(folder), *named = NULL, *asked = NULL;
    const bool same = first && (named = realpath(first, NULL)) && (asked = realpath(inner, NULL)) &&
                      !strcmp(named, asked);
    free(first);
    free(named);
    free(asked);
    return same;
}

tsr_status tsri_model_sentence_place(const char *folder, char **out) {
    char *own = tsri_base_join(folder, "modules.json"), *above = folder_above(folder);
    tsr_status status = own && above ? TSR_OK : TSR_E_HOST_MEMORY;
    *out = NULL;
    if (status == TSR_OK && !tsri_base_is_file(own) && names_first(above, folder)) {
        *out = above;
        above = NULL;
    }
    if (status == TSR_OK && !*out && !(*out = tsri_base_copy_text(folder, strlen(folder))))
        status = TSR_E_HOST_MEMORY;
    free(own);
    free(above);
    return status;
}

/* The pooling that a GGUF file names; -1: it names none. */
static tsr_status read_pooling_type(const tsri_io_archive *archive, int *out) {
    static const int kinds[] = {-1, TSRI_POOLING_MEAN, TSRI_POOLING_FIRST, TSRI_POOLING_LAST,
                                -1 /* rank: a classifier's */};
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
                              "token), 3 (last token) and 4 (rank: a classifier) are",
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
    out->poolings[0] = (tsri_model_pooling)pooling;
    TRY(tsri_model_sentence_gguf_dense(archive, out));
    out->steps[out->n_steps++] =
        (tsri_model_step){.kind = TSRI_STEP_NORMALIZE, .in = out->width, .out = out->width};
    return TSR_OK;
}

static tsr_status read_folder(const char *folder, bool by_task, int64_t context,
                              tsri_model_sentence *out) {
    char *place = NULL;
    bool table = false;
    TRY(tsri_model_sentence_is_table(folder, &table));
    TRY(tsri_model_sentence_place(folder, &place));
    tsr_status status = read_modules(place, by_task, out);
    if (status == TSR_OK && !table)
        status = tsri_model_sentence_text(folder, context, out);
    if (status == TSR_OK)
        status = read_settings(place, out);
    free(place);
    return status;
}

tsr_status tsri_model_sentence_read(const tsri_io_archive *archive, const char *folder,
                                    bool by_task, int32_t width, int64_t context,
                                    tsri_model_sentence *out) {
    *out = (tsri_model_sentence){
        .poolings = {TSRI_POOLING_MEAN}, .n_poolings = 1, .pool_prompt = true, .width = width};
    return archive->format == TSRI_IO_GGUF ? read_gguf(archive, out)
           : folder                        ? read_folder(folder, by_task, context, out)
                                           : TSR_OK;
}

static tsr_status has_modules(const char *folder, bool *out) {
    char *place = NULL;
    TRY(tsri_model_sentence_place(folder, &place));
    char *path = tsri_base_join(place, "modules.json");
    *out = path && tsri_base_is_file(path);
    free(place);
    free(path);
    return path ? TSR_OK : TSR_E_HOST_MEMORY;
}

/* As sentence-transformers does, which follows the settings of a folder with modules.json that was saved as what it is
 * opened as. */
static tsr_status read_pairs(const char *place, const char *folder, tsri_model_sentence *out) {
    json_t *json = NULL;
    char *path = NULL;
    const char *type = NULL;
    tsr_status status = load_settings(place, &json, &path);
    if (status == TSR_OK && json)
        status = tsri_base_json_text(json, path, "model_type", &type);
    const bool saved_so = status == TSR_OK && type && !strcmp(type, "CrossEncoder");
    if (saved_so)
        status = read_prompts(json, path, out);
    if (saved_so && status == TSR_OK)
        status = tsri_model_sentence_in_template(folder, &out->in_template);
    json_decref(json);
    free(path);
    return status;
}

tsr_status tsri_model_sentence_pairs(const tsri_io_archive *archive, const char *folder,
                                     tsri_model_sentence *out) {
    *out = (tsri_model_sentence){0};
    bool found = false;
    char *place = NULL;
    if (!folder || archive->format == TSRI_IO_GGUF)
        return TSR_OK;
    TRY(has_modules(folder, &found));
    if (!found)
        return TSR_OK;
    TRY(tsri_model_sentence_place(folder, &place));
    const tsr_status status = read_pairs(place, folder, out);
    free(place);
    return status;
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

tsr_status tsri_model_sentence_is_table(const char *folder, bool *out) {
    json_t *json = NULL;
    char *place = NULL, *path = NULL;
    TRY(tsri_model_sentence_place(folder, &place));
    const tsr_status status = tsri_model_sentence_load(place, "modules.json", &json, &path);
    *out = status == TSR_OK && begins_with_table(json);
    json_decref(json);
    free(place);
    free(path);
    return status;
}

static tsr_status read_judge(const char *folder, const json_t *list, int32_t *yes, int32_t *no) {
    static const char end[] = ".LogitScore";
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *type = json_string_value(json_object_get(entry, "type")),
                   *name = json_string_value(json_object_get(entry, "path"));
        if (!type || !tsri_base_ends_with(type, end) || !name || !is_plain(name))
            continue;
        json_t *json = NULL;
        int64_t ids[] = {-1, -1};
        char *path = NULL, *inside = tsri_base_join(folder, name);
        tsr_status status = inside ? tsri_model_sentence_load(inside, "config.json", &json, &path)
                                   : TSR_E_HOST_MEMORY;
        if (status == TSR_OK && json)
            status = tsri_base_json_int(json, path, "true_token_id", 0, INT32_MAX, &ids[0]);
        if (status == TSR_OK && json)
            status = tsri_base_json_int(json, path, "false_token_id", 0, INT32_MAX, &ids[1]);
        if (status == TSR_OK && ids[0] < 0)
            status = tsri_base_fail(TSR_E_FORMAT,
                                    "%s: the module LogitScore needs a config.json with "
                                    "\"true_token_id\"",
                                    inside);
        *yes = (int32_t)ids[0];
        *no = (int32_t)ids[1];
        json_decref(json);
        free(path);
        free(inside);
        return status;
    }
    return TSR_OK;
}

tsr_status tsri_model_sentence_judges(const char *folder, int32_t *yes, int32_t *no) {
    json_t *json = NULL;
    char *place = NULL, *path = NULL;
    *yes = *no = -1;
    TRY(tsri_model_sentence_place(folder, &place));
    tsr_status status = tsri_model_sentence_load(place, "modules.json", &json, &path);
    if (status == TSR_OK)
        status = read_judge(place, json, yes, no);
    json_decref(json);
    free(place);
    free(path);
    return status;
}

void tsri_model_sentence_clear(tsri_model_sentence *s) {
    for (int i = 0; i < s->n_steps; i++) {
        free(s->steps[i].weight);
        free(s->steps[i].bias);
        free(s->steps[i].residual);
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
    if (tsri_model_sentence_load(folder, "modules.json", &json, &path) == TSR_OK &&
        tsri_base_json_text(json_array_get(json, 0), path, "path", &name) == TSR_OK && name &&
        *name && is_plain(name))
        inside = tsri_base_join(folder, name);
    json_decref(json);
    free(path);
    return inside;
}

tsr_status tsri_model_sentence_visit(const char *place,
                                     tsr_status (*visit)(void *data, const char *name),
                                     void *data) {
    json_t *json = NULL;
    char *path = NULL;
    tsr_status status = tsri_model_sentence_load(place, "modules.json", &json, &path);
    for (size_t i = 1; status == TSR_OK && i < json_array_size(json); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(json, i), "path"));
        if (name && *name && strcmp(name, ".") != 0 && is_plain(name))
            status = visit(data, name);
    }
    json_decref(json);
    free(path);
    return status;
}
