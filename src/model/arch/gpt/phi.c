/* model/arch/gpt/phi.c - Phi-1, 1.5 and 2: parallel branches behind one layer norm, a partial
 * rotation, biases everywhere. https://huggingface.co/docs/transformers/model_doc/phi */
#include "base/error.h"
#include "model/arch/decoder/llama.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"partial_rotary_factor", "rope_scaling",
                                          "rope_parameters", NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    stack->rope.share = 0.5;
    TRY(tsri_model_arch_llama_like(config, spec));
    stack->gated = false;
    TRY(tsri_model_config_activation(config, "hidden_act", "gelu_new", &stack->activation));
    TRY(tsri_model_config_layer_norm(config, "layer_norm_eps", true, stack));
    stack->parallel = stack->one_norm = true;
    stack->qkv_bias = stack->out_bias = stack->mlp_bias = true;
    spec->head_bias = true;
    return TSR_OK;
}

static const tsri_model_names names = {
    .prefix = "model.",
    .embed = "embed_tokens",
    .final_norm = "final_layernorm",
    .head = "/lm_head",
    .norm1 = "layers.%d.input_layernorm",
    TSRI_MODEL_NAMES_LLAMA_QKV,
    .out = "layers.%d.self_attn.dense",
    .up = "layers.%d.mlp.fc1",
    .down = "layers.%d.mlp.fc2",
};

/* The biases are not an option in the config. */
static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    (void)archive;
    json_object_del(config, "attention_bias");
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_phi = {
    .name = "phi",
    .gguf = "phi2",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf,
    .read = read,
    .complete_gguf = complete_gguf,
};
