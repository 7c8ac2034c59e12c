/* model/arch/gpt/mpt.c - MPT: ALiBi, layer norms and matrices without biases, one matrix for
 * queries, keys and values. https://huggingface.co/docs/transformers/model_doc/mpt */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/common/family.h"

#include <stdio.h>

enum { BIAS_MAX = 8 };

/* attn_config: transformers computes one kind of attention, and other programs what these fields
 * say. */
static tsr_status read_attention(const tsri_model_config *config, tsri_model_stack *stack) {
    static const char *const handled[] = {"alibi", NULL};
    json_t *object = json_object_get(config->root, "attn_config");
    char what[512];
    snprintf(what, sizeof what, "%s: \"attn_config\"", config->what);
    const tsri_model_config inner = {.root = object, .what = what};
    bool alibi = true;
    int32_t most = BIAS_MAX;
    if (!object || json_is_null(object))
        return TSR_OK;
    if (!json_is_object(object))
        return tsri_base_fail(TSR_E_FORMAT, "%s must be an object", what);
    TRY(tsri_model_config_refuse(&inner, handled));
    TRY(tsri_model_config_only(&inner, "attn_type", "multihead_attention"));
    TRY(tsri_model_config_bool(&inner, "alibi", &alibi));
    TRY(tsri_model_config_int(&inner, "alibi_bias_max", false, 0, INT32_MAX, &most));
    if (!alibi || most != BIAS_MAX)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"alibi\" is %s and \"alibi_bias_max\" %d; only true and %d are "
                              "served",
                              what, alibi ? "true" : "false", most, BIAS_MAX);
    return tsri_model_config_float(&inner, "softmax_scale", false, 1e-6, 1e6,
                                   &stack->attention_scale);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_config_common(config, true, spec));
    TRY(tsri_model_config_int(config, "d_model", true, 1, TSRI_MODEL_MAX_WIDTH / 4, &spec->width));
    TRY(tsri_model_config_int(config, "n_layers", true, 1, TSRI_MODEL_MAX_LAYERS, &stack->layers));
    TRY(tsri_model_config_long(config, "max_seq_len", true, 1, TSRI_MODEL_MAX_ALIBI,
                               &spec->max_positions));
    TRY(tsri_model_config_even_heads(config, "n_heads", "d_model", spec, stack));
    TRY(read_attention(config, stack));
    stack->ffn = 4 * spec->width;
    stack->positions = TSRI_POSITIONS_ALIBI;
    stack->activation = TSR_ACT_GELU; /* not in the config */
    return tsri_model_config_layer_norm(config, "layer_norm_epsilon", false, stack);
}

static const tsri_model_names names = {
    .prefix = "transformer.",
    .embed = "wte",
    .final_norm = "norm_f",
    .head = "/lm_head",
    .norm1 = "blocks.%d.norm_1",
    .norm2 = "blocks.%d.norm_2",
    .qkv = "blocks.%d.attn.Wqkv",
    .out = "blocks.%d.attn.out_proj",
    .up = "blocks.%d.ffn.up_proj",
    .down = "blocks.%d.ffn.down_proj",
    .fused = TSRI_FUSED_QKV,
};

static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    double most = BIAS_MAX;
    TRY(tsri_io_meta_real(archive, "mpt.attention.max_alibi_bias", 0, 1e6, &most));
    tsri_base_json_put(config, "attn_config", json_pack("{s:i}", "alibi_bias_max", (int)most));
    tsri_base_json_rename(config, "hidden_size", "d_model");
    tsri_base_json_rename(config, "num_hidden_layers", "n_layers");
    tsri_base_json_rename(config, "num_attention_heads", "n_heads");
    tsri_base_json_rename(config, "max_position_embeddings", "max_seq_len");
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_mpt = {
    .name = "mpt",
    .gguf = "mpt",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf_fused,
    .read = read,
    .complete_gguf = complete_gguf,
};
