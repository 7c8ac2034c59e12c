/* model/arch/ctranslate2.c - Transformers in CTranslate2's own layout, whatever they were converted
 * from: model/formats/ctranslate2_config.c makes their config. https://opennmt.net/CTranslate2 */
#include "base/error.h"
#include "model/arch/arch.h"

#include <inttypes.h>

enum {
    READS_BY_DISTANCE = 1 << 16, /* no table limits the positions */
    READS_SINUSOIDS = 1024       /* no table limits computed positions either: CTranslate2 cuts
                                    here */
};

static tsr_status read_flags(const tsri_model_config *config, tsri_model_stack *stack) {
    bool pre_norm = true, rms_norm = false;
    const struct {
        const char *key;
        bool *out;
    } flags[] = {{"pre_norm", &pre_norm},           {"rms_norm", &rms_norm},
                 {"gated", &stack->gated},          {"cross", &stack->cross},
                 {"qkv_bias", &stack->qkv_bias},    {"out_bias", &stack->out_bias},
                 {"mlp_bias", &stack->mlp_bias},    {"embed_norm", &stack->embed_norm},
                 {"final_norm", &stack->final_norm}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        TRY(tsri_model_config_bool(config, flags[i].key, flags[i].out));
    stack->place = pre_norm ? TSRI_NORM_PRE : TSRI_NORM_POST;
    stack->norm = rms_norm ? TSR_NORM_RMS : TSR_NORM_LAYER;
    stack->norm_bias = !rms_norm;
    return TSR_OK;
}

static tsr_status read_stack(const tsri_model_config *config, tsri_model_stack *stack,
                             int64_t *positions) {
    int64_t rows = 0;
    TRY(tsri_model_config_int(config, "layers", true, 1, TSRI_MODEL_MAX_LAYERS, &stack->layers));
    TRY(tsri_model_config_int(config, "heads", true, 1, TSRI_MODEL_MAX_WIDTH, &stack->heads));
    TRY(tsri_model_config_int(config, "head_size", true, 1, TSRI_MODEL_MAX_WIDTH,
                              &stack->head_size));
    TRY(tsri_model_config_int(config, "ffn", true, 1, TSRI_MODEL_MAX_WIDTH, &stack->ffn));
    stack->kv_heads = stack->heads;
    stack->value_size = stack->head_size;
    TRY(tsri_model_config_float(config, "norm_eps", true, 1e-15, 1, &stack->norm_eps));
    TRY(tsri_model_config_float(config, "attention_scale", false, 0, 1e6, &stack->attention_scale));
    TRY(tsri_model_config_activation(config, "activation", "relu", &stack->activation));
    TRY(read_flags(config, stack));
    TRY(tsri_model_config_int(config, "relative_buckets", false, 4, 4096,
                              &stack->relative_buckets));
    TRY(tsri_model_config_int(config, "relative_distance", false, 2, 1 << 20,
                              &stack->relative_distance));
    TRY(tsri_model_config_long(config, "learned_positions", false, 1, TSRI_MODEL_MAX_POSITIONS,
                               &rows));
    *positions = stack->relative_buckets ? READS_BY_DISTANCE : rows ? rows : READS_SINUSOIDS;
    if (stack->relative_buckets && stack->relative_distance <= stack->relative_buckets / 2)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: relative_attention_max_distance is %" PRId32
                              "; it must be more than half of the %" PRId32 " buckets",
                              config->what, stack->relative_distance, stack->relative_buckets);
    if (!stack->relative_buckets)
        stack->positions = rows ? TSRI_POSITIONS_LEARNED : TSRI_POSITIONS_SINUSOIDAL;
    stack->sinusoid = (tsri_model_sinusoid){.halves = true, .to_end = true, .first = 1};
    return TSR_OK;
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_config encoder = *config, decoder = *config;
    encoder.root = json_object_get(config->root, "encoder");
    decoder.root = json_object_get(config->root, "decoder");
    TRY(tsri_model_config_common(config, true, spec));
    TRY(tsri_model_config_int(config, "hidden_size", true, 1, TSRI_MODEL_MAX_WIDTH, &spec->width));
    TRY(tsri_model_config_float(config, "embed_scale", true, -1e6, 1e6, &spec->embed_scale));
    TRY(tsri_model_config_float(config, "head_scale", false, -1e6, 1e6, &spec->head_scale));
    TRY(tsri_model_config_bool(config, "head_bias", &spec->head_bias));
    TRY(tsri_model_config_bool(config, "blank_start", &spec->blank_start));
    TRY(tsri_model_config_bool(config, "source_embed", &spec->source_embed));
    TRY(tsri_model_config_int(config, "source_vocab_size", false, 1, TSRI_MODEL_MAX_VOCAB,
                              &spec->source_vocab));
    TRY(tsri_model_config_int(config, "token_types", false, 0, TSRI_MODEL_MAX_WIDTH,
                              &spec->token_types));
    TRY(tsri_model_config_int(config, "decoder_start_token_id", false, -1, INT32_MAX,
                              &spec->decoder_start));
    if (encoder.root)
        TRY(read_stack(&encoder, &spec->encoder,
                       decoder.root ? &spec->source_context : &spec->max_positions));
    if (!decoder.root)
        return TSR_OK;
    TRY(read_stack(&decoder, &spec->decoder, &spec->max_positions));
    TRY(tsri_model_config_int(config, "alignment_heads", false, 0, TSRI_MODEL_MAX_WIDTH,
                              &spec->alignment_heads));
    return tsri_model_config_int(config, "alignment_back", false, 0, spec->decoder.layers - 1,
                                 &spec->alignment_back);
}

/* All layers of T5 name the first layer's bias. */
static const char *const ignored[] = {"self_attention.relative_attention_bias.weight", NULL};

/* In a gated feed-forward part, linear_0 is the gate. */
/* What both stacks have. */
/* clang-format off */
#define STACK \
    .position = "position_encodings", .embed_norm = "layernorm_embedding", \
    .relative = "layer_0.self_attention.relative_attention_bias", .final_norm = "layer_norm", \
    .norm1 = "layer_%d.self_attention.layer_norm", .norm2 = "layer_%d.ffn.layer_norm", \
    .qkv = "layer_%d.self_attention.linear_0", .out = "layer_%d.self_attention.linear_1", \
    .gate = "layer_%d.ffn.linear_0", \
    .up = "layer_%d.ffn.linear_0_noact|layer_%d.ffn.linear_0", \
    .down = "layer_%d.ffn.linear_1", .fused = TSRI_FUSED_QKV, .ignored = ignored
/* clang-format on */

static const tsri_model_names encoder_names = {
    STACK,
    .prefix = "encoder.",
    .embed = "embeddings_0",
    .types = "embeddings_1",
    .pooler = "/pooler_dense",
};

static const tsri_model_names names = {
    STACK,
    .prefix = "decoder.",
    .embed = "embeddings|/encoder.embeddings_0",
    .head = "/decoder.projection",
    .cross_norm = "layer_%d.attention.layer_norm",
    .cross_q = "layer_%d.attention.linear_0",
    .cross_kv = "layer_%d.attention.linear_1",
    .cross_out = "layer_%d.attention.linear_2",
};

const tsri_model_arch tsri_model_arch_ctranslate2 = {
    .name = "ctranslate2",
    .names = &names,
    .encoder_names = &encoder_names,
    .read = read,
};
