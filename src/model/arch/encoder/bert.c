/* model/arch/encoder/bert.c - BERT, and MiniLM, which has the same layout; and the BERT of Jina Embeddings 2,
 * which has ALiBi in place of positions, and a gate:
 * https://huggingface.co/docs/transformers/model_doc/bert
 * Günther et al. 2023, arXiv:2310.19923 */
#include "model/arch/encoder/bert.h"
#include "base/error.h"
#include "base/json.h"

#include <string.h>

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

/* Jina's names of feed-forward parts: those with a gate have activations of their own. */
static tsr_status read_gate(const tsri_model_config *config, tsri_model_stack *stack) {
    static const struct {
        const char *name;
        tsr_activation activation;
    } gates[] = {{"geglu", TSR_ACT_GELU}, {"reglu", TSR_ACT_RELU}};
    const char *type = "original";
    TRY(tsri_base_json_text(config->root, config->what, "feed_forward_type", &type));
    for (size_t i = 0; i < sizeof gates / sizeof *gates; i++)
        if (!strcmp(type, gates[i].name)) {
            stack->gated = stack->inner_unbiased = true;
            stack->activation = gates[i].activation;
        }
    return stack->gated || !strcmp(type, "original")
               ? TSR_OK
               : tsri_base_fail(TSR_E_UNSUPPORTED,
                                "%s: \"feed_forward_type\" is \"%s\"; original, geglu and reglu "
                                "are served",
                                config->what, type);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    const char *positions = "absolute";
    spec->token_types = 2;
    TRY(tsri_base_json_text(config->root, config->what, "position_embedding_type", &positions));
    if (strcmp(positions, "alibi") != 0)
        TRY(tsri_model_arch_bert_like(config, spec));
    else
        TRY(read_layout(config, NULL, spec));
    if (!strcmp(positions, "alibi"))
        spec->encoder.positions = TSRI_POSITIONS_ALIBI;
    return read_gate(config, &spec->encoder);
}

const char *const tsri_model_names_position_ids[] = {"embeddings.position_ids", NULL};

static const tsri_model_names names = {
    .prefix = "bert.",
    TSRI_MODEL_NAMES_BERT,
    .gate_up = "encoder.layer.%d.mlp.gated_layers",
    .pooler = "pooler.dense",
    .head = "/cls.predictions.decoder",
    .head_bias = "/cls.predictions|/cls.predictions.decoder",
    TSRI_MODEL_NAMES_BERT_MASKED("/cls.predictions.transform."),
    .next = "/cls.seq_relationship",
    TSRI_MODEL_NAMES_BERT_LABELS,
};

const tsri_model_arch tsri_model_arch_bert = {
    .name = "bert",
    .classes = "JinaBert",
    .gguf = "bert",
    .encoder_names = &names,
    .gguf_names = &tsri_model_names_gguf_encoder,
    .read = read,
    .complete_gguf = tsri_model_gguf_encoder,
};

/* What GGUF files of Jina Embeddings 2 do not say. */
static tsr_status complete_jina(const tsri_io_archive *archive, json_t *config) {
    tsri_base_json_put(config, "position_embedding_type", json_string("alibi"));
    tsri_base_json_put(config, "feed_forward_type", json_string("geglu"));
    return tsri_model_gguf_encoder(archive, config);
}

/* In Hugging Face's files its model_type is bert. */
const tsri_model_arch tsri_model_arch_jina_bert_v2 = {
    .name = "jina_bert_v2",
    .gguf = "jina-bert-v2",
    .encoder_names = &names,
    .gguf_names = &tsri_model_names_gguf_encoder,
    .read = read,
    .complete_gguf = complete_jina,
};
