/* train/run/run_json.c - what a run was asked to do: from its options, or from the run.json in OUT.
 */
#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "text/base/unicode.h"
#include "train/run/job.h"

#include <stdlib.h>
#include <string.h>

enum { RUN_BYTES = 16 << 20, DEPTH = 16, FORMAT = 1 };

static const char *const tasks[] = {"",          "generate", "fill-mask",
                                    "translate", "classify", "classify-tokens"};

const char *tsri_train_task_name(tsri_training_objective objective) {
    static const tsr_train_task of[] = {[TSRI_OBJECTIVE_NEXT] = TSR_TRAIN_GENERATE,
                                        [TSRI_OBJECTIVE_MASKED] = TSR_TRAIN_FILL_MASK,
                                        [TSRI_OBJECTIVE_TRANSLATE] = TSR_TRAIN_TRANSLATE,
                                        [TSRI_OBJECTIVE_CLASSIFY] = TSR_TRAIN_CLASSIFY,
                                        [TSRI_OBJECTIVE_TOKENS] = TSR_TRAIN_CLASSIFY_TOKENS};
    return tasks[of[objective]];
}

static json_t *list_of(const char *const *items, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        tsri_base_json_append(list, json_string(items[i]));
    return list;
}

const char *tsri_train_run_json_text(const tsri_train_job *job, const char *key) {
    const char *text = json_string_value(json_object_get(job->run, key));
    return text && *text ? text : NULL;
}

bool tsri_train_run_json_head_only(const tsri_train_job *job) {
    return json_is_true(json_object_get(job->run, "head_only"));
}

tsr_status tsri_train_run_json_list(const tsri_train_job *job, const char *key, const char ***list,
                                    size_t *n) {
    const json_t *held = json_object_get(job->run, key);
    *n = json_array_size(held);
    TRY(tsri_base_new(*n, sizeof **list, list));
    for (size_t i = 0; i < *n; i++)
        (*list)[i] = json_string_value(json_array_get(held, i));
    return TSR_OK;
}

/* ---- settings ---- */

/* Applies the recipe's settings, then each --set. Keys of the recipe's own tables are listed in
 * `own`. */
static tsr_status apply_sets(tsri_train_job *job, json_t *own) {
    const tsri_train_keys *table = tsri_train_settings_keys();
    for (size_t i = 0; i < job->options->n_set; i++) {
        const char *set = job->options->set[i], *value;
        char name[TSRI_TRAIN_KEY_NAME];
        TRY(tsri_train_key_split(set, name, &value));
        const tsri_train_key *key = tsri_train_key_find(table, name);
        bool taken = false;
        if (key)
            TRY(tsri_train_key_set(key, &job->settings, value));
        else if (job->recipe)
            TRY(tsri_train_recipe_set(job->recipe, name, value, &taken));
        if (taken)
            tsri_base_json_append(own, json_string(set));
        const tsri_train_keys *tables[] = {table, tsri_train_recipe_keys()};
        if (!key && !taken)
            return tsri_train_key_unknown(tables, job->recipe ? 2 : 1, name);
    }
    return TSR_OK;
}

static tsr_status apply_recipe(tsri_train_job *job) {
    char what[256];
    snprintf(what, sizeof what, "%.200s: \"training\"", job->recipe->path);
    return tsri_train_key_set_object(tsri_train_settings_keys(), &job->settings,
                                     tsri_train_recipe_settings(job->recipe), what);
}

/* ---- a new run ---- */

/* run.json is JSON, so it holds no other bytes than UTF-8. */
static tsr_status check_names(const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (names[i] && !tsri_text_utf8_valid(names[i], strlen(names[i])))
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "%s is not UTF-8, which run.json can't keep for --resume; give "
                                  "the file or folder another name",
                                  names[i]);
    return TSR_OK;
}

