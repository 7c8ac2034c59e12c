/* model/arch/experts/mixtral.c - Mixtral: Mistral's layout, whose feed-forward parts are experts:
 * https://huggingface.co/docs/transformers/model_doc/mixtral */
#include "base/error.h"
#include "model/arch/experts/experts.h"

enum { KV_HEADS = 8 }; /* if the key is missing */
static const double theta = 1e6;
static const float eps = 1e-5f;
static const tsri_model_expert_defaults defaults = {.experts = 8, .used = 2};

static const char *const ignored[] = {"rotary_emb.inv_freq", NULL};

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_LLAMA,
    TSRI_MODEL_NAMES_LLAMA_QKV,
    .router = "layers.%d.block_sparse_moe.gate|layers.%d.mlp.gate",
    .expert_gate = "layers.%d.block_sparse_moe.experts.%e.w1",
    .expert_up = "layers.%d.block_sparse_moe.experts.%e.w3",
    .expert_down = "layers.%d.block_sparse_moe.experts.%e.w2",
    .experts_gate_up = "layers.%d.mlp.experts.gate_up_proj",
    .experts_down = "layers.%d.mlp.experts.down_proj",
    .ignored = ignored,
};

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"sliding_window",
                                          "use_sliding_window",
                                          "rope_scaling",
                                          "rope_parameters",
                                          "num_local_experts",
                                          "num_experts",
                                          NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_llama_layout(config, spec));
    if (!json_object_get(config->root, "num_key_value_heads"))
        stack->kv_heads = KV_HEADS;
    stack->norm_eps = eps;
    TRY(tsri_model_config_float(config, "rms_norm_eps", false, 1e-12, 1, &stack->norm_eps));
    TRY(tsri_model_config_rope(config, theta, spec->max_positions, &stack->rope));
    TRY(tsri_model_arch_experts(config, 1, &defaults, stack));
    stack->expert_ffn = stack->ffn;
    stack->experts_normed = true;
    return tsri_model_config_window(config, true, 0, stack);
}

const tsri_model_arch tsri_model_arch_mixtral = {
    .name = "mixtral",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf, /* of the architecture "llama", with experts */
    .gguf_interleaved = true,
    .read = read,
};
