/* What training reads: recipes, data, checkpoints, logs. */
#include "fuzz.h"

#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "tessera/plot.h"
#include "train/checkpoint/checkpoint.h"
#include "train/data/records.h"
#include "train/recipe/families.h"
#include "train/recipe/recipe.h"
#include "train/step/training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void recipe(const fuzz_part *parts, size_t n) {
    tsri_train_recipe *recipe = NULL;
    tsri_train_settings settings;
    (void)n;
    fuzz_write("x.json", parts[0].data, parts[0].size);
    if (fuzz_is_ok(tsri_train_recipe_open("x.json", &recipe)) &&
        fuzz_is_ok(tsri_train_recipe_finish(recipe, 16))) {
        const tsri_train_config config = {
            .model = &recipe->model, .vocab = 100, .bos = -1, .eos = 1, .pad = -1};
        tsri_train_family family;
        json_t *json = NULL;
        (void)fuzz_is_ok(tsri_train_config_json(&config, &family, &json));
        (void)tsri_train_recipe_specials(recipe);
        json_decref(json);
        tsri_train_key_defaults(tsri_train_settings_keys(), &settings);
        if (fuzz_is_ok(tsri_train_key_set_object(tsri_train_settings_keys(), &settings,
                                                 tsri_train_recipe_settings(recipe), "x.json")))
            json_decref(tsri_train_key_object(tsri_train_settings_keys(), &settings));
    }
    tsri_train_recipe_close(&recipe);
}

/* The same bytes under each name and for each purpose that a file of data can have. */
static void data(const fuzz_part *parts, size_t n) {
    static const char *const names[] = {"x.jsonl", "x.json", "x.csv", "x.tsv", "x.txt"};
    const tsri_train_data_options options = {0};
    (void)n;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fuzz_write(names[i], parts[0].data, parts[0].size);
        for (int wants = TSRI_WANTS_PIECES; wants <= (int)TSRI_WANTS_LABELS; wants++) {
            tsri_train_records *records = NULL;
            tsri_train_record record = {.text.data = ""};
            uint64_t line = 0;
            bool fine = fuzz_is_ok(
                tsri_train_records_open(names[i], &options, (tsri_train_wants)wants, &records));
            while (fine && record.text.data) {
                fine = fuzz_is_ok(tsri_train_records_next(records, &record));
                fuzz_must(!fine || !record.text.data || record.line >= line,
                          "records come in the order of their lines");
                line = fine ? record.line : 0;
            }
            tsri_train_records_close(&records);
        }
    }
}

static void ignore(void *unused, const char *sentence) {
    (void)unused;
    fuzz_must(*sentence, "a warning has a message");
}

/* Makes sizes and hashes in the manifest right, if it lists a file that exists. */
static void write_manifest(const fuzz_part *part) {
    json_t *manifest = json_loadb(part->data, part->size, 0, NULL), *entry;
    json_t *files = json_object_get(manifest, "files");
    const char *name;
    uint64_t size;
    char hex[65], path[128];
    json_object_foreach(files, name, entry) {
        snprintf(path, sizeof path, "out/checkpoint-3/%.60s", name);
        if (!strchr(name, '/') && tsri_base_file_digest(path, &size, hex) == TSR_OK &&
            json_object_get(entry, "sha256")) {
            json_object_set_new(entry, "size", json_integer((json_int_t)size));
            json_object_set_new(entry, "sha256", json_string(hex));
        }
    }
    char *text = files ? json_dumps(manifest, 0) : NULL;
    if (text)
        fuzz_write("out/checkpoint-3/manifest.json", text, strlen(text));
    else
        fuzz_write("out/checkpoint-3/manifest.json", part->data, part->size);
    free(text);
    json_decref(manifest);
    tsri_base_report(TSR_OK, "");
}

