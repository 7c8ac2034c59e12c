/* model/arch/gpt/gpt_neox.c - GPT-NeoX and Pythia: parallel residual, partial rotary positions,
 * one matrix for q, k and v ordered by head. */
#include "model/arch/gpt/gpt_neox.h"
#include "base/error.h"
#include "model/arch/decoder/llama.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {
        "attention_bias", "use_parallel_residual", "rotary_pct", "partial_rotary_factor",
        "rope_scaling",   "rope_parameters",       NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    stack->rope.share = 0.25; /* transformers' default */
    TRY(tsri_model_arch_llama_like(config, spec));
    stack->gated = false;
    TRY(tsri_model_config_activation(config, "hidden_act", "gelu", &stack->activation));
    TRY(tsri_model_config_layer_norm(config, "layer_norm_eps", true, stack));
    stack->parallel = true;
    TRY(tsri_model_config_bool(config, "use_parallel_residual", &stack->parallel));
    stack->qkv_bias = true;
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    stack->mlp_bias = true;
    return TSR_OK;
}

static const char *const ignored[] = {".attention.bias", ".attention.masked_bias",
                                      "rotary_emb.inv_freq", NULL};

static const tsri_model_names names = {
    .prefix = "gpt_neox.",
    .embed = "embed_in",
    .final_norm = "final_layer_norm",
    .head = "/embed_out",
    TSRI_MODEL_NAMES_MEGATRON("layers.%d.", "attention."),
    .ignored = ignored,
};

const tsri_model_arch tsri_model_arch_gpt_neox = {
    .name = "gpt_neox",
    .gguf = "gptneox",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf_fused,
    .read = read,
};
