/* model/arch/decoder/starcoder2.c - StarCoder2: Llama's attention with biases, layer norms, and a
 * plain feed-forward part.
 * source  Lozhkov et al. 2024, arXiv:2402.19173 */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/decoder/llama.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"use_bias",    "sliding_window", "use_sliding_window",
                                          "layer_types", "rope_scaling",   "rope_parameters",
                                          NULL};
    tsri_model_stack *stack = &spec->decoder;
    bool bias = true;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_llama_like(config, spec));
    TRY(tsri_model_config_tied(config, true, spec));
    stack->gated = false;
    TRY(tsri_model_config_activation(config, "hidden_act", "gelu_pytorch_tanh",
                                     &stack->activation));
    TRY(tsri_model_config_layer_norm(config, "norm_epsilon", true, stack));
    TRY(tsri_model_config_bool(config, "use_bias", &bias));
    stack->qkv_bias = stack->out_bias = stack->mlp_bias = bias;
    return tsri_model_config_window(config, true, 0, stack);
}

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_LLAMA,
    TSRI_MODEL_NAMES_LLAMA_QKV,
    .up = "layers.%d.mlp.c_fc",
    .down = "layers.%d.mlp.c_proj",
};

/* All biases are one option in the config, and the epsilon has a name of its own. */
static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    const bool bias = tsri_io_find(archive, "blk.0.attn_q.bias") != NULL;
    json_object_del(config, "attention_bias");
    tsri_base_json_put(config, "use_bias", json_boolean(bias));
    tsri_base_json_rename(config, "layer_norm_epsilon", "norm_epsilon");
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_starcoder2 = {
    .name = "starcoder2",
    .gguf = "starcoder2",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf,
    .read = read,
    .complete_gguf = complete_gguf,
};
