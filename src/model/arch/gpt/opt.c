/* model/arch/gpt/opt.c - OPT: learned positions that begin at row 2, ReLU, norm before or
 * after.
 * https://huggingface.co/docs/transformers/model_doc/opt */
#include "base/error.h"
#include "model/arch/common/family.h"

#include <inttypes.h>

static tsr_status read_sizes(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_int(config, "hidden_size", true, 1, TSRI_MODEL_MAX_WIDTH, &spec->width));
    TRY(tsri_model_config_int(config, "num_hidden_layers", true, 1, TSRI_MODEL_MAX_LAYERS,
                              &stack->layers));
    TRY(tsri_model_config_int(config, "ffn_dim", true, 1, TSRI_MODEL_MAX_WIDTH, &stack->ffn));
    TRY(tsri_model_config_long(config, "max_position_embeddings", true, 1, TSRI_MODEL_MAX_POSITIONS,
                               &spec->max_positions));
    int32_t embed = spec->width;
    TRY(tsri_model_config_int(config, "word_embed_proj_dim", false, 1, TSRI_MODEL_MAX_WIDTH,
                              &embed));
    if (embed != spec->width)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: word_embed_proj_dim %" PRId32
                              " differs from hidden_size %" PRId32 "; projected embeddings are "
                              "not served",
                              config->what, embed, spec->width);
    return tsri_model_config_even_heads(config, "num_attention_heads", "hidden_size", spec, stack);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"word_embed_proj_dim", "enable_bias",
                                          "_remove_final_layer_norm", NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_config_common(config, true, spec));
    TRY(read_sizes(config, spec));
    spec->pad_fixed = true;
    stack->positions = TSRI_POSITIONS_LEARNED;
    stack->position_offset = 2;
    stack->positions_of_tokens = true;
    stack->norm = TSR_NORM_LAYER;
    stack->norm_bias = true;
    stack->norm_eps = 1e-5f; /* not in the config */
    bool before = true, biases = true, bare = false;
    TRY(tsri_model_config_bool(config, "do_layer_norm_before", &before));
    TRY(tsri_model_config_bool(config, "_remove_final_layer_norm", &bare));
    TRY(tsri_model_config_bool(config, "enable_bias", &biases));
    stack->place = before ? TSRI_NORM_PRE : TSRI_NORM_POST;
    stack->final_norm = before && !bare;
    stack->qkv_bias = stack->out_bias = stack->mlp_bias = biases;
    return tsri_model_config_activation(config, "activation_function", "relu", &stack->activation);
}

static const tsri_model_names names = {
    .prefix = "model.decoder.",
    .embed = "embed_tokens",
    .position = "embed_positions",
    .final_norm = "final_layer_norm",
    .head = "/lm_head",
    .norm1 = "layers.%d.self_attn_layer_norm",
    .norm2 = "layers.%d.final_layer_norm",
    TSRI_MODEL_NAMES_QKV("layers.%d.self_attn.", "q_proj", "k_proj", "v_proj"),
    .out = "layers.%d.self_attn.out_proj",
    .up = "layers.%d.fc1",
    .down = "layers.%d.fc2",
};

const tsri_model_arch tsri_model_arch_opt = {
    .name = "opt",
    .names = &names,
    .read = read,
};
