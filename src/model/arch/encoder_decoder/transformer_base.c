/* model/arch/encoder_decoder/transformer_base.c - The Transformer of 2017: norms after the blocks,
 * sinusoids that alternate sine and cosine, ReLU. */
#include "base/error.h"
#include "model/arch/common/family.h"

#include <inttypes.h>
#include <math.h>

enum { READS = 1024 }; /* rows of the table that is computed, if the config gives no number */

static tsr_status read_stack(const tsri_model_config *config, const char *layers,
                             const tsri_model_spec *spec, tsri_model_stack *stack) {
    bool biases = true;
    TRY(tsri_model_config_int(config, layers, true, 1, TSRI_MODEL_MAX_LAYERS, &stack->layers));
    TRY(tsri_model_config_int(config, "d_ff", true, 1, TSRI_MODEL_MAX_WIDTH, &stack->ffn));
    TRY(tsri_model_config_even_heads(config, "num_heads", "d_model", spec, stack));
    stack->positions = TSRI_POSITIONS_SINUSOIDAL;
    stack->norm = TSR_NORM_LAYER;
    stack->norm_bias = true;
    stack->norm_eps = 1e-6f;
    TRY(tsri_model_config_float(config, "layer_norm_eps", false, 1e-15, 1, &stack->norm_eps));
    stack->activation = TSR_ACT_RELU;
    stack->place = TSRI_NORM_POST;
    stack->final_norm = false;
    TRY(tsri_model_config_bool(config, "attention_bias", &biases));
    stack->qkv_bias = stack->out_bias = biases;
    stack->mlp_bias = true;
    return TSR_OK;
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    bool shared = true;
    TRY(tsri_model_config_int(config, "tgt_vocab_size", true, 1, TSRI_MODEL_MAX_VOCAB,
                              &spec->vocab));
    TRY(tsri_model_config_int(config, "src_vocab_size", true, 1, TSRI_MODEL_MAX_VOCAB,
                              &spec->source_vocab));
    TRY(tsri_model_config_ids(config, spec));
    TRY(tsri_model_config_int(config, "d_model", true, 1, TSRI_MODEL_MAX_WIDTH, &spec->width));
    spec->max_positions = READS;
    TRY(tsri_model_config_long(config, "max_position_embeddings", false, 1,
                               TSRI_MODEL_MAX_POSITIONS, &spec->max_positions));
    spec->tied = true;
    TRY(tsri_model_config_bool(config, "share_embeddings", &shared));
    TRY(tsri_model_config_bool(config, "tie_output", &spec->tied));
    spec->source_embed = !shared;
    if (shared && spec->source_vocab != spec->vocab)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: share_embeddings is set, but src_vocab_size is %" PRId32
                              " and tgt_vocab_size is %" PRId32,
                              config->what, spec->source_vocab, spec->vocab);
    spec->decoder_start = spec->bos;
    spec->embed_scale = (float)sqrt(spec->width);
    TRY(read_stack(config, "encoder_layers", spec, &spec->encoder));
    TRY(read_stack(config, "decoder_layers", spec, &spec->decoder));
    spec->decoder.cross = true;
    return TSR_OK;
}

/* What both stacks have. */
/* clang-format off */
#define STACK(side) \
    .prefix = "", .norm1 = side ".%d.norm1", \
    TSRI_MODEL_NAMES_QKV(side ".%d.self.", "q", "k", "v"), .out = side ".%d.self.o", \
    .up = side ".%d.ffn.w1", .down = side ".%d.ffn.w2"
/* clang-format on */

static const tsri_model_names encoder_names = {
    STACK("encoder"),
    .embed = "src_embed|embed",
    .norm2 = "encoder.%d.norm2",
};

static const tsri_model_names names = {
    STACK("decoder"),
    .embed = "tgt_embed|embed",
    .head = "output",
    .cross_norm = "decoder.%d.norm2",
    .norm2 = "decoder.%d.norm3",
    TSRI_MODEL_NAMES_CROSS("decoder.%d.cross.", "q", "k", "v", "o"),
};

const tsri_model_arch tsri_model_arch_transformer_base = {
    .name = "transformer-base",
    .names = &names,
    .encoder_names = &encoder_names,
    .read = read,
};
