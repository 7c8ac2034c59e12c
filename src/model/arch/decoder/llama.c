/* model/arch/decoder/llama.c - Llama 1, 2 and 3, models that follow their config, and what
 * relatives share:
 * https://huggingface.co/docs/transformers/model_doc/llama */
#include "model/arch/decoder/llama.h"
#include "base/error.h"

#include <inttypes.h>

static const char *const ignored[] = {"rotary_emb.inv_freq", NULL};

const tsri_model_names tsri_model_names_llama = {
    TSRI_MODEL_NAMES_LLAMA,
    TSRI_MODEL_NAMES_LLAMA_QKV,
    .q_norm = "layers.%d.self_attn.q_norm",
    .k_norm = "layers.%d.self_attn.k_norm",
    TSRI_MODEL_NAMES_LLAMA_MLP,
    .ignored = ignored,
};

/* Reads the heads and their size; kv_heads and head_dim have defaults. */
static tsr_status read_heads(const tsri_model_config *config, int32_t width,
                             tsri_model_stack *stack) {
    TRY(tsri_model_config_int(config, "num_attention_heads", true, 1, TSRI_MODEL_MAX_WIDTH,
                              &stack->heads));
    stack->kv_heads = stack->heads;
    TRY(tsri_model_config_int(config, "num_key_value_heads", false, 1, TSRI_MODEL_MAX_WIDTH,
                              &stack->kv_heads));
    TRY(tsri_model_config_int(config, "head_dim", false, 1, TSRI_MODEL_MAX_WIDTH,
                              &stack->head_size));
    if (stack->head_size == 0 && width % stack->heads != 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: num_attention_heads %" PRId32
                              " does not divide hidden_size %" PRId32,
                              config->what, stack->heads, width);
    if (stack->head_size == 0)
        stack->head_size = width / stack->heads;
    stack->value_size = stack->head_size;
    return TSR_OK;
}

tsr_status tsri_model_arch_llama_layout(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_common(config, false, spec));
    TRY(tsri_model_config_sizes(config, spec, stack));
    TRY(read_heads(config, spec->width, stack));
    stack->norm = TSR_NORM_RMS;
    stack->norm_eps = 1e-6f;
    TRY(tsri_model_config_float(config, "rms_norm_eps", false, 1e-12, 1, &stack->norm_eps));
    stack->gated = true;
    TRY(tsri_model_config_activation(config, "hidden_act", "silu", &stack->activation));
    stack->positions = TSRI_POSITIONS_ROTARY;
    stack->rope.rotary = stack->head_size;
    spec->pad_fixed = true;
    return TSR_OK;
}

tsr_status tsri_model_arch_llama_like(const tsri_model_config *config, tsri_model_spec *spec) {
    TRY(tsri_model_arch_llama_layout(config, spec));
    return tsri_model_config_rope(config, 10000, spec->max_positions, &spec->decoder.rope);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias", "mlp_bias", "rope_scaling",
                                          "rope_parameters", NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_llama_like(config, spec));
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    return tsri_model_config_bool(config, "mlp_bias", &stack->mlp_bias);
}

/* Experts make it a Mixtral. */
static const char *family_of(const tsri_io_archive *archive) {
    int64_t experts = 0;
    return tsri_io_meta_int(archive, "llama.expert_count", 0, INT32_MAX, &experts) == TSR_OK &&
                   experts
               ? "mixtral"
               : NULL;
}

const tsri_model_arch tsri_model_arch_llama = {
    .name = "llama",
    .gguf = "llama",
    .gguf_family = family_of,
    .names = &tsri_model_names_llama,
    .gguf_names = &tsri_model_names_gguf,
    .gguf_interleaved = true,
    .read = read,
};
