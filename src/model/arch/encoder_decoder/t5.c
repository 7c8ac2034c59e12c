/* model/arch/encoder_decoder/t5.c - T5: RMS norms before the blocks, a bias by distance instead of
 * positions, no scaling of scores; from version 1.1 on gated, with a separate output matrix. mT5 is
 * version 1.1 for many languages; in umT5 each layer has a bias of its own.
 * https://huggingface.co/docs/transformers/model_doc/t5
 * https://huggingface.co/docs/transformers/model_doc/mt5
 * https://huggingface.co/docs/transformers/model_doc/umt5 */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/common/family.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { READS = 1 << 16 }; /* no table limits the positions */

/* What transformers has made of feed_forward_proj, and writes into files, too; there it takes precedence. */
static tsr_status read_made(const tsri_model_config *config, tsri_model_stack *stack) {
    const json_t *activation = json_object_get(config->root, "dense_act_fn");
    TRY(tsri_model_config_bool(config, "is_gated_act", &stack->gated));
    return !activation || json_is_null(activation)
               ? TSR_OK
               : tsri_model_config_activation(config, "dense_act_fn", NULL, &stack->activation);
}

/* `kind`: where feed_forward_proj is missing. */
static tsr_status read_feed_forward(const tsri_model_config *config, const char *kind,
                                    tsri_model_stack *stack) {
    TRY(tsri_base_json_text(config->root, config->what, "feed_forward_proj", &kind));
    stack->gated = strncmp(kind, "gated-", 6) == 0;
    kind += stack->gated ? 6 : 0;
    if (!strcmp(kind, "relu"))
        stack->activation = TSR_ACT_RELU;
    else if (!strcmp(kind, "gelu")) /* "gated-gelu" means gelu_new, and is the only gelu in use */
        stack->activation = stack->gated ? TSR_ACT_GELU_TANH : TSR_ACT_GELU;
    else if (!strcmp(kind, "gelu_new"))
        stack->activation = TSR_ACT_GELU_TANH;
    else if (!strcmp(kind, "silu"))
        stack->activation = TSR_ACT_SILU;
    else
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"feed_forward_proj\" is \"%s%s\"; relu, gelu, gelu_new, silu "
                              "and their gated- forms are served",
                              config->what, stack->gated ? "gated-" : "", kind);
    return read_made(config, stack);
}

static tsr_status read_stack(const tsri_model_config *config, const char *kind,
                             tsri_model_stack *stack) {
    TRY(tsri_model_config_int(config, "num_heads", true, 1, TSRI_MODEL_MAX_WIDTH, &stack->heads));
    TRY(tsri_model_config_int(config, "d_kv", true, 1, TSRI_MODEL_MAX_WIDTH, &stack->head_size));
    TRY(tsri_model_config_int(config, "d_ff", true, 1, TSRI_MODEL_MAX_WIDTH, &stack->ffn));
    stack->kv_heads = stack->heads;
    stack->value_size = stack->head_size;
    stack->relative_buckets = 32;
    stack->relative_distance = 128;
    TRY(tsri_model_config_int(config, "relative_attention_num_buckets", false, 4, 4096,
                              &stack->relative_buckets));
    TRY(tsri_model_config_int(config, "relative_attention_max_distance", false, 2, 1 << 20,
                              &stack->relative_distance));
    if (stack->relative_distance <= stack->relative_buckets / 2)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: relative_attention_max_distance is %" PRId32
            "; it must be more than half of relative_attention_num_buckets %" PRId32,
            config->what, stack->relative_distance, stack->relative_buckets);
    stack->norm = TSR_NORM_RMS;
    stack->norm_eps = 1e-6f;
    TRY(tsri_model_config_float(config, "layer_norm_epsilon", false, 1e-12, 1, &stack->norm_eps));
    stack->attention_scale = 1;
    return read_feed_forward(config, kind, stack);
}

/* Whether the output matrix is one of its own, by its name in Hugging Face's files or GGUF's. */
static bool has_output(const tsri_io_archive *archive) {
    return tsri_io_find(archive, "lm_head.weight") || tsri_io_find(archive, "output.weight");
}

