/* model/arch/experts/deepseek.c - DeepSeek V2 and V3, and models that follow their config (Moonlight, Kimi K2):
 * Llama's layout with latent attention, and experts that are chosen in groups.
 * source  DeepSeek-AI 2024, arXiv:2405.04434 and arXiv:2412.19437 */
#include "base/error.h"
#include "base/memory.h"
#include "model/arch/experts/experts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_EXPERTS = 1 << 12, MOST_SHARED = 256, MOST_UNUSED = 16 };
static const float latent_eps = 1e-6f; /* whatever rms_norm_eps says, in transformers, too */

/* What transformers takes for keys that a config lacks. */
typedef struct family {
    int32_t q_latent, groups, groups_used, first_dense, shared, unused_layers;
    tsri_model_expert_defaults experts;
    const char *scoring, *method;
    bool normed;
    float scale;
} family;

static const family v2 = {
    .q_latent = 1536,
    .shared = 2,
    .experts = {.experts = 64, .ffn = 1407},
    .scoring = "softmax",
    .method = "greedy",
    .scale = 1,
};
static const family v3 = {
    .q_latent = 1536,
    .groups = 8,
    .groups_used = 4,
    .first_dense = 3,
    .shared = 1,
    .unused_layers = 1,
    .experts = {.experts = 256, .used = 8, .ffn = 2048},
    .scoring = "sigmoid",
    .method = "noaux_tc",
    .normed = true,
    .scale = 2.5f,
};

/* A number that null sets to 0. */
static tsr_status read_or_none(const tsri_model_config *config, const char *key, int64_t highest,
                               int32_t fallback, int32_t *out) {
    *out = json_is_null(json_object_get(config->root, key)) ? 0 : fallback;
    return tsri_model_config_int(config, key, false, 0, highest, out);
}

static tsr_status read_attention(const tsri_model_config *config, const family *of,
                                 tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->decoder;
    tsri_model_rope *rope = &stack->rope;
    int32_t own = 128;
    rope->rotary = 64;
    stack->kv_latent = 512;
    stack->value_size = 128;
    stack->latent_eps = latent_eps;
    if (stack->kv_heads != stack->heads)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"num_key_value_heads\" is %" PRId32
                              "; latent attention has as many as num_attention_heads, %" PRId32,
                              config->what, stack->kv_heads, stack->heads);
    TRY(read_or_none(config, "q_lora_rank", TSRI_MODEL_MAX_WIDTH, of->q_latent, &stack->q_latent));
    TRY(tsri_model_config_int(config, "kv_lora_rank", false, 1, TSRI_MODEL_MAX_WIDTH,
                              &stack->kv_latent));
    TRY(tsri_model_config_int(config, "qk_nope_head_dim", false, 1, TSRI_MODEL_MAX_WIDTH, &own));
    TRY(tsri_model_config_int(config, "qk_rope_head_dim", false, 2, TSRI_MODEL_MAX_ROTARY,
                              &rope->rotary));
    TRY(tsri_model_config_int(config, "v_head_dim", false, 1, TSRI_MODEL_MAX_WIDTH,
                              &stack->value_size));
    stack->head_size = own + rope->rotary;
    rope->interleaved = true;
    TRY(tsri_model_config_bool(config, "rope_interleave", &rope->interleaved));
    TRY(tsri_model_config_rope(config, 10000, spec->max_positions, rope));
    const double mscale = tsri_model_yarn_magnitude(rope->factor, rope->mscale_all);
    stack->attention_scale = (float)(mscale * mscale / sqrt(stack->head_size));
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    return TSR_OK;
}

/* Marks the layers without experts: the first ones, and all but each moe_layer_freq-th. */
static tsr_status read_dense(const tsri_model_config *config, const family *of,
                             tsri_model_stack *stack) {
    int32_t first = of->first_dense, step = 1;
    uint8_t *dense = NULL;
    TRY(tsri_model_config_int(config, "first_k_dense_replace", false, 0, INT32_MAX, &first));
    TRY(tsri_model_config_int(config, "moe_layer_freq", false, 1, INT32_MAX, &step));
    TRY(tsri_base_new((size_t)stack->layers, 1, &dense));
    stack->dense = dense;
    for (int32_t i = 0; i < stack->layers; i++)
        dense[i] = i < first || i % step != 0;
    return TSR_OK;
}

