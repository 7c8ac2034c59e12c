/* model/spec/config.c - reads the fields of a config.json, and refuses fields that would change
 * results if they were not read. */
#include "model/spec/config.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const json_t *field(const tsri_model_config *config, const char *key) {
    const json_t *value = json_object_get(config->root, key);
    return value && !json_is_null(value) ? value : NULL;
}

static tsr_status missing(const tsri_model_config *config, const char *key) {
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: \"%s\" is missing, and the model cannot be built without it",
                          config->what, key);
}

tsr_status tsri_model_config_long(const tsri_model_config *config, const char *key, bool required,
                                  int64_t lowest, int64_t highest, int64_t *out) {
    if (required && !field(config, key))
        return missing(config, key);
    return tsri_base_json_int(config->root, config->what, key, lowest, highest, out);
}

tsr_status tsri_model_config_int(const tsri_model_config *config, const char *key, bool required,
                                 int64_t lowest, int64_t highest, int32_t *out) {
    int64_t value = *out;
    TRY(tsri_model_config_long(config, key, required, lowest, highest, &value));
    *out = (int32_t)value;
    return TSR_OK;
}

tsr_status tsri_model_config_float(const tsri_model_config *config, const char *key, bool required,
                                   double lowest, double highest, float *out) {
    if (required && !field(config, key))
        return missing(config, key);
    double value = *out;
    TRY(tsri_base_json_real(config->root, config->what, key, lowest, highest, &value));
    if (field(config, key))
        *out = (float)value;
    return TSR_OK;
}

tsr_status tsri_model_config_bool(const tsri_model_config *config, const char *key, bool *out) {
    return tsri_base_json_bool(config->root, config->what, key, out);
}

tsr_status tsri_model_config_activation(const tsri_model_config *config, const char *key,
                                        const char *fallback, tsr_activation *out) {
    static const struct {
        const char *name;
        tsr_activation activation;
    } known[] = {
        {"relu", TSR_ACT_RELU},          {"gelu", TSR_ACT_GELU},
        {"gelu_new", TSR_ACT_GELU_TANH}, {"gelu_fast", TSR_ACT_GELU_TANH},
        {"silu", TSR_ACT_SILU},          {"swish", TSR_ACT_SILU},
        {"tanh", TSR_ACT_TANH},          {"gelu_pytorch_tanh", TSR_ACT_GELU_TANH},
        {"sigmoid", TSR_ACT_SIGMOID},
    };
    const char *name = fallback;
    TRY(tsri_base_json_text(config->root, config->what, key, &name));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (name && strcmp(name, known[i].name) == 0) {
            *out = known[i].activation;
            return TSR_OK;
        }
    if (!name)
        return missing(config, key);
    return tsri_base_fail(TSR_E_UNSUPPORTED,
                          "%s: \"%s\" is \"%s\", which is not served; relu, gelu, gelu_new, "
                          "gelu_fast, gelu_pytorch_tanh, silu, swish, tanh and sigmoid are",
                          config->what, key, name);
}

tsr_status tsri_model_config_layer_norm(const tsri_model_config *config, const char *key, bool bias,
                                        tsri_model_stack *stack) {
    stack->norm = TSR_NORM_LAYER;
    stack->norm_bias = bias;
    stack->norm_eps = 1e-5f;
    return tsri_model_config_float(config, key, false, 1e-15, 1, &stack->norm_eps);
}

static tsr_status read_eos(const tsri_model_config *config, tsri_model_spec *spec) {
    const json_t *value = field(config, "eos_token_id");
    if (!value)
        return TSR_OK;
    const size_t n = json_is_array(value) ? json_array_size(value) : 1;
    if (n > TSRI_MODEL_MAX_EOS)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"eos_token_id\" lists %zu ids; at most %d are read",
                              config->what, n, TSRI_MODEL_MAX_EOS);
    for (size_t i = 0; i < n; i++) {
        const json_t *id = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_integer(id) || json_integer_value(id) < -1 ||
            json_integer_value(id) >= spec->vocab)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: \"eos_token_id\" must be ids from 0 to vocab_size - 1 (%d)",
                                  config->what, spec->vocab - 1);
        if (json_integer_value(id) >= 0)
            spec->eos[spec->n_eos++] = (int32_t)json_integer_value(id);
    }
    return TSR_OK;
}