static tsr_status read_with(const tsri_model_config *config, const char *kind,
                            tsri_model_spec *spec) {
    static const char *const handled[] = {"is_encoder_decoder", NULL};
    bool scaled;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_config_common(config, true, spec));
    /* newer files use scale_decoder_outputs for what tie_word_embeddings used to say */
    scaled = spec->tied;
    TRY(tsri_model_config_bool(config, "scale_decoder_outputs", &scaled));
    /* of a file that has both, version 1.1's output matrix is its own */
    spec->tied = !has_output(config->archive) || scaled;
    TRY(tsri_model_config_int(config, "d_model", true, 1, TSRI_MODEL_MAX_WIDTH, &spec->width));
    TRY(tsri_model_config_int(config, "num_layers", true, 1, TSRI_MODEL_MAX_LAYERS,
                              &spec->encoder.layers));
    spec->decoder.layers = spec->encoder.layers;
    TRY(tsri_model_config_int(config, "num_decoder_layers", false, 1, TSRI_MODEL_MAX_LAYERS,
                              &spec->decoder.layers));
    TRY(tsri_model_config_int(config, "decoder_start_token_id", false, -1, INT32_MAX,
                              &spec->decoder_start));
    spec->max_positions = READS;
    if (scaled)
        spec->head_scale = (float)(1 / sqrt(spec->width));
    TRY(read_stack(config, kind, &spec->encoder));
    TRY(read_stack(config, kind, &spec->decoder));
    spec->decoder.cross = true;
    return TSR_OK;
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    return read_with(config, "relu", spec);
}

/* Its output matrix is always its own, if the files have one, and reads what is not scaled. */
static tsr_status read_mt5(const tsri_model_config *config, tsri_model_spec *spec) {
    TRY(read_with(config, "gated-gelu", spec));
    spec->tied = !has_output(config->archive);
    spec->head_scale = 1;
    return TSR_OK;
}

static tsr_status read_umt5(const tsri_model_config *config, tsri_model_spec *spec) {
    TRY(read_with(config, "gated-gelu", spec));
    spec->encoder.relative_by_layer = spec->decoder.relative_by_layer = true;
    return TSR_OK;
}

/* old files store a bias of cross-attention, which is not used */
static const char *const ignored[] = {"EncDecAttention.relative_attention_bias.weight", NULL};
/* What both stacks have; `mlp` is the number of the feed-forward block in a layer, `biased` of the layer
 * that has the bias by distance. */
/* clang-format off */
#define STACK(side, mlp, biased) \
    .prefix = "", .embed = "shared|encoder.embed_tokens|decoder.embed_tokens", \
    .relative = side ".block." biased ".layer.0.SelfAttention.relative_attention_bias", \
    .final_norm = side ".final_layer_norm", \
    .norm1 = side ".block.%d.layer.0.layer_norm", \
    .norm2 = side ".block.%d.layer." mlp ".layer_norm", \
    TSRI_MODEL_NAMES_QKV(side ".block.%d.layer.0.SelfAttention.", "q", "k", "v"), \
    .out = side ".block.%d.layer.0.SelfAttention.o", \
    .gate = side ".block.%d.layer." mlp ".DenseReluDense.wi_0", \
    .up = side ".block.%d.layer." mlp ".DenseReluDense.wi_1|" \
          side ".block.%d.layer." mlp ".DenseReluDense.wi", \
    .down = side ".block.%d.layer." mlp ".DenseReluDense.wo"

#define DECODER(biased) \
    STACK("decoder", "2", biased), .head = "/lm_head", .stack = "decoder.", \
    .cross_norm = "decoder.block.%d.layer.1.layer_norm", .ignored = ignored, \
    TSRI_MODEL_NAMES_CROSS("decoder.block.%d.layer.1.EncDecAttention.", "q", "k", "v", "o")
/* clang-format on */

/* clang-format off */
#define GGUF_STACK(side, biased) \
    .prefix = "", .embed = "token_embd", .relative = side ".blk." biased ".attn_rel_b", \
    .final_norm = side ".output_norm", .norm1 = side ".blk.%d.attn_norm", .norm2 = side ".blk.%d.ffn_norm", \
    TSRI_MODEL_NAMES_QKV(side ".blk.%d.attn_", "q", "k", "v"), .out = side ".blk.%d.attn_o", \
    .gate = side ".blk.%d.ffn_gate", .up = side ".blk.%d.ffn_up", .down = side ".blk.%d.ffn_down"

