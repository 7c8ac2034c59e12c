/* model/arch/encoder/gte.c - GTE of 2024, and Arctic Embed 2.0, which has its layout: BERT with rotary
 * positions and GLU. Its first files are of the model type "new".
 * https://huggingface.co/docs/transformers/model_doc/gte */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/encoder/bert.h"

#include <string.h>

/* Keys of the first files of which one value is served. */
static const tsri_model_neutral fixed[] = {{"logn_attention_scale", TSRI_NEUTRAL_FALSE},
                                           {"logn_attention_clip1", TSRI_NEUTRAL_FALSE}};

static tsr_status read_with(const tsri_model_config *config, double theta, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->encoder;
    TRY(tsri_model_config_refuse_table(config, fixed, sizeof fixed / sizeof *fixed, NULL));
    TRY(tsri_model_config_only(config, "position_embedding_type", "rope"));
    TRY(tsri_model_config_only(config, "layer_norm_type", "layer_norm"));
    spec->token_types = 1;
    TRY(tsri_model_arch_bert_rotary(config, theta, spec));
    stack->gated = stack->inner_unbiased = true;
    return TSR_OK;
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    return read_with(config, 160000, spec);
}

/* The first files scale by "ntk", which other families give other meanings: it is read here. */
static tsr_status read_first(const tsri_model_config *config, tsri_model_spec *spec) {
    const json_t *scaling = json_object_get(config->root, "rope_scaling");
    const char *type = json_string_value(json_object_get(scaling, "type"));
    if (!type || strcmp(type, "ntk") != 0)
        return read_with(config, 10000, spec);
    double factor = 1;
    TRY(tsri_base_json_real(scaling, config->what, "factor", 1, 1e6, &factor));
    if (json_object_get(scaling, "mixed_b") && !json_is_null(json_object_get(scaling, "mixed_b")))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"rope_scaling\" has \"mixed_b\", which is not served; only "
                              "\"type\" and \"factor\" are read",
                              config->what);
    json_t *root = json_copy(config->root);
    const tsri_model_config plain = {
        .root = root, .what = config->what, .archive = config->archive};
    json_object_del(root, "rope_scaling");
    const tsr_status status =
        root ? read_with(&plain, 10000, spec) : tsri_base_json_made(root, config->what);
    json_decref(root);
    spec->encoder.rope.scaling = TSRI_SCALING_NTK;
    spec->encoder.rope.factor = factor;
    return status;
}

#define LAYER(now, first) "layers.%d." now "|encoder.layer.%d." first

/* clang-format off */
#define NAMES \
    .embed = "embeddings.word_embeddings", .types = "embeddings.token_type_embeddings", \
    .embed_norm = "embeddings.LayerNorm", \
    .norm1 = LAYER("post_attention_layernorm", "attn_ln"), .norm2 = LAYER("post_mlp_layernorm", "mlp_ln"), \
    TSRI_MODEL_NAMES_QKV("layers.%d.self_attn.", "q_proj", "k_proj", "v_proj"), \
    .qkv = "encoder.layer.%d.attention.qkv_proj", .out = LAYER("self_attn.o_proj", "attention.o_proj"), \
    .gate = "layers.%d.mlp.gate_proj", .up = "layers.%d.mlp.up_proj", \
    .up_gate = "encoder.layer.%d.mlp.up_gate_proj", .down = LAYER("mlp.down_proj", "mlp.down_proj"), \
    .pooler = "pooler.dense", .head = "/lm_head.decoder", .head_bias = "/lm_head.decoder", \
    .masked_dense = "/lm_head.dense", .masked_norm = "/lm_head.layer_norm|/lm_head.norm", \
    TSRI_MODEL_NAMES_BERT_LABELS
/* clang-format on */

static const tsri_model_names names = {.prefix = "gte.", NAMES};
static const tsri_model_names first_names = {.prefix = "new.", NAMES};

const tsri_model_arch tsri_model_arch_gte = {
    .name = "gte",
    .encoder_names = &names,
    .read = read,
};

const tsri_model_arch tsri_model_arch_new = {
    .name = "new",
    .encoder_names = &first_names,
    .read = read_first,
};
