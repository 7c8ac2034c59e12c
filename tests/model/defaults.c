/* A key that a config lacks means what it means to transformers: the spec equals that of the config
 * with transformers' default for the key (tests/golden/models/defaults.json). */
#include "base/json.h"
#include "model/arch/arch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include <stdlib.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())
#define GOLDEN TESSERA_SOURCE_DIR "/tests/golden/models/"

/* The golden model that serves as the example of a family. */
static json_t *example(const char *family) {
    char path[512];
    json_t *config = NULL;
    static const char *const places[] = {"-odd", "-odd/mlm", "-odd/cls", "/mlm", "/cls"};
    for (size_t i = 0; i < sizeof places / sizeof *places && !config; i++) {
        snprintf(path, sizeof path, GOLDEN "%s%s/config.json", family, places[i]);
        config = json_load_file(path, 0, NULL);
    }
    cr_assert(config, "no golden %s", family);
    return config;
}

/* The spec without the arrays that it points to, and what these say of each layer. */
typedef struct layers {
    int32_t window[TSRI_MODEL_MAX_LAYERS];
    uint8_t rotation[TSRI_MODEL_MAX_LAYERS], experts[TSRI_MODEL_MAX_LAYERS];
} layers;

static tsr_status read_spec(json_t *config, tsri_model_spec *spec, layers *layers) {
    const tsri_model_arch *arch;
    const tsr_status status = tsri_model_arch_read(config, "config.json", &arch, spec);
    memset(layers, 0, sizeof *layers);
    const tsri_model_stack *stack = tsri_model_main_stack(spec);
    for (int32_t i = 0; status == TSR_OK && i < stack->layers; i++) {
        layers->window[i] = tsri_model_layer_window(stack, i);
        layers->rotation[i] = (uint8_t)tsri_model_layer_rotation(stack, i);
        layers->experts[i] = tsri_model_layer_has_experts(stack, i);
    }
    tsri_model_spec_clear(spec);
    return status;
}

static int check(const char *family, const char *key, json_t *value) {
    static const char *const older[] = {"rope_scaling", "rope_theta", "rotary_pct",
                                        "rotary_emb_base"};
    static layers few, many;
    tsri_model_spec lacks, says;
    json_t *config = example(family);
    json_object_del(config, "layer_types"); /* it repeats what the window keys say */
    json_object_del(config, key);
    for (size_t i = 0; !strcmp(key, "rope_parameters") && i < 4; i++)
        json_object_del(config, older[i]);
    const tsr_status without = read_spec(config, &lacks, &few);
    json_object_set(config, key, value);
    const tsr_status with = read_spec(config, &says, &many);
    cr_expect(without == with, "%s without %s: %s", family, key, tsr_error_last());
    cr_expect(
        without != TSR_OK || with != TSR_OK ||
            (memcmp(&few, &many, sizeof many) == 0 && memcmp(&lacks, &says, sizeof says) == 0),
        "%s: the spec without %s differs from that with transformers' default", family, key);
    json_decref(config);
    return without == TSR_OK;
}

Test(defaults, of_missing_keys) {
    json_t *root = json_load_file(GOLDEN "defaults.json", 0, NULL), *keys, *value;
    const char *family, *key;
    int checked = 0;
    cr_assert(root);
    json_object_foreach(root, family, keys) json_object_foreach(keys, key, value) checked +=
        check(family, key, value);
    cr_assert(checked > 90, "%d", checked);
    json_decref(root);
}

/* Layers from `first` on have a window of `width`; of families without Qwen's keys those change nothing. */
Test(defaults, of_windows) {
    static const struct {
        const char *family, *changes;
        int32_t first, width;
    } rows[] = {
        {"qwen2", "{\"use_sliding_window\": true}", 28, 4096},
        {"qwen3", "{\"use_sliding_window\": true}", 28, 4096},
        {"qwen2", "{\"use_sliding_window\": true, \"max_window_layers\": 3}", 3, 4096},
        {"qwen2", "{\"use_sliding_window\": true, \"sliding_window\": null}", 30, 0},
        {"qwen2", "{\"sliding_window\": 5, \"max_window_layers\": 0}", 30, 0},
        {"mistral", "{\"use_sliding_window\": false, \"max_window_layers\": 28}", 0, 4096},
        {"mistral", "{\"use_sliding_window\": true, \"sliding_window\": 7}", 0, 7},
        {"mixtral", "{\"use_sliding_window\": false, \"sliding_window\": 7}", 0, 7},
        {"phi3", "{\"max_window_layers\": 28, \"sliding_window\": 7}", 0, 7},
        {"starcoder2", "{\"use_sliding_window\": false, \"sliding_window\": 7}", 0, 7},
    };
    static const char *const keys[] = {"layer_types", "sliding_window", "use_sliding_window",
                                       "max_window_layers", "rope_parameters"};
    static layers found;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_model_spec spec;
        json_t *config = example(rows[i].family), *changes = json_loads(rows[i].changes, 0, NULL);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            json_object_del(config, keys[k]);
        json_object_set_new(config, "num_hidden_layers", json_integer(30));
        cr_assert(changes && json_object_update(config, changes) == 0);
        OK(read_spec(config, &spec, &found));
        for (int32_t layer = 0; layer < 30; layer++)
            cr_expect(found.window[layer] == (layer >= rows[i].first ? rows[i].width : 0),
                      "%s %s: layer %d has a window of %d", rows[i].family, rows[i].changes, layer,
                      found.window[layer]);
        json_decref(changes);
        json_decref(config);
    }
}

/* Phi-3's "yarn" is longrope. */
Test(defaults, longrope_by_another_name) {
    static const char *const names[] = {"longrope", "yarn", "su"};
    static layers found;
    tsri_model_spec specs[3];
    for (size_t i = 0; i < 3; i++) {
        json_t *config = json_load_file(GOLDEN "phi3-longrope-odd/config.json", 0, NULL);
        json_t *rope = json_object_get(config, "rope_parameters");
        rope = rope ? rope : json_object_get(config, "rope_scaling");
        cr_assert(rope);
        json_object_del(rope, "type");
        json_object_set_new(rope, "rope_type", json_string(names[i]));
        OK(read_spec(config, &specs[i], &found));
        cr_expect(specs[i].decoder.rope.scaling == specs[0].decoder.rope.scaling, "%s", names[i]);
        json_decref(config);
    }
}

/* Qwen3-Coder's files say that queries and keys have norms, which Qwen3's always have. */
Test(defaults, norms_that_are_always_there) {
    static const char *const families[] = {"qwen3", "qwen3_moe"};
    static layers found;
    for (size_t i = 0; i < 2; i++) {
        tsri_model_spec spec;
        json_t *config = example(families[i]);
        json_object_set_new(config, "use_qk_norm", json_true());
        json_object_set_new(config, "shared_expert_intermediate_size", json_integer(0));
        OK(read_spec(config, &spec, &found));
        json_decref(config);
    }
}