/* How many experts there are, by any of the three names of that key, and their sizes. */
static tsr_status read_experts(const tsri_model_config *config, const family *of,
                               tsri_model_stack *stack) {
    tsri_model_expert_defaults defaults = of->experts;
    int32_t shared = 0;
    TRY(read_or_none(config, "n_routed_experts", MOST_EXPERTS, defaults.experts,
                     &defaults.experts));
    TRY(tsri_model_arch_experts(config, 0, &defaults, stack));
    if (json_object_get(config->root, "n_routed_experts") && stack->experts != defaults.experts)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"n_routed_experts\" is %" PRId32
                              ", and another key says that a layer has %" PRId32
                              " experts; they must agree",
                              config->what, defaults.experts, stack->experts);
    stack->expert_ffn = defaults.ffn;
    TRY(tsri_model_config_int(config, "moe_intermediate_size", false, 1, TSRI_MODEL_MAX_WIDTH,
                              &stack->expert_ffn));
    TRY(read_or_none(config, "n_shared_experts", MOST_SHARED, of->shared, &shared));
    stack->shared_ffn = stack->experts ? shared * stack->expert_ffn : 0;
    if (!stack->experts)
        stack->experts_used = 0;
    else if (!stack->experts_used)
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"num_experts_per_tok\" is missing", config->what);
    return read_dense(config, of, stack);
}

static tsr_status read_groups(const tsri_model_config *config, const family *of,
                              tsri_model_stack *stack) {
    int32_t groups = of->groups, used = of->groups_used;
    TRY(tsri_model_config_int(config, "n_group", false, 1, MOST_EXPERTS, &groups));
    TRY(tsri_model_config_int(config, "topk_group", false, 1, MOST_EXPERTS, &used));
    const int32_t each = groups ? stack->experts / groups : 0;
    if (each * groups != stack->experts || each < (stack->experts_biased ? 2 : 1) || used < 1 ||
        used > groups || (int64_t)used * each < stack->experts_used)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: %" PRId32 " experts in %" PRId32 " groups (n_group), of which %" PRId32
            " (topk_group) have the %" PRId32
            " that a token takes; groups must be of one size%s, and hold that many",
            config->what, stack->experts, groups, used, stack->experts_used,
            stack->experts_biased ? ", of two experts at least" : "");
    stack->expert_groups = groups;
    stack->expert_groups_used = used;
    return TSR_OK;
}

/* Which of two or three texts it is. */
static tsr_status read_choice(const tsri_model_config *config, const char *key,
                              const char *const *names, size_t n, const char *fallback,
                              size_t *out) {
    TRY(tsri_base_json_text(config->root, config->what, key, &fallback));
    for (*out = 0; *out < n; ++*out)
        if (strcmp(names[*out], fallback) == 0)
            return TSR_OK;
    return tsri_base_fail(TSR_E_UNSUPPORTED,
                          "%s: \"%s\" is \"%s\", which is not served; %s%s%s%s%s are", config->what,
                          key, fallback, names[0], n > 2 ? ", " : " and ", names[1],
                          n > 2 ? " and " : "", n > 2 ? names[2] : "");
}

/* How a token's experts are chosen. */
static tsr_status read_router(const tsri_model_config *config, const family *of,
                              tsri_model_stack *stack) {
    static const char *const scorings[] = {"softmax", "sigmoid"}, *const methods[] = {
                                                                      "greedy",
                                                                      "group_limited_greedy",
                                                                      "noaux_tc"};
    enum { GREEDY, GROUPS, BIASED };
    size_t scoring, method;
    TRY(read_choice(config, "scoring_func", scorings, 2, of->scoring, &scoring));
    TRY(read_choice(config, "topk_method", methods, 3, of->method, &method));
    stack->experts_sigmoid = scoring == 1;
    stack->experts_scored = stack->experts_sigmoid || method != GREEDY;
    stack->experts_biased = method == BIASED;
    stack->experts_normed = of->normed;
    stack->experts_scale = of->scale;
    TRY(tsri_model_config_bool(config, "norm_topk_prob", &stack->experts_normed));
    TRY(tsri_model_config_float(config, "routed_scaling_factor", false, 1e-6, 1e6,
                                &stack->experts_scale));
    if (stack->experts_normed && !stack->experts_sigmoid)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"norm_topk_prob\" is true, which is served with scoring_func "
                              "sigmoid only: implementations differ in what softmax scores become",
                              config->what);
    return method == GREEDY ? TSR_OK : read_groups(config, of, stack);
}

