/* model/arch/experts/olmoe.c - OLMoE: Llama's layout with norms of all queries and of all keys of a
 * token, whose feed-forward parts are experts. source  Muennighoff et al. 2024, arXiv:2409.02060 */
#include "base/error.h"
#include "model/arch/experts/experts.h"

static const float eps = 1e-5f; /* if the key is missing */
static const tsri_model_expert_defaults defaults = {.experts = 64, .used = 8};

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_LLAMA,
    TSRI_MODEL_NAMES_LLAMA_QKV,
    TSRI_MODEL_NAMES_QWEN_EXPERTS,
    .q_norm = "layers.%d.self_attn.q_norm",
    .k_norm = "layers.%d.self_attn.k_norm",
};

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias",    "rope_scaling", "rope_parameters",
                                          "num_local_experts", "num_experts",  NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_llama_like(config, spec));
    stack->norm_eps = eps;
    TRY(tsri_model_config_float(config, "rms_norm_eps", false, 1e-12, 1, &stack->norm_eps));
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    stack->qk_norm = TSRI_QK_NORM_ROWS;
    TRY(tsri_model_arch_experts(config, 1, &defaults, stack));
    stack->expert_ffn = stack->ffn;
    return tsri_model_config_bool(config, "norm_topk_prob", &stack->experts_normed);
}

const tsri_model_arch tsri_model_arch_olmoe = {
    .name = "olmoe",
    .gguf = "olmoe",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf,
    .read = read,
};
