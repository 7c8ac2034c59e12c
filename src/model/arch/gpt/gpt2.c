/* model/arch/gpt/gpt2.c - GPT-2: https://huggingface.co/docs/transformers/model_doc/gpt2 */
#include "base/error.h"
#include "model/arch/common/family.h"

static tsr_status read_sizes(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_int(config, "n_embd", true, 1, TSRI_MODEL_MAX_WIDTH, &spec->width));
    TRY(tsri_model_config_int(config, "n_layer", true, 1, TSRI_MODEL_MAX_LAYERS, &stack->layers));
    TRY(tsri_model_config_long(config, "n_positions", true, 1, TSRI_MODEL_MAX_POSITIONS,
                               &spec->max_positions));
    TRY(tsri_model_config_even_heads(config, "n_head", "n_embd", spec, stack));
    stack->ffn = 4 * spec->width;
    return tsri_model_config_int(config, "n_inner", false, 1, TSRI_MODEL_MAX_WIDTH, &stack->ffn);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"scale_attn_weights", NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_config_common(config, true, spec));
    TRY(read_sizes(config, spec));
    stack->positions = TSRI_POSITIONS_LEARNED;
    TRY(tsri_model_config_layer_norm(config, "layer_norm_epsilon", true, stack));
    TRY(tsri_model_config_activation(config, "activation_function", "gelu_new",
                                     &stack->activation));
    bool scaled = true;
    TRY(tsri_model_config_bool(config, "scale_attn_weights", &scaled));
    if (!scaled)
        stack->attention_scale = 1;
    stack->qkv_bias = stack->out_bias = stack->mlp_bias = true;
    return TSR_OK;
}

static const char *const ignored[] = {".attn.bias", ".attn.masked_bias",
                                      NULL}; /* the causal mask, as buffers */

static const tsri_model_names names = {
    .prefix = "transformer.",
    .embed = "wte",
    .position = "wpe",
    .final_norm = "ln_f",
    .head = "/lm_head",
    .norm1 = "h.%d.ln_1",
    .norm2 = "h.%d.ln_2",
    .qkv = "h.%d.attn.c_attn",
    .out = "h.%d.attn.c_proj",
    .up = "h.%d.mlp.c_fc",
    .down = "h.%d.mlp.c_proj",
    .fused = TSRI_FUSED_QKV,
    .inputs_first = true,
    .ignored = ignored,
};

const tsri_model_arch tsri_model_arch_gpt2 = {
    .name = "gpt2",
    .gguf = "gpt2",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf_fused,
    .read = read,
};