static tsr_status read_like(const tsri_model_config *config, const family *of,
                            const char *const *handled, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    stack->head_size = 1; /* it follows from other keys than head_dim */
    TRY(tsri_model_arch_llama_layout(config, spec));
    TRY(read_attention(config, of, spec));
    TRY(read_experts(config, of, stack));
    stack->unused_layers = of->unused_layers;
    TRY(tsri_model_config_int(config, "num_nextn_predict_layers", false, 0, MOST_UNUSED,
                              &stack->unused_layers));
    TRY(tsri_model_config_int(config, "num_mtp_layers", false, 0, MOST_UNUSED,
                              &stack->unused_layers));
    return stack->experts ? read_router(config, of, stack) : TSR_OK;
}

#define HANDLED                                                                              \
    "attention_bias", "rope_scaling", "rope_parameters", "num_experts", "num_local_experts", \
        "num_nextn_predict_layers"

static tsr_status read_v2(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {HANDLED, "mlp_bias", NULL};
    TRY(read_like(config, &v2, handled, spec));
    return tsri_model_config_bool(config, "mlp_bias", &spec->decoder.mlp_bias);
}

static tsr_status read_v3(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {HANDLED, NULL};
    return read_like(config, &v3, handled, spec);
}

static const char *const ignored[] = {"rotary_emb.inv_freq", NULL};

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_LLAMA,
    TSRI_MODEL_NAMES_LLAMA_MLP,
    TSRI_MODEL_NAMES_QWEN_EXPERTS,
    .layers = "layers.%d.",
    .q = "layers.%d.self_attn.q_proj",
    .q_latent = "layers.%d.self_attn.q_a_proj",
    .q_latent_norm = "layers.%d.self_attn.q_a_layernorm",
    .q_up = "layers.%d.self_attn.q_b_proj",
    .kv_latent = "layers.%d.self_attn.kv_a_proj_with_mqa",
    .kv_latent_norm = "layers.%d.self_attn.kv_a_layernorm",
    .kv_up = "layers.%d.self_attn.kv_b_proj",
    .choice_bias = "layers.%d.mlp.gate.e_score_correction_bias",
    .shared_gate = "layers.%d.mlp.shared_experts.gate_proj",
    .shared_up = "layers.%d.mlp.shared_experts.up_proj",
    .shared_down = "layers.%d.mlp.shared_experts.down_proj",
    .ignored = ignored,
};

/* ---- GGUF: V2 and V3 are one architecture ---- */

static const tsri_model_names gguf_names = {
    TSRI_MODEL_NAMES_GGUF,
    .norm1 = "blk.%d.attn_norm",
    .norm2 = "blk.%d.ffn_norm",
    .q = "blk.%d.attn_q",
    .q_latent = "blk.%d.attn_q_a",
    .q_latent_norm = "blk.%d.attn_q_a_norm",
    .q_up = "blk.%d.attn_q_b",
    .kv_latent = "blk.%d.attn_kv_a_mqa",
    .kv_latent_norm = "blk.%d.attn_kv_a_norm",
    .kv_up = "blk.%d.attn_kv_b",
    .k_up = "blk.%d.attn_k_b.weight",
    .v_up = "blk.%d.attn_v_b.weight",
    .gate = "blk.%d.ffn_gate",
    .router = "blk.%d.ffn_gate_inp",
    .choice_bias = "blk.%d.exp_probs_b.bias",
    .experts_gate = "blk.%d.ffn_gate_exps.weight",
    .experts_up = "blk.%d.ffn_up_exps.weight",
    .experts_down = "blk.%d.ffn_down_exps.weight",
    .shared_gate = "blk.%d.ffn_gate_shexp",
    .shared_up = "blk.%d.ffn_up_shexp",
    .shared_down = "blk.%d.ffn_down_shexp",
};

static void put(json_t *config, const char *key, json_t *value) {
    tsri_base_json_put(config, key, value);
}

static tsr_status meta_int(const tsri_io_archive *archive, const char *key, int64_t *out) {
    char full[96];
    snprintf(full, sizeof full, "deepseek2.%s", key);
    return tsri_io_meta_int(archive, full, 0, INT32_MAX, out);
}

/* Files since 2025 give the sizes of the latent vectors as those of a key and a value, and those of a head
 * apart. Without a rank of queries there is none. */
