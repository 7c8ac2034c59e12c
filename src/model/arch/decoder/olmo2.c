/* model/arch/decoder/olmo2.c - OLMo 2: Llama's layout with norms of what branches add, not of what
 * they read, and norms of all queries and of all keys of a token.
 * source  OLMo team 2024, arXiv:2501.00656 */
#include "base/error.h"
#include "model/arch/decoder/llama.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias", "rope_scaling", "rope_parameters",
                                          NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_llama_like(config, spec));
    stack->norm_eps = 1e-5f;
    TRY(tsri_model_config_float(config, "rms_norm_eps", false, 1e-12, 1, &stack->norm_eps));
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    stack->place = TSRI_NORM_ADDED;
    stack->qk_norm = TSRI_QK_NORM_ROWS;
    return TSR_OK;
}

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_LLAMA_AROUND,
    TSRI_MODEL_NAMES_LLAMA_QKV,
    TSRI_MODEL_NAMES_LLAMA_MLP,
    .out_norm = "layers.%d.post_attention_layernorm",
    .down_norm = "layers.%d.post_feedforward_layernorm",
    .q_norm = "layers.%d.self_attn.q_norm",
    .k_norm = "layers.%d.self_attn.k_norm",
};

const tsri_model_arch tsri_model_arch_olmo2 = {
    .name = "olmo2",
    .gguf = "olmo2",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf,
    .read = read,
};
