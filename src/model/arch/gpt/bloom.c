/* model/arch/gpt/bloom.c - BLOOM: ALiBi instead of positions, a norm of the embedding, one
 * matrix for q, k and v, ordered by head. https://huggingface.co/docs/transformers/model_doc/bloom
 */
#include "base/error.h"
#include "model/arch/gpt/gpt_neox.h"

enum { READS = 2048 }; /* tokens, if the config names no bound: the model itself has none */

/* The key's other name where the config has that, which takes precedence in transformers, too. */
static const char *named(const tsri_model_config *config, const char *other, const char *key) {
    const json_t *value = json_object_get(config->root, other);
    return value && !json_is_null(value) ? other : key;
}

/* The first published models have "n_embed" and "num_attention_heads". */
static tsr_status read_sizes(const tsri_model_config *config, tsri_model_spec *spec) {
    const char *width = named(config, "n_embed", "hidden_size"),
               *layers = named(config, "num_hidden_layers", "n_layer"),
               *heads = named(config, "num_attention_heads", "n_head");
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_int(config, width, true, 1, TSRI_MODEL_MAX_WIDTH / 4, &spec->width));
    TRY(tsri_model_config_int(config, layers, true, 1, TSRI_MODEL_MAX_LAYERS, &stack->layers));
    TRY(tsri_model_config_even_heads(config, heads, width, spec, stack));
    stack->ffn = 4 * spec->width;
    spec->max_positions = READS;
    return tsri_model_config_long(config, "seq_length", false, 1, TSRI_MODEL_MAX_ALIBI,
                                  &spec->max_positions);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"alibi", NULL};
    tsri_model_stack *stack = &spec->decoder;
    bool after = false;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_config_common(config, true, spec));
    TRY(read_sizes(config, spec));
    TRY(tsri_model_config_bool(config, "apply_residual_connection_post_layernorm", &after));
    if (after)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: \"apply_residual_connection_post_layernorm\" is true; only false is served",
            config->what);
    stack->positions = TSRI_POSITIONS_ALIBI;
    stack->positions_of_tokens = true;
    TRY(tsri_model_config_layer_norm(config, "layer_norm_epsilon", true, stack));
    stack->embed_norm = true;
    stack->activation = TSR_ACT_GELU_TANH; /* not in the config */
    stack->qkv_bias = stack->out_bias = stack->mlp_bias = true;
    return TSR_OK;
}

static const tsri_model_names names = {
    .prefix = "transformer.",
    .embed = "word_embeddings",
    .embed_norm = "word_embeddings_layernorm",
    .final_norm = "ln_f",
    .head = "/lm_head",
    TSRI_MODEL_NAMES_MEGATRON("h.%d.", "self_attention."),
};

const tsri_model_arch tsri_model_arch_bloom = {
    .name = "bloom",
    .names = &names,
    .read = read,
};