#define GGUF_DECODER(biased) \
    GGUF_STACK("dec", biased), .head = "/output", .stack = "dec.", .cross_norm = "dec.blk.%d.cross_attn_norm", \
    .ignored = gguf_ignored, TSRI_MODEL_NAMES_CROSS("dec.blk.%d.cross_attn_", "q", "k", "v", "o")
/* clang-format on */

static const char *const gguf_ignored[] = {".cross_attn_rel_b.weight", NULL};

static const tsri_model_names gguf_encoder_names = {GGUF_STACK("enc", "0")},
                              gguf_names = {GGUF_DECODER("0")},
                              gguf_by_layer_encoder_names = {GGUF_STACK("enc", "%d")},
                              gguf_by_layer_names = {GGUF_DECODER("%d")};

/* A bias in each layer makes it an umT5. */
static const char *family_of(const tsri_io_archive *archive) {
    return tsri_io_find(archive, "enc.blk.1.attn_rel_b.weight") ? "umt5" : NULL;
}

static tsr_status complete(const tsri_io_archive *archive, json_t *config) {
    static const struct {
        const char *field, *from;
    } same[] = {{"d_model", "hidden_size"},           {"num_layers", "num_hidden_layers"},
                {"num_heads", "num_attention_heads"}, {"d_kv", "head_dim"},
                {"d_ff", "intermediate_size"},        {"layer_norm_epsilon", "rms_norm_eps"}};
    static const struct {
        const char *field, *key;
    } own[] = {{"num_decoder_layers", "decoder_block_count"},
               {"decoder_start_token_id", "decoder_start_token_id"},
               {"relative_attention_num_buckets", "attention.relative_buckets_count"}};
    const char *name = NULL;
    TRY(tsri_io_meta_text(archive, "general.architecture", &name, NULL));
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (json_object_get(config, same[i].from))
            tsri_base_json_put(config, same[i].field,
                               json_incref(json_object_get(config, same[i].from)));
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        char key[96];
        int64_t value = -1;
        snprintf(key, sizeof key, "%s.%s", name, own[i].key);
        TRY(tsri_io_meta_int(archive, key, 0, INT32_MAX, &value));
        if (value >= 0)
            tsri_base_json_put(config, own[i].field, json_integer(value));
    }
    if (!strcmp(name, "t5encoder"))
        tsri_base_json_put(config, "architectures", json_pack("[s]", "T5EncoderModel"));
    /* The first T5 alone, which has no gates, has one matrix for both, and scales what it reads. */
    const bool gated = tsri_io_find(archive, "enc.blk.0.ffn_gate.weight") != NULL;
    tsri_base_json_put(config, "feed_forward_proj", json_string(gated ? "gated-gelu" : "relu"));
    tsri_base_json_put(config, "scale_decoder_outputs",
                       json_boolean(!gated && !has_output(archive)));
    return TSR_OK;
}

static const tsri_model_names encoder_names = {STACK("encoder", "1", "0")}, names = {DECODER("0")},
                              by_layer_encoder_names = {STACK("encoder", "1", "%d")},
                              by_layer_names = {DECODER("%d")};

const tsri_model_arch tsri_model_arch_t5 = {
    .name = "t5",
    .gguf = "t5|t5encoder",
    .names = &names,
    .encoder_names = &encoder_names,
    .gguf_names = &gguf_names,
    .gguf_encoder_names = &gguf_encoder_names,
    .gguf_family = family_of,
    .read = read,
    .complete_gguf = complete,
};

const tsri_model_arch tsri_model_arch_mt5 = {
    .name = "mt5",
    .names = &names,
    .encoder_names = &encoder_names,
    .read = read_mt5,
};

const tsri_model_arch tsri_model_arch_umt5 = {
    .name = "umt5",
    .names = &by_layer_names,
    .encoder_names = &by_layer_encoder_names,
    .gguf_names = &gguf_by_layer_names,
    .gguf_encoder_names = &gguf_by_layer_encoder_names,
    .read = read_umt5,
    .complete_gguf = complete,
};