tsr_status tsri_model_config_common(const tsri_model_config *config, bool tied,
                                    tsri_model_spec *spec) {
    TRY(tsri_model_config_int(config, "vocab_size", true, 1, TSRI_MODEL_MAX_VOCAB, &spec->vocab));
    TRY(tsri_model_config_tied(config, tied, spec));
    return tsri_model_config_ids(config, spec);
}

tsr_status tsri_model_config_tied(const tsri_model_config *config, bool fallback,
                                  tsri_model_spec *spec) {
    spec->tied = fallback;
    return tsri_model_config_bool(config, "tie_word_embeddings", &spec->tied);
}

static tsr_status read_width(const tsri_model_config *config, const char *key,
                             tsri_model_spec *spec) {
    return tsri_model_config_int(config, key, true, 1, TSRI_MODEL_MAX_WIDTH, &spec->width);
}

static tsr_status read_max_positions(const tsri_model_config *config, tsri_model_spec *spec) {
    return tsri_model_config_long(config, "max_position_embeddings", true, 1,
                                  TSRI_MODEL_MAX_POSITIONS, &spec->max_positions);
}

tsr_status tsri_model_config_sizes(const tsri_model_config *config, tsri_model_spec *spec,
                                   tsri_model_stack *stack) {
    TRY(read_width(config, "hidden_size", spec));
    TRY(tsri_model_config_int(config, "num_hidden_layers", true, 1, TSRI_MODEL_MAX_LAYERS,
                              &stack->layers));
    TRY(tsri_model_config_int(config, "intermediate_size", true, 1, TSRI_MODEL_MAX_WIDTH,
                              &stack->ffn));
    return read_max_positions(config, spec);
}

tsr_status tsri_model_config_two_stacks(const tsri_model_config *config, const char *width,
                                        tsri_model_spec *spec) {
    bool scale = false;
    TRY(tsri_model_config_common(config, true, spec));
    TRY(read_width(config, width, spec));
    TRY(read_max_positions(config, spec));
    TRY(tsri_model_config_int(config, "decoder_start_token_id", false, -1, INT32_MAX,
                              &spec->decoder_start));
    TRY(tsri_model_config_bool(config, "scale_embedding", &scale));
    if (scale)
        spec->embed_scale = (float)sqrt(spec->width);
    return TSR_OK;
}

tsr_status tsri_model_config_ids(const tsri_model_config *config, tsri_model_spec *spec) {
    TRY(tsri_model_config_int(config, "bos_token_id", false, -1, INT32_MAX, &spec->bos));
    TRY(tsri_model_config_int(config, "pad_token_id", false, -1, INT32_MAX, &spec->pad));
    return read_eos(config, spec);
}

/* ---- keys that change results ---- */

static const tsri_model_neutral semantic[] = {
    {"quantization_config", TSRI_NEUTRAL_NULL},
    {"attention_bias", TSRI_NEUTRAL_FALSE},
    {"mlp_bias", TSRI_NEUTRAL_FALSE},
    {"sliding_window", TSRI_NEUTRAL_NULL},
    {"use_sliding_window", TSRI_NEUTRAL_FALSE},
    {"layer_types", TSRI_NEUTRAL_NULL},
    {"rope_scaling", TSRI_NEUTRAL_NULL},
    {"rope_parameters", TSRI_NEUTRAL_NULL},
    {"rope_interleaved", TSRI_NEUTRAL_FALSE},
    {"partial_rotary_factor", TSRI_NEUTRAL_ONE},
    {"rotary_pct", TSRI_NEUTRAL_ONE},
    {"no_rope_layers", TSRI_NEUTRAL_NULL},
    {"no_rope_layer_interval", TSRI_NEUTRAL_NULL},
    {"sliding_window_pattern", TSRI_NEUTRAL_NULL},
    {"qk_ln", TSRI_NEUTRAL_FALSE},
    {"prefix_lm", TSRI_NEUTRAL_FALSE},
    {"rope_local_base_freq", TSRI_NEUTRAL_NULL},
    {"scale_attn_weights", TSRI_NEUTRAL_TRUE},
    {"scale_attn_by_inverse_layer_idx", TSRI_NEUTRAL_FALSE},
    {"add_cross_attention", TSRI_NEUTRAL_FALSE},
    {"is_encoder_decoder", TSRI_NEUTRAL_FALSE},
    {"alibi", TSRI_NEUTRAL_FALSE},
    {"use_parallel_residual", TSRI_NEUTRAL_FALSE},
    {"parallel_attn", TSRI_NEUTRAL_FALSE},
    {"qk_layernorm", TSRI_NEUTRAL_FALSE},
    {"use_qk_norm", TSRI_NEUTRAL_FALSE},
    {"clip_qkv", TSRI_NEUTRAL_NULL},
    {"logit_scale", TSRI_NEUTRAL_ONE},
    {"logits_scaling", TSRI_NEUTRAL_ONE},
    {"residual_multiplier", TSRI_NEUTRAL_ONE},
    {"embedding_multiplier", TSRI_NEUTRAL_ONE},
    {"attention_multiplier", TSRI_NEUTRAL_NULL},
    {"attn_logit_softcapping", TSRI_NEUTRAL_NULL},
    {"final_logit_softcapping", TSRI_NEUTRAL_NULL},
    {"query_pre_attn_scalar", TSRI_NEUTRAL_NULL},
    {"use_bidirectional_attention", TSRI_NEUTRAL_FALSE},
    {"attention_chunk_size", TSRI_NEUTRAL_NULL},
    {"num_local_experts", TSRI_NEUTRAL_NULL},
    {"num_experts", TSRI_NEUTRAL_NULL},
    {"word_embed_proj_dim", TSRI_NEUTRAL_NULL},
    {"_remove_final_layer_norm", TSRI_NEUTRAL_FALSE},
    {"layer_norm_elementwise_affine", TSRI_NEUTRAL_TRUE},
    {"enable_bias", TSRI_NEUTRAL_TRUE},
    {"tie_encoder_decoder", TSRI_NEUTRAL_FALSE},
    {"num_nextn_predict_layers", TSRI_NEUTRAL_ZERO},
};

