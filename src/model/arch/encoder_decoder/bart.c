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

const tsri_model_names tsri_model_names_bart_encoder = {
    .prefix = "model.",
    .embed = "shared|encoder.embed_tokens|decoder.embed_tokens",
    .position = "encoder.embed_positions",
    .embed_norm = "encoder.layernorm_embedding",
    .final_norm = "encoder.layer_norm",
    .norm1 = "encoder.layers.%d.self_attn_layer_norm",
    .norm2 = "encoder.layers.%d.final_layer_norm",
    .q = "encoder.layers.%d.self_attn.q_proj",
    .k = "encoder.layers.%d.self_attn.k_proj",
    .v = "encoder.layers.%d.self_attn.v_proj",
    .out = "encoder.layers.%d.self_attn.out_proj",
    .up = "encoder.layers.%d.fc1",
    .down = "encoder.layers.%d.fc2",
};

const tsri_model_names tsri_model_names_bart_decoder = {
    .prefix = "model.",
    .embed = "shared|decoder.embed_tokens|encoder.embed_tokens",
    .position = "decoder.embed_positions",
    .embed_norm = "decoder.layernorm_embedding",
    .final_norm = "decoder.layer_norm",
    .head = "/lm_head",
    .head_bias = "=final_logits_bias",
    .norm1 = "decoder.layers.%d.self_attn_layer_norm",
    .norm2 = "decoder.layers.%d.final_layer_norm",
    .q = "decoder.layers.%d.self_attn.q_proj",
    .k = "decoder.layers.%d.self_attn.k_proj",
    .v = "decoder.layers.%d.self_attn.v_proj",
    .out = "decoder.layers.%d.self_attn.out_proj",
    .up = "decoder.layers.%d.fc1",
    .down = "decoder.layers.%d.fc2",
    .cross_norm = "decoder.layers.%d.encoder_attn_layer_norm",
    .cross_q = "decoder.layers.%d.encoder_attn.q_proj",
    .cross_k = "decoder.layers.%d.encoder_attn.k_proj",
    .cross_v = "decoder.layers.%d.encoder_attn.v_proj",
    .cross_out = "decoder.layers.%d.encoder_attn.out_proj",
    .ignored = ignored,
};

const tsri_model_arch tsri_model_arch_bart = {
    .name = "bart",
    .names = &tsri_model_names_bart_decoder,
    .encoder_names = &tsri_model_names_bart_encoder,
    .read = tsri_model_arch_bart_like,
};
