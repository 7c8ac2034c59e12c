/* train/checkpoint/companions.c - keeps the files that a model's folder needs beside its weights
 * in memory, and writes them into checkpoints. */
#include "train/checkpoint/companions.h"

#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/load/sentence.h"
#include "model/tokens/tokens.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 << 20, DEPTH = 64 };

static const char config_name[] = "config.json";

typedef struct reading {
    const char *folder, *module; /* module: a folder in it, of which all files are taken; or NULL */
    bool card;
    void (*warn)(void *data, const char *sentence);
    void *warn_data;
    tsri_train_companions *out;
} reading;

bool tsri_train_accompanies(const char *name) {
    static const char *const others[] = {".index.json",         "run.json",
                                         "manifest.json",       "trainer_state.json",
                                         "adapter_config.json", "README.txt"};
    static const char *const ends[] = {".json", ".txt", ".model", ".spm", ".jinja", ".bpe"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (tsri_base_ends_with(name, others[i]))
            return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (tsri_base_ends_with(name, ends[i]))
            return name[0] != '.';
    for (const char *const *file = tsri_model_tokenizer_files; *file; file++)
        if (!strcmp(name, *file))
            return true;
    return false;
}

/* Makes config.json state the dtype that the weights have now. */
static tsr_status set_dtype(const char *path, tsri_bytes *data) {
    static const char *const names[] = {"dtype", "torch_dtype"};
    json_t *config = NULL;
    bool changed = false, lost = false;
    TRY(tsri_base_json_parse(data->data, data->size, DEPTH, path, &config));
    for (int i = 0; i < 2; i++) {
        json_t *held = json_object_get(config, names[i]);
        if (json_is_string(held) && strcmp(json_string_value(held), "float32") != 0) {
            lost |= json_string_set(held, "float32") != 0;
            changed = true;
        }
    }
    char *text = NULL;
    if (changed && !lost)
        text = tsri_base_json_print(config, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    tsr_status status = TSR_OK;
    if (changed && !text)
        status = tsri_base_fail(TSR_E_HOST_MEMORY, "%s: out of host memory", path);
    if (text) {
        tsri_base_bytes_clear(data);
        status = tsri_base_bytes_append(data, text, strlen(text));
        if (status == TSR_OK)
            status = tsri_base_bytes_append(data, "\n", 1);
    }
    free(text);
    json_decref(config);
    return status;
}

static tsr_status add(const reading *r, const char *name, const char *path) {
    tsri_train_companions *out = r->out;
    TRY(tsri_base_grow(&out->items, &out->room, out->n + 1, sizeof *out->items));
    tsri_train_companion *item = &out->items[out->n];
    *item = (tsri_train_companion){.name = r->module ? tsri_base_join(r->module, name)
                                                     : tsri_base_copy_text(name, strlen(name))};
    if (!item->name)
        return TSR_E_HOST_MEMORY;
    out->n++;
    TRY(tsri_base_read_whole(path, MOST, &item->data));
    return strcmp(item->name, config_name) ? TSR_OK : set_dtype(path, &item->data);
}

/* Whether it is small enough to be a model's own file; a larger one is probably somebody's text. */
static tsr_status is_small(const reading *r, const char *path, bool *small) {
    tsri_file *file = NULL;
    TRY(tsri_base_file_open(path, &file));
    *small = file->size <= MOST;
    if (!*small) {
        tsri_bytes sentence = {0};
        if (tsri_base_bytes_printf(&sentence,
                                   "%s has %" PRIu64 " MiB, which is too large for a file of "
                                   "settings: it is not copied into checkpoints",
                                   path, file->size >> 20) == TSR_OK)
            r->warn(r->warn_data, sentence.data);
        tsri_base_bytes_clear(&sentence);
    }
    tsri_base_file_close(&file);
    return TSR_OK;
}

static bool is_wanted(const reading *r, const char *name) {
    return r->module ? name[0] != '.'
                     : tsri_train_accompanies(name) || (r->card && !strcmp(name, "README.md"));
}

static tsr_status read_one(void *data, const char *name) {
    const reading *r = data;
    bool small = false;
    if (!is_wanted(r, name))
        return TSR_OK;
    char *path = tsri_base_join(r->folder, name);
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && tsri_base_is_file(path))
        status = is_small(r, path, &small);
    if (status == TSR_OK && small)
        status = add(r, name, path);
    free(path);
    return status;
}

static tsr_status read_module(void *data, const char *name) {
    const reading *whole = data;
    char *folder = tsri_base_join(whole->folder, name);
    tsr_status status = folder ? TSR_OK : TSR_E_HOST_MEMORY;
    reading r = *whole;
    r.folder = folder;
    r.module = name;
    if (status == TSR_OK && tsri_base_is_folder(folder))
        status = tsri_base_folder_visit(folder, read_one, &r);
    free(folder);
    return status;
}

tsr_status tsri_train_companions_read(const char *folder, bool card,
                                      void (*warn)(void *data, const char *sentence),
                                      void *warn_data, tsri_train_companions *out) {
    reading r = {.folder = folder, .card = card, .warn = warn, .warn_data = warn_data, .out = out};
    TRY(tsri_base_folder_visit(folder, read_one, &r));
    TRY(read_module(&r, tsri_model_more_templates));
    return tsri_model_sentence_visit(folder, read_module, &r);
}

tsr_status tsri_train_companions_write(const tsri_train_companions *companions,
                                       const char *folder) {
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < companions->n && status == TSR_OK; i++) {
        const tsri_train_companion *item = &companions->items[i];
        char *path = tsri_base_join(folder, item->name);
        status = path ? tsri_base_folder_make_parent(path) : TSR_E_HOST_MEMORY;
        if (status == TSR_OK)
            status = tsri_base_write_whole(path, item->data.data, item->data.size);
        free(path);
    }
    return status;
}

void tsri_train_companions_clear(tsri_train_companions *companions) {
    for (size_t i = 0; i < companions->n; i++) {
        free(companions->items[i].name);
        tsri_base_bytes_clear(&companions->items[i].data);
    }
    free(companions->items);
    *companions = (tsri_train_companions){0};
}
