/* model/arch/encoder/distilbert.c - DistilBERT: BERT without segments and without a pooler.
 * https://huggingface.co/docs/transformers/model_doc/distilbert */
#include "base/error.h"
#include "model/arch/encoder/bert.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {NULL};
    tsri_model_stack *stack = &spec->encoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_config_common(config, true, spec));
    TRY(tsri_model_config_int(config, "dim", true, 1, TSRI_MODEL_MAX_WIDTH, &spec->width));
    TRY(tsri_model_config_int(config, "n_layers", true, 1, TSRI_MODEL_MAX_LAYERS, &stack->layers));
    TRY(tsri_model_config_int(config, "hidden_dim", true, 1, TSRI_MODEL_MAX_WIDTH, &stack->ffn));
    TRY(tsri_model_config_long(config, "max_position_embeddings", true, 1, TSRI_MODEL_MAX_POSITIONS,
                               &spec->max_positions));
    TRY(tsri_model_config_even_heads(config, "n_heads", "dim", spec, stack));
    /* sinusoidal_pos_embds says how the table was initialised; the file has the table in any
     * case */
    stack->positions = TSRI_POSITIONS_LEARNED;
    stack->norm = TSR_NORM_LAYER;
    stack->norm_bias = true;
    stack->norm_eps = 1e-12f; /* not in the config */
    TRY(tsri_model_config_activation(config, "activation", "gelu", &stack->activation));
    stack->place = TSRI_NORM_POST;
    stack->final_norm = false;
    stack->embed_norm = true;
    spec->pad_fixed = true;
    stack->qkv_bias = stack->out_bias = stack->mlp_bias = true;
    spec->dense_bias = spec->label_bias = true;
    spec->masked_activation = stack->activation;
    spec->label_activation = TSR_ACT_RELU;
    spec->label_tokens = tsri_model_config_is_for(config, "ForTokenClassification");
    return TSR_OK;
}

static const tsri_model_names names = {
    .prefix = "distilbert.",
    TSRI_MODEL_NAMES_BERT_EMBEDDING,
    .norm1 = "transformer.layer.%d.sa_layer_norm",
    .norm2 = "transformer.layer.%d.output_layer_norm",
    TSRI_MODEL_NAMES_QKV("transformer.layer.%d.attention.", "q_lin", "k_lin", "v_lin"),
    .out = "transformer.layer.%d.attention.out_lin",
    .up = "transformer.layer.%d.ffn.lin1",
    .down = "transformer.layer.%d.ffn.lin2",
    .head = "/vocab_projector",
    .head_bias = "/vocab_projector",
    .masked_dense = "/vocab_transform",
    .masked_norm = "/vocab_layer_norm",
    .label_dense = "/pre_classifier",
    TSRI_MODEL_NAMES_BERT_LABELS,
};

const tsri_model_arch tsri_model_arch_distilbert = {
    .name = "distilbert",
    .encoder_names = &names,
    .read = read,
};
