/* model/arch/gpt/gptj.c - GPT-J: parallel branches behind one layer norm, interleaved rotary
 * positions in a part of each head. https://huggingface.co/docs/transformers/model_doc/gptj */
#include "base/error.h"
#include "model/arch/common/family.h"

static tsr_status read_sizes(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_int(config, "n_embd", true, 1, TSRI_MODEL_MAX_WIDTH / 4, &spec->width));
    TRY(tsri_model_config_int(config, "n_layer", true, 1, TSRI_MODEL_MAX_LAYERS, &stack->layers));
    TRY(tsri_model_config_long(config, "n_positions", true, 1, TSRI_MODEL_MAX_POSITIONS,
                               &spec->max_positions));
    TRY(tsri_model_config_even_heads(config, "n_head", "n_embd", spec, stack));
    stack->ffn = 4 * spec->width;
    return tsri_model_config_int(config, "n_inner", false, 1, TSRI_MODEL_MAX_WIDTH, &stack->ffn);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_config_common(config, false, spec));
    TRY(read_sizes(config, spec));
    stack->positions = TSRI_POSITIONS_ROTARY;
    stack->rope.theta = 10000;
    stack->rope.interleaved = true;
    TRY(tsri_model_config_int(config, "rotary_dim", true, 2, TSRI_MODEL_MAX_ROTARY,
                              &stack->rope.rotary));
    TRY(tsri_model_config_layer_norm(config, "layer_norm_epsilon", true, stack));
    TRY(tsri_model_config_activation(config, "activation_function", "gelu_new",
                                     &stack->activation));
    stack->parallel = stack->one_norm = true;
    stack->mlp_bias = true;
    spec->head_bias = true;
    return TSR_OK;
}

static const char *const ignored[] = {".attn.bias", ".attn.masked_bias",
                                      NULL}; /* the causal mask, as buffers */

static const tsri_model_names names = {
    .prefix = "transformer.",
    .embed = "wte",
    .final_norm = "ln_f",
    .head = "/lm_head",
    .norm1 = "h.%d.ln_1",
    TSRI_MODEL_NAMES_QKV("h.%d.attn.", "q_proj", "k_proj", "v_proj"),
    .out = "h.%d.attn.out_proj",
    .up = "h.%d.mlp.fc_in",
    .down = "h.%d.mlp.fc_out",
    .ignored = ignored,
};

const tsri_model_arch tsri_model_arch_gptj = {
    .name = "gptj",
    .names = &names,
    .read = read,
};
