/* train/checkpoint/checkpoint.c - writes, checks, finds, prunes and publishes OUT/checkpoint-N. */
#include "train/checkpoint/checkpoint.h"

#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/system/paths.h"
#include "transport/ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANIFEST_BYTES = 64 << 20, CONFIG_BYTES = 16 << 20, DEPTH = 64, FORMAT = 1 };

static const char manifest_name[] = "manifest.json", state_name[] = "state.safetensors",
                  model_name[] = "model.safetensors", adapter_name[] = "adapter_model.safetensors";

char *tsri_train_checkpoint_path(const char *out, int64_t step) {
    char name[64];
    snprintf(name, sizeof name, "checkpoint-%" PRId64, step);
    return tsri_base_join(out, name);
}

/* The step of "checkpoint-N", or -1. */
static int64_t step_of(const char *name) {
    static const char start[] = "checkpoint-";
    if (strncmp(name, start, sizeof start - 1) != 0)
        return -1;
    const char *digits = name + sizeof start - 1;
    const size_t n = strspn(digits, "0123456789");
    return n == 0 || n > 18 || digits[n] ? -1 : strtoll(digits, NULL, 10);
}

/* ---- writing ---- */

/* adapter_config.json says which model the adapters belong to. */
static tsr_status name_base(const char *folder, const char *base) {
    json_t *config = NULL;
    char *path = tsri_base_join(folder, "adapter_config.json");
    tsr_status status =
        path ? tsri_base_json_load(path, CONFIG_BYTES, DEPTH, &config) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK) {
        tsri_base_json_put(config, "base_model_name_or_path", json_string(base ? base : ""));
        tsri_base_json_put(config, "inference_mode", json_true());
        status = tsri_base_json_save(path, config, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    }
    json_decref(config);
    free(path);
    return status;
}

static bool is_first(const tsri_train_kept *kept) {
    return tsri_ranks_rank(kept->ranks) == 0;
}

tsr_status tsri_train_checkpoint_write_model(const tsri_train_kept *kept, const char *folder) {
    const bool adapter = kept->settings->lora_rank > 0;
    char *path = tsri_base_join(folder, adapter ? adapter_name : model_name);
    tsr_status status = path ? tsri_training_save(kept->training, path) : TSR_E_HOST_MEMORY;
    free(path);
    if (status != TSR_OK || !is_first(kept))
        return status;
    return adapter ? name_base(folder, kept->base)
                   : tsri_train_companions_write(kept->companions, folder);
}

typedef struct listing {
    const char *folder;
    json_t *files;
} listing;

static tsr_status list_file(void *data, const char *name) {
    listing *l = data;
    uint64_t size;
    char hex[65], *path = tsri_base_join(l->folder, name);
    tsr_status status = path ? tsri_base_file_digest(path, &size, hex) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        tsri_base_json_put(l->files, name,
                           json_pack("{s:I,s:s}", "size", (json_int_t)size, "sha256", hex));
    free(path);
    return status;
}

/* JSON can't write NAN: null stands for it. */
static json_t *real_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static tsr_status write_manifest(const tsri_train_kept *kept, const tsri_train_position *p,
                                 const char *folder) {
    listing l = {.folder = folder, .files = json_object()};
    char *path = tsri_base_join(folder, manifest_name);
    tsr_status status =
        path ? tsri_base_folder_visit_files(folder, list_file, &l) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK) {
        json_t *all = json_pack(
            "{s:i,s:I,s:I,s:f,s:o,s:o,s:o,s:I,s:I,s:I,s:s,s:o,s:O}", "format", FORMAT, "step",
            (json_int_t)p->step, "tokens", (json_int_t)p->tokens, "seconds", p->seconds, "loss",
            real_or_null(p->loss), "eval_loss", real_or_null(p->eval_loss), "best",
            real_or_null(p->best), "best_step", (json_int_t)p->best_step, "without_better",
            (json_int_t)p->without_better, "eval_step", (json_int_t)p->eval_step, "data",
            kept->identity, "settings",
            tsri_train_key_object(tsri_train_settings_keys(), kept->settings), "files", l.files);
        if (*kept->frozen->base)
            tsri_base_json_put(all, "base", json_string(kept->frozen->base));
        if (*kept->frozen->teacher)
            tsri_base_json_put(all, "teacher", json_string(kept->frozen->teacher));
        status = tsri_base_json_save(path, all, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
        json_decref(all);
    }
    json_decref(l.files);
    free(path);
    return status;
}

/* What only one rank does when all have written their slices. */
static tsr_status complete(const tsri_train_kept *kept, const tsri_train_position *position,
                           const char *temporary, const char *folder) {
    TRY(write_manifest(kept, position, temporary));
    TRY(tsri_base_folder_sync(temporary));
    TRY(tsri_base_folder_remove(folder, manifest_name));
    return tsri_base_folder_rename(temporary, folder);
}

static void discard(const char *temporary, tsr_status status) {
    const tsri_base_kept why = tsri_base_keep();
    (void)tsri_base_folder_remove(temporary, NULL);
    tsri_base_restore(status, &why);
}