static bool is_neutral(const json_t *value, tsri_model_neutral_value wanted) {
    switch (wanted) {
    case TSRI_NEUTRAL_FALSE:
        return json_is_false(value);
    case TSRI_NEUTRAL_TRUE:
        return json_is_true(value);
    case TSRI_NEUTRAL_ONE:
        return json_is_number(value) && json_number_value(value) == 1;
    case TSRI_NEUTRAL_ZERO:
        return json_is_number(value) && json_number_value(value) == 0;
    default:
        return false;
    }
}

/* A value of a key that is not the neutral one, or NULL. The rotary share may be among the rotary parameters. */
static const json_t *semantic_field(const tsri_model_config *config,
                                    const tsri_model_neutral *neutral) {
    const json_t *const scopes[] = {config->root, json_object_get(config->root, "rope_parameters"),
                                    json_object_get(config->root, "rope_scaling")};
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        const json_t *value = json_object_get(scopes[i], neutral->key);
        if (value && !json_is_null(value) && !is_neutral(value, neutral->value))
            return value;
    }
    return NULL;
}

tsr_status tsri_model_config_refuse_table(const tsri_model_config *config,
                                          const tsri_model_neutral *table, size_t n,
                                          const char *const *handled) {
    for (size_t i = 0; i < n; i++) {
        const json_t *value = semantic_field(config, &table[i]);
        bool read = false;
        for (const char *const *key = handled; key && *key && !read; key++)
            read = strcmp(*key, table[i].key) == 0;
        if (!value || read)
            continue;
        char *text = tsri_base_json_print(value, JSON_ENCODE_ANY | JSON_COMPACT);
        const tsr_status status = tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: \"%s\" is %.60s, which changes results and is not served for this kind of model",
            config->what, table[i].key, text ? text : "set");
        free(text);
        return status;
    }
    return TSR_OK;
}

tsr_status tsri_model_config_refuse(const tsri_model_config *config, const char *const *handled) {
    return tsri_model_config_refuse_table(config, semantic, sizeof semantic / sizeof *semantic,
                                          handled);
}

/* ---- sliding windows ---- */

enum { QWEN_FULL_LAYERS = 28 }; /* if max_window_layers is missing */

static tsr_status read_layer_types(const tsri_model_config *config, const json_t *types,
                                   tsri_model_stack *stack, uint8_t *windowed) {
    if (!json_is_array(types) || json_array_size(types) != (size_t)stack->layers)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: \"layer_types\" must be a list of one kind for each of the %d layers",
            config->what, stack->layers);
    for (int32_t i = 0; i < stack->layers; i++) {
        const char *type = json_string_value(json_array_get(types, (size_t)i));
        windowed[i] = type && strcmp(type, "sliding_attention") == 0;
        if (!type || (!windowed[i] && strcmp(type, "full_attention") != 0))
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: \"layer_types\"[%d] is \"%s\"; full_attention and "
                                  "sliding_attention are served",
                                  config->what, i, type ? type : "no text");
    }
    return TSR_OK;
}

