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
    if (stack->layers % stack->groups)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"num_hidden_groups\" is %" PRId32
                              ", which does not divide \"num_hidden_layers\" %" PRId32
                              "; only equal groups are served",
                              config->what, stack->groups, stack->layers);
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
    TSRI_MODEL_NAMES_BERT_EMBEDDING,
    .types = "embeddings.token_type_embeddings",
    .project = "encoder.embedding_hidden_mapping_in",
    .norm1 = LAYER "attention.LayerNorm",
    .norm2 = LAYER "full_layer_layer_norm",
    TSRI_MODEL_NAMES_QKV(LAYER "attention.", "query", "key", "value"),
    .out = LAYER "attention.dense",
    .up = LAYER "ffn",
    .down = LAYER "ffn_output",
    .pooler = "pooler",
    .head = "/predictions.decoder",
    .head_bias = "/predictions|/predictions.decoder",
    TSRI_MODEL_NAMES_BERT_MASKED("/predictions."),
    TSRI_MODEL_NAMES_BERT_LABELS,
    .unserved = unserved,
};

const tsri_model_arch tsri_model_arch_albert = {
    .name = "albert",
    .encoder_names = &names,
    .read = read,
};
