/* model/arch/encoder/modernbert.c - ModernBERT: rotary positions, norms before each part, GLU, and a
 * window to both sides in two of three layers.
 * https://huggingface.co/docs/transformers/model_doc/modernbert */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/common/family.h"

#include <string.h>

/* transformers' defaults: tokens that a layer with a window sees in all, and of how many layers one has
 * no window. */
enum { LOCAL = 128, PERIOD = 3 };

static tsr_status read_window(const tsri_model_config *config, const tsri_model_spec *spec,
                              tsri_model_stack *stack) {
    double global_theta = 160000, local_theta = 10000;
    int32_t local = LOCAL, period = PERIOD;
    TRY(tsri_model_config_int(config, "local_attention", false, 0, TSRI_MODEL_MAX_POSITIONS,
                              &local));
    int32_t side = local / 2;
    TRY(tsri_model_config_int(config, "sliding_window", false, 0, TSRI_MODEL_MAX_POSITIONS, &side));
    TRY(tsri_model_config_int(config, "global_attn_every_n_layers", false, 1, INT32_MAX, &period));
    TRY(tsri_model_config_window_between(config, side + 1, period, stack));
    TRY(tsri_model_rotate_by_window(stack, TSRI_ROTATION_LOCAL, TSRI_ROTATION_MAIN));
    TRY(tsri_base_json_real(config->root, config->what, "global_rope_theta", 1e-9, 1e12,
                            &global_theta));
    TRY(tsri_base_json_real(config->root, config->what, "local_rope_theta", 1e-9, 1e12,
                            &local_theta));
    return tsri_model_config_two_ropes(config, global_theta, local_theta, spec->max_positions,
                                       stack);
}

static tsr_status read_heads(const tsri_model_config *config, tsri_model_spec *spec) {
    const char *pooling = "cls";
    spec->head_bias = true;
    spec->label_norm = spec->label_bias = true;
    spec->label_tokens = tsri_model_config_is_for(config, "ForTokenClassification");
    TRY(tsri_model_config_bool(config, "decoder_bias", &spec->head_bias));
    TRY(tsri_model_config_bool(config, "classifier_bias", &spec->dense_bias));
    TRY(tsri_model_config_activation(config, "classifier_activation", "gelu",
                                     &spec->label_activation));
    spec->masked_activation = spec->label_activation;
    if (!spec->dense_bias && tsri_io_find(config->archive, "head.dense.bias"))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"classifier_bias\" is false, but the files have the tensor "
                              "\"head.dense.bias\"",
                              config->what);
    TRY(tsri_base_json_text(config->root, config->what, "classifier_pooling", &pooling));
    spec->label_pooling = strcmp(pooling, "mean") == 0 ? TSR_POOL_MEAN : TSR_POOL_FIRST;
    if (spec->label_pooling == TSR_POOL_FIRST && strcmp(pooling, "cls") != 0)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: \"classifier_pooling\" is \"%s\", which is not served; cls and mean are",
            config->what, pooling);
    return !tsri_model_config_is_for(config, "ForMultipleChoice")
               ? TSR_OK
               : tsri_base_fail(TSR_E_UNSUPPORTED,
                                "%s: a ModernBertForMultipleChoice is not served; ForMaskedLM, "
                                "ForSequenceClassification, ForTokenClassification and "
                                "ForQuestionAnswering are",
                                config->what);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias", "mlp_bias",        "layer_types",
                                          "sliding_window", "rope_parameters", NULL};
    tsri_model_stack *stack = &spec->encoder;
    bool bias = false;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_config_common(config, true, spec));
    TRY(tsri_model_config_sizes(config, spec, stack));
    TRY(tsri_model_config_even_heads(config, "num_attention_heads", "hidden_size", spec, stack));
    TRY(tsri_model_config_bool(config, "norm_bias", &bias));
    TRY(tsri_model_config_layer_norm(config, "norm_eps", bias, stack));
    TRY(tsri_model_config_activation(config, "hidden_activation", "gelu", &stack->activation));
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    TRY(tsri_model_config_bool(config, "mlp_bias", &stack->mlp_bias));
    stack->out_bias = stack->qkv_bias;
    stack->positions = TSRI_POSITIONS_ROTARY;
    stack->embed_norm = stack->first_unnormed = stack->gated = true;
    spec->pad_fixed = true;
    TRY(read_window(config, spec, stack));
    return read_heads(config, spec);
}

static const tsri_model_names names = {
    .prefix = "model.",
    .embed = "embeddings.tok_embeddings",
    .embed_norm = "embeddings.norm",
    .norm1 = "layers.%d.attn_norm",
    .norm2 = "layers.%d.mlp_norm",
    .qkv = "layers.%d.attn.Wqkv",
    .out = "layers.%d.attn.Wo",
    .gate_up = "layers.%d.mlp.Wi",
    .down = "layers.%d.mlp.Wo",
    .final_norm = "final_norm",
    .head = "/decoder",
    .masked_dense = "/head.dense",
    .masked_norm = "/head.norm",
    .label_dense = "/head.dense",
    .label_norm = "/head.norm",
    .label = "/classifier",
    .token_label = "/classifier",
    .span_label = "/classifier",
    .fused = TSRI_FUSED_QKV,
};

static const tsri_model_names gguf_names = {
    .prefix = "",
    .embed = "token_embd",
    .embed_norm = "token_embd_norm",
    .norm1 = "blk.%d.attn_norm",
    .norm2 = "blk.%d.ffn_norm",
    .qkv = "blk.%d.attn_qkv",
    .out = "blk.%d.attn_output",
    .gate_up = "blk.%d.ffn_up",
    .down = "blk.%d.ffn_down",
    .final_norm = "output_norm",
    .masked_dense = "cls", /* which only a classifier has */
    .label_dense = "cls",
    .label_norm = "cls.norm",
    .label = "cls.output",
    .fused = TSRI_FUSED_QKV,
};

/* GGUF's window counts both sides, as local_attention does. A classifier reads the mean: llama.cpp does so for
 * this family alone. */
static tsr_status complete(const tsri_io_archive *archive, json_t *config) {
    static const struct {
        const char *field, *from;
    } same[] = {{"local_attention", "sliding_window"},
                {"global_attn_every_n_layers", "sliding_window_pattern"},
                {"global_rope_theta", "rope_theta"},
                {"local_rope_theta", "rope_local_base_freq"},
                {"norm_eps", "layer_norm_epsilon"}};
    const char *activation = NULL;
    TRY(tsri_io_meta_text(archive, "modern-bert.hidden_activation", &activation, NULL));
    tsri_model_gguf_windows(config);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (json_object_get(config, same[i].from)) {
            tsri_base_json_put(config, same[i].field,
                               json_incref(json_object_get(config, same[i].from)));
            json_object_del(config, same[i].from);
        }
    if (activation)
        tsri_base_json_put(config, "hidden_activation", json_string(activation));
    tsri_base_json_put(config, "classifier_pooling", json_string("mean"));
    return tsri_model_gguf_labels(archive, config);
}

const tsri_model_arch tsri_model_arch_modernbert = {
    .name = "modernbert",
    .gguf = "modern-bert",
    .encoder_names = &names,
    .gguf_names = &gguf_names,
    .read = read,
    .complete_gguf = complete,
};
