/* model/arch/decoder/phi3.c - Phi-3: Llama's layout with one matrix for queries, keys and values,
 * one matrix for gate and up, and a sliding window. */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/decoder/llama.h"

#include <string.h>

/* Phi-3's "yarn" is longrope, as its "su" is, which other families have, too. */
static void name_longrope(json_t *root) {
    static const char *const objects[] = {"rope_scaling", "rope_parameters"};
    static const char *const keys[] = {"type", "rope_type"};
    for (size_t i = 0; i < 4; i++) {
        json_t *rope = json_object_get(root, objects[i / 2]);
        const char *type = json_string_value(json_object_get(rope, keys[i % 2]));
        if (type && strcmp(type, "yarn") == 0)
            tsri_base_json_put(rope, keys[i % 2], json_string("longrope"));
    }
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"sliding_window",        "use_sliding_window",
                                          "rope_scaling",          "rope_parameters",
                                          "partial_rotary_factor", NULL};
    TRY(tsri_model_config_refuse(config, handled));
    name_longrope(config->root);
    TRY(tsri_model_arch_llama_like(config, spec));
    spec->decoder.norm_eps = 1e-5f;
    TRY(tsri_model_config_float(config, "rms_norm_eps", false, 1e-12, 1, &spec->decoder.norm_eps));
    return tsri_model_config_window(config, true, 0, &spec->decoder);
}

static const char *const ignored[] = {"rotary_emb.inv_freq", NULL};

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_LLAMA,
    .qkv = "layers.%d.self_attn.qkv_proj",
    .gate_up = "layers.%d.mlp.gate_up_proj",
    .down = "layers.%d.mlp.down_proj",
    .fused = TSRI_FUSED_QKV,
    .ignored = ignored,
};

const tsri_model_arch tsri_model_arch_phi3 = {
    .name = "phi3",
    .gguf = "phi3",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf_fused,
    .read = read,
};