tsr_status tsri_train_checkpoint_write(const tsri_train_kept *kept,
                                       const tsri_train_position *position) {
    tsri_bytes temporary = {0};
    char *folder = tsri_train_checkpoint_path(kept->out, position->step), *state = NULL;
    tsr_status status =
        folder ? tsri_base_bytes_printf(&temporary, "%s.tmp", folder) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && !(state = tsri_base_join(temporary.data, state_name)))
        status = TSR_E_HOST_MEMORY;
    if (status == TSR_OK &&
        is_first(kept)) /* the others find it when rank 0 has made a file in it */
        status = tsri_base_folder_anew(temporary.data);
    if (status == TSR_OK)
        status = tsri_train_checkpoint_write_model(kept, temporary.data);
    if (status == TSR_OK)
        status = tsri_train_state_write(kept->training, kept->ranks, state);
    if (status == TSR_OK && is_first(kept))
        status = complete(kept, position, temporary.data, folder);
    if (status != TSR_OK && temporary.data && is_first(kept))
        discard(temporary.data, status);
    free(state);
    free(folder);
    tsri_base_bytes_clear(&temporary);
    return status;
}

/* ---- reading ---- */

static tsr_status load_manifest(const char *folder, json_t **out) {
    char *path = tsri_base_join(folder, manifest_name);
    tsr_status status =
        path ? tsri_base_json_load(path, MANIFEST_BYTES, DEPTH, out) : TSR_E_HOST_MEMORY;
    int64_t format = 0, step = -1;
    const char *slash = tsri_system_last_slash(folder);
    if (status == TSR_OK)
        status = tsri_base_json_int(*out, path, "format", 0, INT64_MAX, &format);
    if (status == TSR_OK)
        status = tsri_base_json_int(*out, path, "step", 0, INT64_MAX, &step);
    if (status == TSR_OK && format != FORMAT)
        status = tsri_base_fail(TSR_E_FORMAT,
                                "%s: its format is %" PRId64 "; this version reads format %d only",
                                path, format, FORMAT);
    if (status == TSR_OK && step != step_of(slash ? slash + 1 : folder))
        status = tsri_base_fail(TSR_E_FORMAT,
                                "%s: it says step %" PRId64 ", but its folder's name does not",
                                path, step);
    if (status != TSR_OK) {
        json_decref(*out);
        *out = NULL;
    }
    free(path);
    return status;
}

static tsr_status check_file(const char *path, const json_t *wanted) {
    uint64_t size;
    int64_t want = -1;
    const char *sha256 = "";
    char hex[65];
    TRY(tsri_base_json_int(wanted, path, "size", 0, INT64_MAX, &want));
    TRY(tsri_base_json_text(wanted, path, "sha256", &sha256));
    TRY(tsri_base_file_digest(path, &size, hex));
    if (size != (uint64_t)want)
        return tsri_base_fail(TSR_E_FORMAT, "%s has %" PRIu64 " bytes; its manifest says %" PRId64,
                              path, size, want);
    if (strcmp(hex, sha256) != 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s is damaged: its SHA-256 differs from the manifest's", path);
    return TSR_OK;
}

/* Whether it is the name of a file in a checkpoint's folder, or in a folder in it. */
static bool lies_inside(const char *name) {
    const char *slash = strchr(name, '/');
    return !slash || (slash > name && strncmp(name, "../", 3) != 0 && !strchr(slash + 1, '/'));
}

tsr_status tsri_train_checkpoint_check(const char *folder) {
    json_t *manifest = NULL, *wanted;
    const char *name;
    TRY(load_manifest(folder, &manifest));
    json_t *files = json_object_get(manifest, "files");
    tsr_status status = TSR_OK;
    if (!json_object_get(files, state_name))
        status =
            tsri_base_fail(TSR_E_FORMAT, "%s: its manifest does not list %s", folder, state_name);
    if (status == TSR_OK) {
        json_object_foreach(files, name, wanted) {
            char *path = tsri_base_join(folder, name);
            status = !path ? TSR_E_HOST_MEMORY
                     : !lies_inside(name)
                         ? tsri_base_fail(TSR_E_FORMAT,
                                          "%s: its manifest lists \"%s\", which is "
                                          "not the name of a file in this folder",
                                          folder, name)
                         : check_file(path, wanted);
            free(path);
            if (status != TSR_OK)
                break;
        }
    }
    json_decref(manifest);
    return status;
}

static double real_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

tsr_status tsri_train_checkpoint_position(const char *folder, tsri_train_position *p,
                                          char **identity) {
    json_t *manifest = NULL;
    const char *data = "";
    TRY(load_manifest(folder, &manifest));
    *p = (tsri_train_position){.loss = real_of(manifest, "loss"),
                               .eval_loss = real_of(manifest, "eval_loss"),
                               .best = real_of(manifest, "best")};
    const struct {
        const char *key;
        int64_t *out;
    } whole[] = {{"step", &p->step},
                 {"tokens", &p->tokens},
                 {"best_step", &p->best_step},
                 {"without_better", &p->without_better},
                 {"eval_step", &p->eval_step}};
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < sizeof whole / sizeof *whole && status == TSR_OK; i++)
        status = tsri_base_json_int(manifest, folder, whole[i].key, 0, INT64_MAX, whole[i].out);
    if (status == TSR_OK)
        status = tsri_base_json_real(manifest, folder, "seconds", 0, 1e15, &p->seconds);
    if (status == TSR_OK)
        status = tsri_base_json_text(manifest, folder, "data", &data);
    if (status == TSR_OK && !(*identity = tsri_base_copy_text(data, strlen(data))))
        status = TSR_E_HOST_MEMORY;
    json_decref(manifest);
    return status;
}

