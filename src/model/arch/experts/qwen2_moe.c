/* model/arch/experts/qwen2_moe.c - Qwen2-MoE: Qwen2's layout; beside the experts, each token takes one
 * that all share: https://huggingface.co/docs/transformers/model_doc/qwen2_moe */
#include "base/error.h"
#include "model/arch/experts/experts.h"

#include <string.h>

enum { WINDOW = 4096, WINDOW_LAYERS = 28 }; /* if the keys are missing */
static const tsri_model_expert_defaults defaults = {
    .experts = 60, .used = 4, .ffn = 1408, .shared_ffn = 5632};

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_LLAMA,
    TSRI_MODEL_NAMES_LLAMA_QKV,
    TSRI_MODEL_NAMES_LLAMA_MLP,
    TSRI_MODEL_NAMES_QWEN_EXPERTS,
    .shared_gate = "layers.%d.mlp.shared_expert.gate_proj",
    .shared_up = "layers.%d.mlp.shared_expert.up_proj",
    .shared_down = "layers.%d.mlp.shared_expert.down_proj",
    .shared_router = "layers.%d.mlp.shared_expert_gate",
};

/* transformers writes a sliding_window of 0 where no layer has one. */
static tsr_status read_no_window(const tsri_model_config *config) {
    const json_t *types = json_object_get(config->root, "layer_types"), *type;
    size_t i;
    json_array_foreach(types, i, type) {
        if (!json_is_string(type) || strcmp(json_string_value(type), "full_attention") != 0)
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: \"layer_types\"[%zu] is not full_attention, but "
                                  "\"use_sliding_window\" is false",
                                  config->what, i);
    }
    return TSR_OK;
}

/* Without layer_types, every second layer below max_window_layers has the window, from the first on. */
static tsr_status read_window(const tsri_model_config *config, tsri_model_stack *stack) {
    bool use = false;
    int32_t most = WINDOW_LAYERS;
    TRY(tsri_model_config_bool(config, "use_sliding_window", &use));
    TRY(tsri_model_config_int(config, "max_window_layers", false, 0, INT32_MAX, &most));
    if (!use)
        return read_no_window(config);
    stack->window = WINDOW;
    TRY(tsri_model_config_window_every(config, NULL, 2, stack));
    uint8_t *windowed = (uint8_t *)(uintptr_t)stack->windowed;
    const bool listed = json_is_array(json_object_get(config->root, "layer_types"));
    for (int32_t i = most; i < stack->layers && !listed; i++)
        windowed[i] = 0;
    return TSR_OK;
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {
        "use_sliding_window", "sliding_window",    "layer_types", "rope_scaling",
        "rope_parameters",    "num_local_experts", "num_experts", NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_llama_like(config, spec));
    stack->qkv_bias = true;
    TRY(tsri_model_config_bool(config, "qkv_bias", &stack->qkv_bias));
    TRY(tsri_model_arch_qwen_experts(config, &defaults, stack));
    return read_window(config, stack);
}

static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    (void)archive;
    json_object_del(config, "attention_bias"); /* not an option in the config */
    return tsri_model_arch_complete_qwen_experts(config, false);
}

const tsri_model_arch tsri_model_arch_qwen2_moe = {
    .name = "qwen2_moe",
    .gguf = "qwen2moe",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf,
    .read = read,
    .complete_gguf = complete_gguf,
};
