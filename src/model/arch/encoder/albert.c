/* model/arch/encoder/albert.c - ALBERT: BERT whose layers share their weights and whose embedding
 * table is narrower than its layers.
 * https://huggingface.co/docs/transformers/model_doc/albert */
#include "base/error.h"
#include "model/arch/encoder/bert.h"

#include <inttypes.h>

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->encoder;
    int32_t inner = 1;
    spec->token_types = 2;
    TRY(tsri_model_arch_bert_like(config, spec));
    stack->groups = 1;
    TRY(tsri_model_config_int(config, "num_hidden_groups", false, 1, TSRI_MODEL_MAX_LAYERS,
                              &stack->groups));
    TRY(tsri_model_config_int(config, "inner_group_num", false, 1, TSRI_MODEL_MAX_LAYERS, &inner));
    if (inner != 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"inner_group_num\" is %" PRId32 "; only 1 is served",
                              config->what, inner);
    TRY(tsri_model_config_activation(config, "hidden_act", "gelu_new", &stack->activation));
    spec->masked_activation = stack->activation;
    return tsri_model_config_int(config, "embedding_size", true, 1, TSRI_MODEL_MAX_WIDTH,
                                 &spec->embed_width);
}

static const char *const unserved[] = {"sop_classifier.", NULL}; /* sentence order */

#define LAYER "encoder.albert_layer_groups.%d.albert_layers.0."
static const tsri_model_names names = {
    .prefix = "albert.",
    .embed = "embeddings.word_embeddings",
    .position = "embeddings.position_embeddings",
    .types = "embeddings.token_type_embeddings",
    .embed_norm = "embeddings.LayerNorm",
    .project = "encoder.embedding_hidden_mapping_in",
    .norm1 = LAYER "attention.LayerNorm",
    .norm2 = LAYER "full_layer_layer_norm",
    .q = LAYER "attention.query",
    .k = LAYER "attention.key",
    .v = LAYER "attention.value",
    .out = LAYER "attention.dense",
    .up = LAYER "ffn",
    .down = LAYER "ffn_output",
    .pooler = "pooler",
    .head = "/predictions.decoder",
    .head_bias = "/predictions|/predictions.decoder",
    .masked_dense = "/predictions.dense",
    .masked_norm = "/predictions.LayerNorm",
    .label = "/classifier",
    .token_label = "/classifier",
    .ignored = tsri_model_names_position_ids,
    .unserved = unserved,
};

const tsri_model_arch tsri_model_arch_albert = {
    .name = "albert",
    .encoder_names = &names,
    .read = read,
};