static tsr_status check_options(const tsr_train_options *o) {
    if (!o->recipe == !o->model)
        return tsri_base_fail(
            TSR_E_ARGUMENT, o->recipe ? "--recipe starts from scratch, --model goes on training a "
                                        "model: give one of them, not both"
                                      : "give --recipe NAME (to start from scratch) or --model "
                                        "FOLDER (to go on training a model)");
    if (!o->n_data)
        return tsri_base_fail(TSR_E_ARGUMENT, "no data: give a file to learn from");
    TRY(check_names(&o->recipe, 1));
    TRY(check_names(&o->model, 1));
    TRY(check_names(o->data, o->n_data));
    TRY(check_names(o->validation, o->n_validation));
    return check_names(o->set, o->n_set);
}

static tsr_status new_run(tsri_train_job *job) {
    const tsr_train_options *o = job->options;
    TRY(check_options(o));
    tsri_train_key_defaults(tsri_train_settings_keys(), &job->settings);
    if (o->recipe)
        TRY(tsri_train_recipe_open(o->recipe, &job->recipe));
    if (job->recipe)
        TRY(apply_recipe(job));
    json_t *own = json_array();
    const tsr_status status = apply_sets(job, own);
    job->run = json_pack("{s:i,s:s,s:s,s:s,s:b,s:o,s:o,s:o}", "format", FORMAT, "recipe",
                         o->recipe ? o->recipe : "", "model", o->model ? o->model : "", "task",
                         tasks[o->task < sizeof tasks / sizeof *tasks ? o->task : 0], "head_only",
                         (int)o->head_only, "data", list_of(o->data, o->n_data), "validation",
                         list_of(o->validation, o->n_validation), "architecture", own);
    if (status == TSR_OK && !job->run)
        return tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory");
    return status;
}

/* ---- a run that goes on ---- */

static tsr_status must_be(const char *key, const char *given, const char *then) {
    if (!given || !*given || !strcmp(given, then ? then : ""))
        return TSR_OK;
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "%s %s: this run began with %s; give the same to --resume, or begin in a "
                          "new folder",
                          key, given, then && *then ? then : "none");
}

/* Opens the recipe as it was: its file, and the values that --set gave. */
static tsr_status reopen_recipe(tsri_train_job *job) {
    const char *name = tsri_train_run_json_text(job, "recipe"), **sets;
    size_t n;
    bool taken;
    if (!name)
        return TSR_OK;
    TRY(tsri_train_recipe_open(name, &job->recipe));
    TRY(tsri_train_run_json_list(job, "architecture", &sets, &n));
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < n && status == TSR_OK; i++) {
        char key[64] = "";
        const size_t length = strcspn(sets[i], "=");
        if (length < sizeof key && sets[i][length]) {
            memcpy(key, sets[i], length);
            status = tsri_train_recipe_set(job->recipe, key, sets[i] + length + 1, &taken);
        }
    }
    free(sets);
    return status;
}

static tsr_status finish_recipe(tsri_train_job *job) {
    return job->recipe ? tsri_train_recipe_finish(job->recipe, job->settings.block_size) : TSR_OK;
}

tsr_status tsri_train_run_json_recipe(tsri_train_job *job) {
    if (job->recipe)
        return TSR_OK;
    TRY(reopen_recipe(job));
    return finish_recipe(job);
}

/* Whether what is given again can be compared only with the recipe itself. */
static bool gives_recipe(const tsr_train_options *o) {
    bool gives = o->recipe;
    for (size_t i = 0; i < o->n_set && !gives; i++) {
        char name[TSRI_TRAIN_KEY_NAME];
        const char *value;
        gives = tsri_train_key_split(o->set[i], name, &value) == TSR_OK &&
                tsri_train_key_find(tsri_train_recipe_keys(), name);
    }
    return gives;
}

