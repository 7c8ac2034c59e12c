/* The files of a model's folder besides its weights. */
#include "fuzz.h"

#include "base/files.h"
#include "model/load/load.h"
#include "model/load/measure.h"
#include "model/load/sentence.h"
#include "model/model.h"
#include "model/weights/coded.h"
#include "task/generate/settings.h"
#include "tessera/generate.h"
#include "tessera/model.h"
#include "tessera/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Measures whatever was opened, so that numbers of the config are multiplied. */
static void open_model(const char *path, const char *const *lora) {
    const tsri_model_options options = {.lora = lora, .n_lora = lora != NULL};
    tsri_model *model = NULL;
    if (fuzz_is_ok(tsri_model_open(path, &options, &model))) {
        tsri_model_measures figures;
        tsri_model_measure(model, &figures);
    }
    tsri_model_close(&model);
}

/* Folders of tests/golden and of the copies. */
static const char *const models[] = {"models/gpt2-tiny", "models/llama-yarn", "models/t5-tiny",
                                     "encoders/masked"};

static void begin_config(void) {
    char path[64];
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        fuzz_must(tsri_base_make_folders(models[i]) == TSR_OK, models[i]);
        snprintf(path, sizeof path, "%s/model.safetensors", models[i]);
        fuzz_copy_golden(path, path);
    }
}

/* A config.json beside weights of four families. */
static void config(const fuzz_part *parts, size_t n) {
    char path[64];
    (void)n;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        snprintf(path, sizeof path, "%s/config.json", models[i]);
        fuzz_write(path, parts[0].data, parts[0].size);
        open_model(models[i], NULL);
    }
}

static void begin_settings(void) {
    fuzz_must(mkdir("model", 0700) == 0, "model");
    fuzz_copy_golden("translate/config.json", "model/config.json");
    fuzz_copy_golden("translate/model.safetensors", "model/model.safetensors");
    fuzz_copy_golden("translate/tokenizer.json", "model/tokenizer.json");
}

/* generation_config.json, and a tokenizer_config.json with a chat template. */
static void settings(const fuzz_part *parts, size_t n) {
    tsr_model *model = NULL;
    char *template = NULL;
    tsr_generate_options options = {.struct_size = sizeof options};
    fuzz_write_part("model/generation_config.json", parts, n, 0);
    fuzz_write_part("model/tokenizer_config.json", parts, n, 1);
    if (!fuzz_is_ok(tsr_model_open("model", NULL, NULL, &model)))
        return;
    (void)fuzz_is_ok(tsr_chat_template_of(model, &template, NULL));
    tsr_text_free(template);
    if (fuzz_is_ok(tsr_generate_defaults(model, &options))) {
        tsri_task_token_rules rules = {0};
        options.num_beams = options.num_beams ? options.num_beams : 1;
        (void)fuzz_is_ok(
            tsri_task_token_rules_create(tsri_model_of(model), &options, NULL, 0, &rules));
        tsri_task_token_rules_clear(&rules);
    }
    tsr_model_close(&model);
}

static void begin_sentence(void) {
    fuzz_must(mkdir("1_Pooling", 0700) == 0 && mkdir("2_Dense", 0700) == 0, "folders");
    fuzz_copy_golden("encoders/sentence/2_Dense/model.safetensors", "2_Dense/model.safetensors");
}

static void sentence(const fuzz_part *parts, size_t n) {
    static float rows[3 * 64], out[3 * 4096];
    static const tsri_io_archive files = {.format = TSRI_IO_SAFETENSORS};
    tsri_model_sentence read = {0};
    fuzz_write_part("modules.json", parts, n, 0);
    fuzz_write_part("1_Pooling/config.json", parts, n, 1);
    fuzz_write_part("2_Dense/config.json", parts, n, 2);
    fuzz_write_part("sentence_bert_config.json", parts, n, 3);
    fuzz_write_part("config_sentence_transformers.json", parts, n, 4);
    if (fuzz_is_ok(tsri_model_sentence_read(&files, ".", true, 16, 64, &read)) &&
        read.width <= 4096)
        (void)fuzz_is_ok(tsri_model_sentence_finish(&read, rows, 3, 16, out));
    tsri_model_sentence_clear(&read);
}

static void begin_adapter(void) {
    fuzz_must(mkdir("model", 0700) == 0 && mkdir("lora", 0700) == 0, "folders");
    fuzz_copy_golden("models/gpt2-tiny/config.json", "model/config.json");
    fuzz_copy_golden("models/gpt2-tiny/model.safetensors", "model/model.safetensors");
}

/* adapter_config.json; header and data of adapter_model.safetensors. */
static void adapter(const fuzz_part *parts, size_t n) {
    static const char *const folders[] = {"lora"};
    fuzz_write_part("lora/adapter_config.json", parts, n, 0);
    fuzz_write_safetensors("lora/adapter_model.safetensors", parts + 1, n - 1);
    open_model("model", folders);
}

/* A config.json, and header and data of a safetensors file: the quantised matrices, and rows of them. */
static void coded(const fuzz_part *parts, size_t n) {
    enum { MOST = 1 << 16 };
    static float row[MOST];
    tsri_io_archive *archive = NULL;
    json_t *config = NULL;
    tsri_model_coded_summary summary;
    char text[TSRI_CODED_TEXT];
    fuzz_write_safetensors("model.safetensors", parts + 1, n - 1);
    if (fuzz_is_ok(
            tsri_base_json_parse(parts[0].data, parts[0].size, 16, "config.json", &config)) &&
        fuzz_is_ok(tsri_io_open("model.safetensors", &archive)) &&
        fuzz_is_ok(tsri_model_coded_adopt(config, "config.json", archive, &summary)) &&
        summary.title) {
        tsri_model_coded_tell(&summary, text);
        for (size_t i = 0; i < archive->n_arrays; i++) {
            const tsri_io_array *a = &archive->arrays[i];
            const uint64_t columns = a->made ? (uint64_t)a->dims[1] : 0;
            if (columns && columns <= MOST) {
                (void)fuzz_is_ok(tsri_io_read_as(archive, a, TSR_F32, 0, (size_t)columns, row));
                (void)fuzz_is_ok(tsri_io_read_as(archive, a, TSR_F32, a->elements - columns,
                                                 (size_t)columns, row));
            }
        }
    }
    tsri_io_close(&archive);
    json_decref(config);
}

const fuzz_target fuzz_model_targets[] = {
    {"config", begin_config, config, 1},
    {"settings", begin_settings, settings, 2},
    {"sentence", begin_sentence, sentence, 5},
    {"adapter", begin_adapter, adapter, 3},
    {"coded", NULL, coded, 3},
    {0},
};
