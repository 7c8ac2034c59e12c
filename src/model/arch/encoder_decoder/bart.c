/* model/arch/encoder_decoder/bart.c - BART: norms after the blocks, learned positions that begin at
 * row 2.
 * https://huggingface.co/docs/transformers/model_doc/bart */
#include "model/arch/encoder_decoder/bart.h"
#include "base/error.h"

static tsr_status read_stack(const tsri_model_config *config, const char *const keys[3],
                             const tsri_model_spec *spec, tsri_model_stack *stack) {
    TRY(tsri_model_config_int(config, keys[0], true, 1, TSRI_MODEL_MAX_LAYERS, &stack->layers));
    TRY(tsri_model_config_int(config, keys[2], true, 1, TSRI_MODEL_MAX_WIDTH, &stack->ffn));
    TRY(tsri_model_config_even_heads(config, keys[1], "d_model", spec, stack));
    stack->positions = TSRI_POSITIONS_LEARNED;
    stack->position_offset = 2;
    stack->norm = TSR_NORM_LAYER;
    stack->norm_bias = true;
    stack->norm_eps = 1e-5f; /* not in the config */
    TRY(tsri_model_config_activation(config, "activation_function", "gelu", &stack->activation));
    stack->place = TSRI_NORM_POST;
    stack->final_norm = false;
    stack->embed_norm = true;
    stack->qkv_bias = stack->out_bias = stack->mlp_bias = true;
    return TSR_OK;
}

tsr_status tsri_model_arch_bart_like(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"is_encoder_decoder", NULL};
    static const char *const encoder[] = {"encoder_layers", "encoder_attention_heads",
                                          "encoder_ffn_dim"},
                             *const decoder[] = {"decoder_layers", "decoder_attention_heads",
                                                 "decoder_ffn_dim"};
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_config_two_stacks(config, "d_model", spec));
    spec->pad_fixed = spec->head_bias_fixed = true;
    TRY(read_stack(config, encoder, spec, &spec->encoder));
    TRY(read_stack(config, decoder, spec, &spec->decoder));
    spec->decoder.cross = true;
    return TSR_OK;
}

void tsri_model_arch_norms_first(tsri_model_spec *spec) {
    spec->encoder.place = spec->decoder.place = TSRI_NORM_PRE;
    spec->encoder.final_norm = spec->decoder.final_norm = true;
}

void tsri_model_arch_sinusoids(tsri_model_spec *spec, tsri_model_sinusoid sinusoid) {
    spec->encoder.embed_norm = spec->decoder.embed_norm = false;
    spec->encoder.positions = spec->decoder.positions = TSRI_POSITIONS_SINUSOIDAL;
    spec->encoder.sinusoid = spec->decoder.sinusoid = sinusoid;
}

/* some files store tables of sinusoids, which are computed here */
static const char *const ignored[] = {"embed_positions.weight", "embed_positions.weights",
                                      "model.encoder.version", "model.decoder.version", NULL};

/* What both stacks have. */
/* clang-format off */
#define STACK(side) \
    .prefix = "model.", .position = side ".embed_positions", \
    .embed_norm = side ".layernorm_embedding", .final_norm = side ".layer_norm", \
    .norm1 = side ".layers.%d.self_attn_layer_norm", .norm2 = side ".layers.%d.final_layer_norm", \
    TSRI_MODEL_NAMES_QKV(side ".layers.%d.self_attn.", "q_proj", "k_proj", "v_proj"), \
    .out = side ".layers.%d.self_attn.out_proj", \
    .up = side ".layers.%d.fc1", .down = side ".layers.%d.fc2"
/* clang-format on */

const tsri_model_names tsri_model_names_bart_encoder = {
    STACK("encoder"),
    .embed = "shared|encoder.embed_tokens|decoder.embed_tokens",
};

const tsri_model_names tsri_model_names_bart_decoder = {
    STACK("decoder"),
    .embed = "shared|decoder.embed_tokens|encoder.embed_tokens",
    .head = "/lm_head",
    .head_bias = "=final_logits_bias",
    .cross_norm = "decoder.layers.%d.encoder_attn_layer_norm",
    TSRI_MODEL_NAMES_CROSS("decoder.layers.%d.encoder_attn.", "q_proj", "k_proj", "v_proj",
                           "out_proj"),
    .ignored = ignored,
};

const tsri_model_arch tsri_model_arch_bart = {
    .name = "bart",
    .names = &tsri_model_names_bart_decoder,
    .encoder_names = &tsri_model_names_bart_encoder,
    .read = tsri_model_arch_bart_like,
};