/* Applies the settings given now over the old ones; only harmless ones may differ. */
static tsr_status compare_settings(tsri_train_job *job) {
    char harmless[512];
    const tsri_train_settings then = job->settings;
    json_t *own = json_array();
    if (job->options->recipe && job->recipe) { /* then its settings are given again, too */
        tsri_train_key_defaults(tsri_train_settings_keys(), &job->settings);
        TRY(apply_recipe(job));
    }
    tsr_status status = apply_sets(job, own);
    if (status == TSR_OK)
        status = tsri_train_settings_resume(&then, &job->settings, harmless, sizeof harmless);
    const json_t *before = json_object_get(job->run, "architecture");
    const bool again = job->options->recipe || json_array_size(own);
    if (status == TSR_OK && again && !json_equal(own, before))
        status =
            tsri_base_fail(TSR_E_ARGUMENT, "--set changes the model's keys, which this run began "
                                           "with; give the same to --resume, or begin in a "
                                           "new folder");
    json_decref(own);
    if (status == TSR_OK && *harmless)
        tsri_train_say(job, TSR_TRAIN_NOTE, "goes on with changed settings: %s", harmless);
    return status;
}

static tsr_status old_run(tsri_train_job *job, const char *path) {
    const tsr_train_options *o = job->options;
    int64_t format = 0;
    bool head_only = false;
    TRY(tsri_base_json_load(path, RUN_BYTES, DEPTH, &job->run));
    TRY(tsri_base_json_int(job->run, path, "format", FORMAT, FORMAT, &format));
    TRY(tsri_base_json_bool(job->run, path, "head_only", &head_only));
    tsri_train_key_defaults(tsri_train_settings_keys(), &job->settings);
    TRY(tsri_train_key_set_object(tsri_train_settings_keys(), &job->settings,
                                  json_object_get(job->run, "settings"), path));
    TRY(must_be("--recipe", o->recipe, tsri_train_run_json_text(job, "recipe")));
    TRY(must_be("--model", o->model, tsri_train_run_json_text(job, "model")));
    TRY(must_be("--task", tasks[o->task < sizeof tasks / sizeof *tasks ? o->task : 0],
                tsri_train_run_json_text(job, "task")));
    if (o->head_only && !head_only)
        return must_be("--head-only", "given", "all weights");
    if (o->n_data)
        tsri_base_json_put(job->run, "data", list_of(o->data, o->n_data));
    if (o->n_validation)
        tsri_base_json_put(job->run, "validation", list_of(o->validation, o->n_validation));
    if (gives_recipe(o))
        TRY(reopen_recipe(job));
    return compare_settings(job);
}

/* A recipe makes all weights anew, so all of them must learn. */
static tsr_status check_learns(const tsri_train_job *job) {
    const char *part = tsri_train_run_json_head_only(job) ? "--head-only"
                       : job->settings.lora_rank > 0      ? "lora_rank"
                                                          : NULL;
    if (!part || !tsri_train_run_json_text(job, "recipe"))
        return TSR_OK;
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "%s needs --model: with --recipe, all weights are new and must learn",
                          part);
}

tsr_status tsri_train_run_json(tsri_train_job *job) {
    char *path = tsri_base_join(job->out, "run.json");
    if (!path)
        return TSR_E_HOST_MEMORY;
    job->goes_on = job->options->resume && tsri_base_is_file(path);
    if (job->options->resume && !job->goes_on)
        tsri_train_say(job, TSR_TRAIN_NOTE, "%s holds no run yet: a new one begins",
                       job->options->output);
    tsr_status status = job->goes_on ? old_run(job, path) : new_run(job);
    free(path);
    if (status == TSR_OK)
        status = check_learns(job);
    return status == TSR_OK ? finish_recipe(job) : status;
}

tsr_status tsri_train_run_json_save(const tsri_train_job *job) {
    tsri_base_json_put(job->run, "task", json_string(tsri_train_task_name(job->objective)));
    tsri_base_json_put(job->run, "settings",
                       tsri_train_key_object(tsri_train_settings_keys(), &job->settings));
    char *path = tsri_base_join(job->out, "run.json");
    const tsr_status status =
        path ? tsri_base_json_save(path, job->run, JSON_INDENT(1) | JSON_REAL_PRECISION(17))
             : TSR_E_HOST_MEMORY;
    free(path);
    return status;
}