static tsr_status read_hash(const json_t *manifest, const char *folder, const char *key,
                            char hex[65]) {
    const char *text = "";
    TRY(tsri_base_json_text(manifest, folder, key, &text));
    snprintf(hex, 65, "%s", text);
    return TSR_OK;
}

tsr_status tsri_train_checkpoint_frozen(const char *folder, tsri_train_frozen *out) {
    json_t *manifest = NULL;
    TRY(load_manifest(folder, &manifest));
    tsr_status status = read_hash(manifest, folder, "base", out->base);
    if (status == TSR_OK)
        status = read_hash(manifest, folder, "teacher", out->teacher);
    json_decref(manifest);
    return status;
}

typedef struct steps {
    int64_t *items;
    size_t n, room;
} steps;

static tsr_status add_step(void *data, const char *name) {
    steps *s = data;
    const int64_t step = step_of(name);
    if (step < 0)
        return TSR_OK;
    TRY(tsri_base_grow(&s->items, &s->room, s->n + 1, sizeof *s->items));
    s->items[s->n++] = step;
    return TSR_OK;
}

static int newest_first(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static tsr_status list_steps(const char *out, steps *found) {
    const tsr_status status = tsri_base_folder_visit(out, add_step, found);
    if (found->n > 1)
        qsort(found->items, found->n, sizeof *found->items, newest_first);
    return status;
}

static tsr_status set_aside(const char *folder) {
    tsri_bytes aside = {0};
    TRY(tsri_base_bytes_printf(&aside, "%s.damaged", folder));
    tsr_status status = tsri_base_folder_remove(aside.data, NULL);
    if (status == TSR_OK)
        status = tsri_base_folder_rename(folder, aside.data);
    tsri_base_bytes_clear(&aside);
    return status;
}

tsr_status tsri_train_checkpoint_newest(const char *out,
                                        void (*warn)(void *data, const char *sentence),
                                        void *warn_data, char **folder) {
    steps found = {0};
    *folder = NULL;
    tsr_status status = list_steps(out, &found);
    for (size_t i = 0; i < found.n && status == TSR_OK && !*folder; i++) {
        char *path = tsri_train_checkpoint_path(out, found.items[i]);
        const tsr_status whole = path ? tsri_train_checkpoint_check(path) : TSR_E_HOST_MEMORY;
        if (whole == TSR_OK) {
            *folder = path;
            break;
        }
        if (whole == TSR_E_HOST_MEMORY)
            status = whole;
        else {
            warn(warn_data, tsri_base_reported());
            status = set_aside(path);
        }
        free(path);
    }
    free(found.items);
    return status;
}

tsr_status tsri_train_checkpoint_prune(const char *out, int64_t keep, int64_t best_step) {
    steps found = {0};
    tsr_status status = list_steps(out, &found);
    const bool listed = status == TSR_OK;
    for (size_t i = (size_t)keep; keep > 0 && i < found.n && listed; i++) {
        char *path =
            found.items[i] == best_step ? NULL : tsri_train_checkpoint_path(out, found.items[i]);
        const tsr_status removed = path ? tsri_base_folder_remove(path, manifest_name) : TSR_OK;
        status = removed == TSR_OK ? status : removed;
        free(path);
    }
    free(found.items);
    return status;
}

typedef struct publishing {
    const char *from, *to;
    bool weights; /* the second of two passes: the weights; in the first, all other files */
} publishing;

static tsr_status publish_file(void *data, const char *name) {
    const publishing *p = data;
    const bool weights = !strcmp(name, model_name) || !strcmp(name, adapter_name);
    if (!strcmp(name, state_name) || !strcmp(name, manifest_name) || weights != p->weights)
        return TSR_OK;
    char *from = tsri_base_join(p->from, name), *to = tsri_base_join(p->to, name);
    tsr_status status = from && to ? tsri_base_folder_make_parent(to) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = (weights ? tsri_base_file_link : tsri_base_file_copy)(from, to);
    free(from);
    free(to);
    return status;
}

tsr_status tsri_train_checkpoint_publish(const char *folder, const char *out) {
    publishing p = {.from = folder, .to = out};
    TRY(tsri_base_folder_visit_files(folder, publish_file, &p));
    p.weights = true; /* last, so that a folder that has the weights has everything */
    TRY(tsri_base_folder_visit_files(folder, publish_file, &p));
    return tsri_base_folder_sync(out);
}
