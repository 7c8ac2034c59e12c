/* model/arch/experts/qwen3_moe.c - Qwen3-MoE: Qwen3's layout with experts:
 * https://huggingface.co/docs/transformers/model_doc/qwen3_moe */
#include "base/error.h"
#include "model/arch/experts/experts.h"

enum { WINDOW = 4096 }; /* if the key is missing */
static const tsri_model_expert_defaults defaults = {.experts = 128, .used = 8, .ffn = 768};

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_LLAMA,
    TSRI_MODEL_NAMES_LLAMA_QKV,
    TSRI_MODEL_NAMES_LLAMA_MLP,
    TSRI_MODEL_NAMES_QWEN_EXPERTS,
    .q_norm = "layers.%d.self_attn.q_norm",
    .k_norm = "layers.%d.self_attn.k_norm",
};

/* Every layer has the window, if there is one. */
static tsr_status read_window(const tsri_model_config *config, tsri_model_stack *stack) {
    bool use = false;
    TRY(tsri_model_config_bool(config, "use_sliding_window", &use));
    if (use && !json_object_get(config->root, "sliding_window")) /* null: no window */
        stack->window = WINDOW;
    return use ? tsri_model_config_int(config, "sliding_window", false, 1, INT32_MAX,
                                       &stack->window)
               : TSR_OK;
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {
        "use_qk_norm", /* as Qwen3-Coder's files say; there are always norms */
        "attention_bias",  "use_sliding_window", "sliding_window", "rope_scaling",
        "rope_parameters", "num_local_experts",  "num_experts",    NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_llama_like(config, spec));
    stack->qk_norm = TSRI_QK_NORM_HEADS;
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    TRY(tsri_model_arch_qwen_experts(config, &defaults, stack));
    return read_window(config, stack);
}

static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    (void)archive;
    return tsri_model_arch_complete_qwen_experts(config, true);
}

const tsri_model_arch tsri_model_arch_qwen3_moe = {
    .name = "qwen3_moe",
    .gguf = "qwen3moe",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf,
    .read = read,
    .complete_gguf = complete_gguf,
};
