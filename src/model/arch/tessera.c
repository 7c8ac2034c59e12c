/* model/arch/tessera.c - Tessera's own architecture, with every feature spelled out, for models
 * that no family of Hugging Face computes. A decoder, an encoder, or both, with layers of one kind.
 *
 *     encoder_layers, decoder_layers   one of them may be 0
 *     positions  none | sinusoidal | learned | rotary | alibi
 *     attention  causal | bidirectional: of an encoder; a decoder's is causal
 *     norm       pre | post                        norm_type  layer | rms
 *
 * In sinusoids, sines and cosines alternate. A post-norm stack has no final norm. */
#include "base/error.h"
#include "model/arch/arch.h"

#include <string.h>

/* Reads one of `names`, which ends in NULL: gives its index. */
static tsr_status read_name(const tsri_model_config *config, const char *key,
                            const char *const *names, int *out) {
    const char *text = NULL;
    char list[128] = "";
    TRY(tsri_base_json_text(config->root, config->what, key, &text));
    for (int i = 0; names[i]; i++) {
        if (text && !strcmp(names[i], text)) {
            *out = i;
            return TSR_OK;
        }
        if (i)
            strncat(list, ", ", sizeof list - strlen(list) - 1);
        strncat(list, names[i], sizeof list - strlen(list) - 1);
    }
    return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" is \"%s\"; it must be one of %s", config->what,
                          key, text ? text : "missing", list);
}

static tsr_status read_kinds(const tsri_model_config *config, tsri_model_stack *stack) {
    static const char
        *const positions[] =
            {[TSRI_POSITIONS_NONE] = "none",     [TSRI_POSITIONS_LEARNED] = "learned",
             [TSRI_POSITIONS_ROTARY] = "rotary", [TSRI_POSITIONS_SINUSOIDAL] = "sinusoidal",
             [TSRI_POSITIONS_ALIBI] = "alibi",   NULL},
               *const attention[] = {"bidirectional", "causal", NULL},
               *const places[] = {[TSRI_NORM_PRE] = "pre", [TSRI_NORM_POST] = "post", NULL},
               *const norms[] = {[TSR_NORM_LAYER] = "layer", [TSR_NORM_RMS] = "rms", NULL};
    int position = 0, causal = 0, place = 0, norm = 0;
    TRY(read_name(config, "positions", positions, &position));
    TRY(read_name(config, "attention", attention, &causal));
    TRY(read_name(config, "norm", places, &place));
    TRY(read_name(config, "norm_type", norms, &norm));
    stack->positions = (tsri_model_positions)position;
    stack->causal = stack->side == TSRI_SIDE_DECODER || causal;
    stack->place = (tsri_model_norm_place)place;
    stack->final_norm = stack->place == TSRI_NORM_PRE;
    stack->norm = (tsr_norm)norm;
    stack->norm_bias = stack->norm == TSR_NORM_LAYER;
    return TSR_OK;
}

static tsr_status read_stack(const tsri_model_config *config, const char *layers,
                             const tsri_model_spec *spec, tsri_model_stack *stack) {
    bool bias = true;
    TRY(tsri_model_config_int(config, layers, true, 0, TSRI_MODEL_MAX_LAYERS, &stack->layers));
    if (!stack->layers)
        return TSR_OK;
    TRY(read_kinds(config, stack));
    TRY(tsri_model_config_int(config, "intermediate_size", true, 1, TSRI_MODEL_MAX_WIDTH,
                              &stack->ffn));
    TRY(tsri_model_config_even_heads(config, "num_attention_heads", "hidden_size", spec, stack));
    TRY(tsri_model_config_int(config, "num_key_value_heads", false, 1, TSRI_MODEL_MAX_WIDTH,
                              &stack->kv_heads));
    stack->norm_eps = 1e-5f;
    TRY(tsri_model_config_float(config, "norm_eps", false, 1e-12, 1, &stack->norm_eps));
    TRY(tsri_model_config_activation(config, "hidden_act", "gelu", &stack->activation));
    TRY(tsri_model_config_bool(config, "gated", &stack->gated));
    TRY(tsri_model_config_bool(config, "use_bias", &bias));
    stack->qkv_bias = stack->out_bias = stack->mlp_bias = bias;
    stack->rope.rotary = stack->head_size;
    return tsri_model_config_rope(config, 10000, spec->max_positions, &stack->rope);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"is_encoder_decoder", NULL};
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_config_two_stacks(config, "hidden_size", spec));
    TRY(read_stack(config, "encoder_layers", spec, &spec->encoder));
    TRY(read_stack(config, "decoder_layers", spec, &spec->decoder));
    if (!spec->encoder.layers && !spec->decoder.layers)
        return tsri_base_fail(TSR_E_FORMAT, "%s: encoder_layers and decoder_layers are both 0",
                              config->what);
    spec->decoder.cross = spec->encoder.layers && spec->decoder.layers;
    spec->masked_activation =
        spec->encoder.activation; /* without a decoder: the activation of BERT's heads */
    spec->label_activation = TSR_ACT_TANH;
    spec->dense_bias = spec->label_bias = tsri_model_main_stack(spec)->mlp_bias;
    return TSR_OK;
}

#define LAYER(side)                                                             \
    .norm1 = side ".layers.%d.norm1", .norm2 = side ".layers.%d.norm2",         \
    .q = side ".layers.%d.attention.q", .k = side ".layers.%d.attention.k",     \
    .v = side ".layers.%d.attention.v", .out = side ".layers.%d.attention.out", \
    .gate = side ".layers.%d.mlp.gate", .up = side ".layers.%d.mlp.up",         \
    .down = side ".layers.%d.mlp.down", .position = side ".positions", .final_norm = side ".norm"

static const tsri_model_names encoder_names = {
    .prefix = "",
    .embed = "embed",
    LAYER("encoder"),
    .head = "head",
    .masked_dense = "masked.dense",
    .masked_norm = "masked.norm",
    .pooler = "pooler",
    .label = "classifier",
};

static const tsri_model_names names = {
    .prefix = "",
    .embed = "embed",
    LAYER("decoder"),
    .cross_norm = "decoder.layers.%d.cross.norm",
    TSRI_MODEL_NAMES_CROSS("decoder.layers.%d.cross.", "q", "k", "v", "out"),
    .head = "head",
};

const tsri_model_arch tsri_model_arch_tessera = {
    .name = "tessera",
    .names = &names,
    .encoder_names = &encoder_names,
    .read = read,
};
