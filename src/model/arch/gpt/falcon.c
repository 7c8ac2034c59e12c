/* model/arch/gpt/falcon.c - Falcon 7B, 11B, 40B, 180B: parallel branches behind one layer norm or
 * two, one matrix for queries, keys and values, ordered by key head. In the last architecture there
 * are several key heads. https://huggingface.co/docs/transformers/model_doc/falcon */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/common/family.h"

enum { READS = 2048 }; /* positions, if the config names no bound */

static tsr_status read_heads(const tsri_model_config *config, bool last, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->decoder;
    bool one = true;
    TRY(tsri_model_config_even_heads(config, "num_attention_heads", "hidden_size", spec, stack));
    TRY(tsri_model_config_bool(config, "multi_query", &one));
    if (last)
        return tsri_model_config_int(config, "num_kv_heads", false, 1, TSRI_MODEL_MAX_WIDTH,
                                     &stack->kv_heads);
    if (one)
        stack->kv_heads = 1;
    return TSR_OK;
}

/* Where norms are. Only the last architecture can have two behind which branches are parallel. */
static tsr_status read_norms(const tsri_model_config *config, bool last, tsri_model_stack *stack) {
    int32_t norms = last ? 2 : 1;
    stack->parallel = true;
    TRY(tsri_model_config_bool(config, "parallel_attn", &stack->parallel));
    TRY(tsri_model_config_int(config, "num_ln_in_parallel_attn", false, 1, 2, &norms));
    if ((last && !stack->parallel) || (!last && stack->parallel && norms == 2))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"new_decoder_architecture\" is %s, and \"%s\" %s; such a model "
                              "is not served",
                              config->what, last ? "true" : "false",
                              last ? "parallel_attn" : "num_ln_in_parallel_attn",
                              last ? "false" : "2");
    stack->one_norm = stack->parallel && norms == 1;
    return tsri_model_config_layer_norm(config, "layer_norm_epsilon", true, stack);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"parallel_attn", "rope_scaling", "rope_parameters", NULL};
    tsri_model_stack *stack = &spec->decoder;
    bool last = false;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_config_common(config, true, spec));
    TRY(tsri_model_config_int(config, "hidden_size", true, 1, TSRI_MODEL_MAX_WIDTH / 4,
                              &spec->width));
    TRY(tsri_model_config_int(config, "num_hidden_layers", true, 1, TSRI_MODEL_MAX_LAYERS,
                              &stack->layers));
    spec->max_positions = READS;
    TRY(tsri_model_config_long(config, "max_position_embeddings", false, 1,
                               TSRI_MODEL_MAX_POSITIONS, &spec->max_positions));
    TRY(tsri_model_config_bool(config, "new_decoder_architecture", &last));
    TRY(read_heads(config, last, spec));
    TRY(read_norms(config, last, stack));
    stack->ffn = 4 * spec->width;
    TRY(tsri_model_config_int(config, "ffn_hidden_size", false, 1, TSRI_MODEL_MAX_WIDTH,
                              &stack->ffn));
    TRY(tsri_model_config_activation(config, "activation", "gelu", &stack->activation));
    TRY(tsri_model_config_bool(config, "bias", &stack->qkv_bias));
    stack->out_bias = stack->mlp_bias = stack->qkv_bias;
    stack->positions = TSRI_POSITIONS_ROTARY;
    stack->rope.rotary = stack->head_size;
    return tsri_model_config_rope(config, 10000, spec->max_positions, &stack->rope);
}

static const tsri_model_names names = {
    .prefix = "transformer.",
    .embed = "word_embeddings",
    .final_norm = "ln_f",
    .head = "/lm_head",
    .norm1 = "h.%d.ln_attn|h.%d.input_layernorm",
    .norm2 = "h.%d.ln_mlp|h.%d.post_attention_layernorm",
    .qkv = "h.%d.self_attention.query_key_value",
    .out = "h.%d.self_attention.dense",
    .up = "h.%d.mlp.dense_h_to_4h",
    .down = "h.%d.mlp.dense_4h_to_h",
    .fused = TSRI_FUSED_GROUPS,
};

/* In GGUF, the norm of what attention reads has a name of its own where there are two. */
static const tsri_model_names gguf_names = {
    TSRI_MODEL_NAMES_GGUF,
    .norm1 = "blk.%d.attn_norm_2|blk.%d.attn_norm",
    .norm2 = "blk.%d.attn_norm",
    .fused = TSRI_FUSED_QKV,
};

static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    tsri_base_json_put(config, "new_decoder_architecture", json_true());
    tsri_base_json_put(config, "num_ln_in_parallel_attn",
                       json_integer(tsri_io_find(archive, "blk.0.attn_norm_2.weight") ? 2 : 1));
    tsri_base_json_rename(config, "num_key_value_heads", "num_kv_heads");
    tsri_base_json_rename(config, "intermediate_size", "ffn_hidden_size");
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_falcon = {
    .name = "falcon",
    .classes = "RW",
    .gguf = "falcon",
    .names = &names,
    .gguf_names = &gguf_names,
    .read = read,
    .complete_gguf = complete_gguf,
};
