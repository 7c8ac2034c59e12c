/* model/arch/experts/experts.h - what families whose layers have experts share. */
#ifndef TSRI_MODEL_ARCH_EXPERTS_EXPERTS_H
#define TSRI_MODEL_ARCH_EXPERTS_EXPERTS_H

#include "model/arch/decoder/llama.h"

/* What transformers takes for a key that a config lacks. */
typedef struct tsri_model_expert_defaults {
    int32_t experts, used, ffn, shared_ffn; /* shared_ffn 0: no config of the family has that key */
} tsri_model_expert_defaults;

/* num_local_experts or num_experts (transformers writes either) and num_experts_per_tok. stack->layers
 * must be set before. */
tsr_status tsri_model_arch_experts(const tsri_model_config *config, int32_t lowest,
                                   const tsri_model_expert_defaults *defaults,
                                   tsri_model_stack *stack);

/* The same, and what Qwen's families say of experts besides: the widths (moe_intermediate_size,
 * shared_expert_intermediate_size), the layers that have them (decoder_sparse_step, mlp_only_layers),
 * norm_topk_prob. */
tsr_status tsri_model_arch_qwen_experts(const tsri_model_config *config,
                                        const tsri_model_expert_defaults *defaults,
                                        tsri_model_stack *stack);

/* For GGUF files, which leave out widths that follow from others, and norm_topk_prob, which follows from
 * the architecture. */
tsr_status tsri_model_arch_complete_qwen_experts(json_t *config, bool normed);

/* clang-format off */
/* Names of Qwen's arrays. */
#define TSRI_MODEL_NAMES_QWEN_EXPERTS \
    .router = "layers.%d.mlp.gate", \
    .expert_gate = "layers.%d.mlp.experts.%e.gate_proj", .expert_up = "layers.%d.mlp.experts.%e.up_proj", \
    .expert_down = "layers.%d.mlp.experts.%e.down_proj", \
    .experts_gate_up = "layers.%d.mlp.experts.gate_up_proj", .experts_down = "layers.%d.mlp.experts.down_proj"
/* clang-format on */

#endif