/* manifest.json, and a file that it may list. */
static void checkpoint(const fuzz_part *parts, size_t n) {
    tsri_train_position position;
    char *identity = NULL, *newest = NULL;
    for (int i = 0; i < 2; i++)
        (void)tsri_base_folder_remove(i ? "out/checkpoint-3.damaged" : "out/checkpoint-3", NULL);
    fuzz_must(tsri_base_make_folders("out/checkpoint-3") == TSR_OK, "a folder");
    tsri_base_report(TSR_OK, "");
    fuzz_write_part("out/checkpoint-3/state.safetensors", parts, n, 1);
    write_manifest(&parts[0]);
    (void)fuzz_is_ok(tsri_train_checkpoint_check("out/checkpoint-3"));
    (void)fuzz_is_ok(tsri_train_checkpoint_position("out/checkpoint-3", &position, &identity));
    (void)fuzz_is_ok(tsri_train_checkpoint_newest("out", ignore, NULL, &newest));
    free(identity);
    free(newest);
}

static struct learning {
    tsr_engine *engine;
    tsr_device *device;
    tsr_model *model;
    tsri_training *training;
} learning;

static void end_state(void) {
    tsri_training_destroy(&learning.training);
    tsr_model_close(&learning.model);
    tsr_device_close(&learning.device);
    tsr_engine_destroy(&learning.engine);
}

static void begin_state(void) {
    const tsri_training_options options = {.optimizer = TSRI_OPTIMIZER_SGD};
    fuzz_must(mkdir("model", 0700) == 0, "model");
    fuzz_copy_golden("training/gpt2/init/config.json", "model/config.json");
    fuzz_copy_golden("training/gpt2/init/model.safetensors", "model/model.safetensors");
    setenv("TESSERA_BACKEND_PATH", "/nonexistent", 1);
    fuzz_must(tsr_engine_create(NULL, &learning.engine) == TSR_OK &&
                  tsr_device_open(learning.engine, "reference", NULL, &learning.device) == TSR_OK &&
                  tsr_model_open("model", NULL, NULL, &learning.model) == TSR_OK &&
                  tsri_training_create(learning.model, learning.device, &options,
                                       &learning.training) == TSR_OK,
              "a training");
    atexit(end_state);
}

/* Header and data of state.safetensors. */
static void state(const fuzz_part *parts, size_t n) {
    fuzz_write_safetensors("state.safetensors", parts, n);
    (void)fuzz_is_ok(tsri_train_checkpoint_restore(".", learning.training));
}

/* A run's log, and the page that is made from it: its script element must end where the page ends
 * it. */
static void page(const fuzz_part *parts, size_t n) {
    tsr_plot *plot = NULL;
    tsr_plot_log log = {.struct_size = sizeof log};
    tsri_bytes made = {0};
    char name[64] = "run";
    (void)n;
    memcpy(name, parts[0].data, parts[0].size < 60 ? parts[0].size : 60);
    fuzz_write("x.log", parts[0].data, parts[0].size);
    fuzz_must(tsr_plot_create(&plot) == TSR_OK, "a plot");
    if (fuzz_is_ok(tsr_plot_add(plot, "x.log", name, &log)) &&
        fuzz_is_ok(tsr_plot_write_page(plot, "x.html"))) {
        fuzz_must(tsri_base_read_whole("x.html", 1u << 26, &made) == TSR_OK, "the page");
        size_t scripts = 0;
        for (const char *at = made.data; (at = strstr(at, "<script")); at++)
            scripts++;
        for (const char *at = made.data; (at = strstr(at, "</script")); at++)
            scripts--;
        fuzz_must(scripts == 0 && strlen(made.data) == made.size, "the page is whole");
    }
    tsri_base_bytes_clear(&made);
    tsr_plot_destroy(&plot);
}

const fuzz_target fuzz_train_targets[] = {
    {"recipe", NULL, recipe, 1},      {"data", NULL, data, 1}, {"checkpoint", NULL, checkpoint, 2},
    {"state", begin_state, state, 2}, {"page", NULL, page, 1}, {0},
};
