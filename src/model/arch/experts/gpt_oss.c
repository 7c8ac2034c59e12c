/* model/arch/experts/gpt_oss.c - gpt-oss: Llama's layout with experts whose gates and ups are limited,
 * biases everywhere, a window in every second layer, and a sink for each head.
 * source  OpenAI 2025, arXiv:2508.10925 */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/experts/experts.h"

/* What transformers takes for keys that a config lacks. */
enum { HEAD = 64, KV_HEADS = 8, WINDOW = 128, ORIGINAL = 4096 };
static const double theta = 150000;
static const float eps = 1e-5f, factor = 32, alpha = 1.702f, limit = 7;
static const tsri_model_expert_defaults defaults = {.experts = 128, .used = 4};

static const char *const joined[] = {"_scales", NULL}; /* with the blocks: weights/mxfp4.c */

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_LLAMA,
    TSRI_MODEL_NAMES_LLAMA_QKV,
    .sinks = "layers.%d.self_attn.sinks",
    .router = "layers.%d.mlp.router",
    .experts_gate_up =
        "layers.%d.mlp.experts.gate_up_proj|layers.%d.mlp.experts.gate_up_proj_blocks",
    .experts_down = "layers.%d.mlp.experts.down_proj|layers.%d.mlp.experts.down_proj_blocks",
    .experts_gate_up_bias = "layers.%d.mlp.experts.gate_up_proj_bias",
    .experts_down_bias = "layers.%d.mlp.experts.down_proj_bias",
    .experts_inputs_first = true,
    .experts_alternate = true,
    .ignored = joined,
};

static const tsri_model_names gguf_names = {
    TSRI_MODEL_NAMES_GGUF,
    TSRI_MODEL_NAMES_QKV("blk.%d.attn_", "q", "k", "v"),
    .norm1 = "blk.%d.attn_norm",
    .norm2 = "blk.%d.post_attention_norm",
    .sinks = "blk.%d.attn_sinks.weight",
    .router = "blk.%d.ffn_gate_inp",
    .experts_gate = "blk.%d.ffn_gate_exps.weight",
    .experts_up = "blk.%d.ffn_up_exps.weight",
    .experts_down = "blk.%d.ffn_down_exps.weight",
    .experts_gate_bias = "blk.%d.ffn_gate_exps.bias",
    .experts_up_bias = "blk.%d.ffn_up_exps.bias",
    .experts_down_bias = "blk.%d.ffn_down_exps.bias",
};

/* Without rotary parameters, transformers takes YaRN's as the published models have them. */
static tsr_status read_rope(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_rope *rope = &spec->decoder.rope;
    TRY(tsri_model_config_rope(config, theta, spec->max_positions, rope));
    if (json_is_object(json_object_get(config->root, "rope_parameters")) ||
        json_is_object(json_object_get(config->root, "rope_scaling")))
        return TSR_OK;
    rope->scaling = TSRI_SCALING_YARN;
    rope->factor = factor;
    rope->beta_fast = 32;
    rope->beta_slow = 1;
    rope->untruncated = true;
    rope->original_positions = ORIGINAL;
    rope->magnitude = tsri_model_yarn_magnitude(factor, 1);
    return TSR_OK;
}

static tsr_status read_experts(const tsri_model_config *config, tsri_model_stack *stack) {
    TRY(tsri_model_arch_experts(config, 1, &defaults, stack));
    stack->expert_ffn = stack->ffn;
    stack->experts_normed = stack->experts_bias = true;
    stack->activation = TSR_ACT_SILU; /* whatever hidden_act says */
    stack->gate_alpha = alpha;
    stack->gate_limit = limit;
    stack->gate_shift = 1;
    TRY(tsri_model_config_float(config, "swiglu_alpha", false, 1e-6, 1e6, &stack->gate_alpha));
    return tsri_model_config_float(config, "swiglu_limit", false, 1e-6, 1e6, &stack->gate_limit);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {
        "attention_bias",  "sliding_window",    "layer_types", "rope_scaling",
        "rope_parameters", "num_local_experts", "num_experts", NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    stack->head_size = json_is_null(json_object_get(config->root, "head_dim")) ? 0 : HEAD;
    TRY(tsri_model_arch_llama_layout(config, spec));
    if (!json_object_get(config->root, "num_key_value_heads"))
        stack->kv_heads = KV_HEADS;
    stack->norm_eps = eps;
    TRY(tsri_model_config_float(config, "rms_norm_eps", false, 1e-12, 1, &stack->norm_eps));
    TRY(read_rope(config, spec));
    stack->sinks = true;
    stack->qkv_bias = true;
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    TRY(read_experts(config, stack));
    stack->window = WINDOW;
    return tsri_model_config_window_every(config, NULL, 2, stack);
}

/* GGUF files leave out what all published models have alike. */
static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    json_t *scaling = json_object_get(config, "rope_scaling");
    (void)archive;
    if (json_is_object(scaling))
        tsri_base_json_put(scaling, "truncate", json_false());
    else
        tsri_base_json_put(config, "rope_scaling", json_pack("{s:s}", "type", "default"));
    if (!json_object_get(config, "attention_bias"))
        tsri_base_json_put(config, "attention_bias", json_false());
    tsri_base_json_rename(config, "moe_intermediate_size", "intermediate_size");
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_gpt_oss = {
    .name = "gpt_oss",
    .gguf = "gpt-oss",
    .names = &names,
    .gguf_names = &gguf_names,
    .read = read,
    .complete_gguf = complete_gguf,
};
