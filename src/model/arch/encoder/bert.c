/* model/arch/encoder/bert.c - BERT, and MiniLM, which has the same layout:
 * https://huggingface.co/docs/transformers/model_doc/bert */
#include "model/arch/encoder/bert.h"
#include "base/error.h"

static tsr_status read_sizes(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->encoder;
    TRY(tsri_model_config_sizes(config, spec, stack));
    TRY(tsri_model_config_int(config, "type_vocab_size", false, 0, TSRI_MODEL_MAX_WIDTH,
                              &spec->token_types));
    return tsri_model_config_even_heads(config, "num_attention_heads", "hidden_size", spec, stack);
}

/* All but the positions. */
static tsr_status read_layout(const tsri_model_config *config, const char *const *handled,
                              tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->encoder;
    bool decoder = false;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_config_common(config, true, spec));
    TRY(tsri_model_config_bool(config, "is_decoder", &decoder));
    if (decoder)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: \"is_decoder\" is true; this family is served only as an encoder", config->what);
    TRY(read_sizes(config, spec));
    stack->norm = TSR_NORM_LAYER;
    stack->norm_bias = true;
    stack->norm_eps = 1e-12f;
    TRY(tsri_model_config_float(config, "layer_norm_eps", false, 1e-15, 1, &stack->norm_eps));
    TRY(tsri_model_config_activation(config, "hidden_act", "gelu", &stack->activation));
    stack->place = TSRI_NORM_POST;
    stack->final_norm = false;
    stack->embed_norm = true;
    spec->pad_fixed = true;
    stack->qkv_bias = stack->out_bias = stack->mlp_bias = true;
    spec->dense_bias = spec->label_bias = true;
    spec->masked_activation = stack->activation;
    spec->label_activation = TSR_ACT_TANH;
    spec->label_tokens = tsri_model_config_is_for(config, "ForTokenClassification");
    return TSR_OK;
}

tsr_status tsri_model_arch_bert_like(const tsri_model_config *config, tsri_model_spec *spec) {
    spec->encoder.positions = TSRI_POSITIONS_LEARNED;
    TRY(tsri_model_config_only(config, "position_embedding_type", "absolute"));
    return read_layout(config, NULL, spec);
}

tsr_status tsri_model_arch_bert_rotary(const tsri_model_config *config, double theta,
                                       tsri_model_spec *spec) {
    static const char *const handled[] = {"rope_scaling", "rope_parameters", NULL};
    tsri_model_stack *stack = &spec->encoder;
    TRY(read_layout(config, handled, spec));
    stack->positions = TSRI_POSITIONS_ROTARY;
    stack->rope.rotary = stack->head_size;
    spec->masked_activation = TSR_ACT_GELU;
    return tsri_model_config_rope(config, theta, spec->max_positions, &stack->rope);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    spec->token_types = 2;
    return tsri_model_arch_bert_like(config, spec);
}

const char *const tsri_model_names_position_ids[] = {"embeddings.position_ids", NULL};

static const tsri_model_names names = {
    .prefix = "bert.",
    TSRI_MODEL_NAMES_BERT,
    .pooler = "pooler.dense",
    .head = "/cls.predictions.decoder",
    .head_bias = "/cls.predictions|/cls.predictions.decoder",
    TSRI_MODEL_NAMES_BERT_MASKED("/cls.predictions.transform."),
    .next = "/cls.seq_relationship",
    TSRI_MODEL_NAMES_BERT_LABELS,
};

const tsri_model_arch tsri_model_arch_bert = {
    .name = "bert",
    .gguf = "bert",
    .encoder_names = &names,
    .gguf_names = &tsri_model_names_gguf_encoder,
    .read = read,
    .complete_gguf = tsri_model_gguf_encoder,
};