static tsr_status complete_heads(const tsri_io_archive *archive, json_t *config) {
    int64_t key = 0, value = 0, rotary = 0, rank = 0, q_rank = 0;
    TRY(meta_int(archive, "attention.key_length", &key));
    TRY(meta_int(archive, "attention.value_length", &value));
    TRY(meta_int(archive, "attention.key_length_mla", &key));
    TRY(meta_int(archive, "attention.value_length_mla", &value));
    TRY(meta_int(archive, "rope.dimension_count", &rotary));
    TRY(meta_int(archive, "attention.kv_lora_rank", &rank));
    TRY(meta_int(archive, "attention.q_lora_rank", &q_rank));
    if (!rank || rotary >= key)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: deepseek2.attention.kv_lora_rank is %" PRId64 ", key_length %" PRId64
            " and rope.dimension_count %" PRId64
            "; latent attention needs a rank, and keys that are longer than their "
            "rotated part",
            archive->path, rank, key, rotary);
    json_object_del(config, "head_dim");
    json_object_del(config, "partial_rotary_factor");
    json_object_del(config, "num_key_value_heads");
    put(config, "kv_lora_rank", json_integer(rank));
    put(config, "q_lora_rank", q_rank ? json_integer(q_rank) : json_null());
    put(config, "qk_rope_head_dim", json_integer(rotary));
    put(config, "qk_nope_head_dim", json_integer(key - rotary));
    put(config, "v_head_dim", json_integer(value));
    return TSR_OK;
}

/* A file says how scores are made; where it does not, they are a softmax. */
static tsr_status complete_router(const tsri_io_archive *archive, json_t *config) {
    enum { UNSAID, SOFTMAX, SIGMOID };
    int64_t first = 0, shared = 0, groups = 1, used = 1, scoring = UNSAID;
    double scale = 1;
    bool normed = false;
    TRY(meta_int(archive, "leading_dense_block_count", &first));
    TRY(meta_int(archive, "expert_shared_count", &shared));
    TRY(meta_int(archive, "expert_group_count", &groups));
    TRY(meta_int(archive, "expert_group_used_count", &used));
    TRY(meta_int(archive, "expert_gating_func", &scoring));
    if (scoring > SIGMOID)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"deepseek2.expert_gating_func\" is %" PRId64
                              ", which is not served; 1 (softmax) and 2 (sigmoid) are",
                              archive->path, scoring);
    TRY(tsri_io_meta_real(archive, "deepseek2.expert_weights_scale", 0, 1e6, &scale));
    TRY(tsri_io_meta_bool(archive, "deepseek2.expert_weights_norm", &normed));
    put(config, "first_k_dense_replace", json_integer(first));
    put(config, "n_shared_experts", json_integer(shared));
    put(config, "n_group", json_integer(groups));
    put(config, "topk_group", json_integer(used));
    put(config, "routed_scaling_factor", json_real(scale > 0 ? scale : 1));
    put(config, "norm_topk_prob", json_boolean(normed));
    put(config, "scoring_func", json_string(scoring == SIGMOID ? "sigmoid" : "softmax"));
    put(config, "topk_method",
        json_string(scoring == SIGMOID ? "noaux_tc"
                    : groups > 1       ? "group_limited_greedy"
                                       : "greedy"));
    return TSR_OK;
}

/* yarn_log_multiplier is a tenth of mscale_all_dim, with which mscale is the same in all published models. */
static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    json_t *scaling = json_object_get(config, "rope_scaling");
    double multiplier = 0;
    TRY(tsri_io_meta_real(archive, "deepseek2.rope.scaling.yarn_log_multiplier", 0, 1e3,
                          &multiplier));
    if (json_is_object(scaling) && multiplier > 0) {
        put(scaling, "mscale", json_real(10 * multiplier));
        put(scaling, "mscale_all_dim", json_real(10 * multiplier));
    }
    TRY(complete_heads(archive, config));
    return complete_router(archive, config);
}

const tsri_model_arch tsri_model_arch_deepseek_v2 = {
    .name = "deepseek_v2",
    .gguf = "deepseek2",
    .names = &names,
    .gguf_names = &gguf_names,
    .read = read_v2,
    .complete_gguf = complete_gguf,
};

const tsri_model_arch tsri_model_arch_deepseek_v3 = {
    .name = "deepseek_v3",
    .names = &names,
    .read = read_v3,
};

const tsri_model_arch tsri_model_arch_kimi_k2 = {
    .name = "kimi_k2",
    .names = &names,
    .read = read_v3,
};
