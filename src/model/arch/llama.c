/* model/arch/llama.c - Llama 1, 2 and 3, models that follow their config, and what relatives share:
 * https://huggingface.co/docs/transformers/model_doc/llama */
#include "base/error.h"
#include "model/arch/arch.h"

#include <inttypes.h>

static const char *const ignored_llama[] = {"rotary_emb.inv_freq", NULL};

const tsri_model_names tsri_model_names_llama = {
    .prefix = "model.",
    .embed = "embed_tokens",
    .final_norm = "norm",
    .head = "/lm_head",
    .norm1 = "layers.%d.input_layernorm",
    .norm2 = "layers.%d.post_attention_layernorm",
    .q = "layers.%d.self_attn.q_proj",
    .k = "layers.%d.self_attn.k_proj",
    .v = "layers.%d.self_attn.v_proj",
    .q_norm = "layers.%d.self_attn.q_norm",
    .k_norm = "layers.%d.self_attn.k_norm",
    .out = "layers.%d.self_attn.o_proj",
    .gate = "layers.%d.mlp.gate_proj",
    .up = "layers.%d.mlp.up_proj",
    .down = "layers.%d.mlp.down_proj",
    .ignored = ignored_llama,
};

static const char *const ignored_gguf[] = {".attn_rot_embd.weight", NULL};

const tsri_model_names tsri_model_names_gguf = {
    .prefix = "",
    .embed = "token_embd",
    .position = "position_embd",
    .final_norm = "output_norm",
    .head = "/output",
    .norm1 = "blk.%d.attn_norm",
    .norm2 = "blk.%d.ffn_norm",
    .q = "blk.%d.attn_q",
    .k = "blk.%d.attn_k",
    .v = "blk.%d.attn_v",
    .qkv = "blk.%d.attn_qkv",
    .q_norm = "blk.%d.attn_q_norm",
    .k_norm = "blk.%d.attn_k_norm",
    .out = "blk.%d.attn_output",
    .gate = "blk.%d.ffn_gate",
    .up = "blk.%d.ffn_up",
    .down = "blk.%d.ffn_down",
    .ignored = ignored_gguf,
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

tsr_status tsri_model_arch_llama_like(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_common(config, false, spec));
    TRY(tsri_model_config_int(config, "hidden_size", true, 1, TSRI_MODEL_MAX_WIDTH, &spec->width));
    TRY(tsri_model_config_int(config, "num_hidden_layers", true, 1, TSRI_MODEL_MAX_LAYERS,
                              &stack->layers));
    TRY(tsri_model_config_int(config, "intermediate_size", true, 1, TSRI_MODEL_MAX_WIDTH,
                              &stack->ffn));
    TRY(tsri_model_config_long(config, "max_position_embeddings", true, 1, TSRI_MODEL_MAX_POSITIONS,
                               &spec->max_positions));
    TRY(read_heads(config, spec->width, stack));
    stack->norm = TSR_NORM_RMS;
    stack->norm_eps = 1e-6f;
    TRY(tsri_model_config_float(config, "rms_norm_eps", false, 1e-12, 1, &stack->norm_eps));
    stack->gated = true;
    TRY(tsri_model_config_activation(config, "hidden_act", "silu", &stack->activation));
    stack->positions = TSRI_POSITIONS_ROTARY;
    stack->rope.rotary = stack->head_size;
    return tsri_model_config_rope(config, 10000, spec->max_positions, &stack->rope);
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

const tsri_model_arch tsri_model_arch_llama = {
    .name = "llama",
    .gguf = "llama",
    .names = &tsri_model_names_llama,
    .gguf_names = &tsri_model_names_gguf,
    .gguf_interleaved = true,
    .read = read,
};
