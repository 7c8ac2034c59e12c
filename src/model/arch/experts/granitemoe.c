/* model/arch/experts/granitemoe.c - Granite 3 with experts, and the same with an expert that every token
 * takes besides: https://huggingface.co/docs/transformers/model_doc/granitemoe */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/decoder/granite.h"
#include "model/arch/experts/experts.h"

static const tsri_model_expert_defaults defaults = {.experts = 8, .used = 2};
static const tsri_model_names names = {
    TSRI_MODEL_NAMES_LLAMA,
    TSRI_MODEL_NAMES_LLAMA_QKV,
    .router = "layers.%d.block_sparse_moe.router.layer",
    .experts_gate_up = "layers.%d.block_sparse_moe.input_linear.weight",
    .experts_down = "layers.%d.block_sparse_moe.output_linear.weight",
    .gate_up = "layers.%d.shared_mlp.input_linear",
    .shared_down = "layers.%d.shared_mlp.output_linear",
};

/* Files of both architectures are read alike: one without shared_intermediate_size has no shared expert. */
static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {TSRI_MODEL_KEYS_GRANITE, "num_local_experts",
                                          "num_experts", NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_granite_like(config, spec));
    TRY(tsri_model_arch_experts(config, 1, &defaults, stack));
    stack->expert_ffn = stack->ffn;
    stack->experts_normed = true;
    return tsri_model_config_int(config, "shared_intermediate_size", false, 0, TSRI_MODEL_MAX_WIDTH,
                                 &stack->shared_ffn);
}

static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    tsri_base_json_rename(config, "shared_expert_intermediate_size", "shared_intermediate_size");
    return tsri_model_arch_complete_granite(archive, config);
}

const tsri_model_arch tsri_model_arch_granitemoe = {
    .name = "granitemoe",
    .gguf = "granitemoe",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf,
    .gguf_interleaved = true,
    .read = read,
    .complete_gguf = complete_gguf,
};

const tsri_model_arch tsri_model_arch_granitemoeshared = {
    .name = "granitemoeshared",
    .names = &names,
    .read = read,
};