/* Lets layer_types replace what is known so far, and keeps the window if any layer has it. Layers of
 * a config that lists them, or of a family that must have them (`needed`), need a width. */
static tsr_status finish_window(const tsri_model_config *config, int32_t window, bool needed,
                                tsri_model_stack *stack, uint8_t *windowed) {
    const json_t *types = field(config, "layer_types");
    bool any = false;
    if (types)
        TRY(read_layer_types(config, types, stack, windowed));
    for (int32_t i = 0; i < stack->layers; i++)
        any |= windowed[i];
    if ((types || needed) && any && window == 0)
        return missing(config, "sliding_window");
    stack->window = any ? window : 0;
    return TSR_OK;
}

tsr_status tsri_model_config_window(const tsri_model_config *config, bool by_default, int32_t usual,
                                    tsri_model_stack *stack) {
    bool use = by_default;
    int32_t window = json_object_get(config->root, "sliding_window") ? 0 : usual;
    int32_t full = by_default ? 0 : QWEN_FULL_LAYERS;
    if (!by_default) {
        TRY(tsri_model_config_bool(config, "use_sliding_window", &use));
        TRY(tsri_model_config_int(config, "max_window_layers", false, 0, INT32_MAX, &full));
    }
    TRY(tsri_model_config_int(config, "sliding_window", false, 1, INT32_MAX, &window));
    uint8_t *windowed = NULL;
    TRY(tsri_base_new((size_t)stack->layers, 1, &windowed));
    stack->windowed = windowed;
    for (int32_t i = 0; i < stack->layers; i++)
        windowed[i] =
            use && i >= full; /* the first layers see all keys, as Qwen's max_window_layers says */
    return finish_window(config, window, false, stack, windowed);
}

/* Layers have the window but those whose number, counted from `first`, is a multiple of `period`. */
static tsr_status alternate(const tsri_model_config *config, int32_t window, int32_t period,
                            int32_t first, tsri_model_stack *stack) {
    uint8_t *windowed = NULL;
    TRY(tsri_base_new((size_t)stack->layers, 1, &windowed));
    stack->windowed = windowed;
    for (int32_t i = 0; i < stack->layers; i++)
        windowed[i] = (i + first) % period != 0;
    return finish_window(config, window, true, stack, windowed);
}

tsr_status tsri_model_config_window_every(const tsri_model_config *config, const char *key,
                                          int32_t period, tsri_model_stack *stack) {
    int32_t window = stack->window;
    if (json_is_null(json_object_get(config->root, "sliding_window")))
        window = 0;
    TRY(tsri_model_config_int(config, "sliding_window", false, 1, INT32_MAX, &window));
    if (key)
        TRY(tsri_model_config_int(config, key, false, 1, INT32_MAX, &period));
    return alternate(config, window, period, 1, stack);
}

tsr_status tsri_model_config_window_between(const tsri_model_config *config, int32_t window,
                                            int32_t period, tsri_model_stack *stack) {
    return alternate(config, window, period, 0, stack);
}

tsr_status tsri_model_rotate_by_window(tsri_model_stack *stack, tsri_model_rotation windowed,
                                       tsri_model_rotation others) {
    uint8_t *rotations = NULL;
    TRY(tsri_base_new((size_t)stack->layers, 1, &rotations));
    stack->rotations = rotations;
    for (int32_t i = 0; i < stack->layers; i++)
        rotations[i] = (uint8_t)(stack->windowed[i] ? windowed : others);
    return TSR_OK;
}

tsr_status tsri_model_config_even_heads(const tsri_model_config *config, const char *heads,
                                        const char *width, const tsri_model_spec *spec,
                                        tsri_model_stack *stack) {
    TRY(tsri_model_config_int(config, heads, true, 1, TSRI_MODEL_MAX_WIDTH, &stack->heads));
    if (spec->width % stack->heads != 0)
        return tsri_base_fail(TSR_E_FORMAT, "%s: %s %" PRId32 " does not divide %s %" PRId32,
                              config->what, heads, stack->heads, width, spec->width);
    stack->kv_heads = stack->heads;
    stack->head_size = stack->value_size = spec->width / stack->heads;
    return TSR_OK;
}
