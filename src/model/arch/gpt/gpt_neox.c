/* model/arch/gpt/gpt_neox.c - GPT-NeoX and Pythia: parallel residual, partial rotary positions,
 * one matrix for q, k and v ordered by head. */
#include "model/arch/gpt/gpt_neox.h"
#include "base/error.h"
#include "base/json.h"
#include "model/arch/decoder/llama.h"

/* transformers' defaults */
static const double theta = 10000, share = 0.25;

/* Where a config has both names of a number, transformers 5 reads the first one alone, and transformers 4 the
 * second. Parameters in an object of their own take precedence over both. */
static tsr_status check_names(const tsri_model_config *config, const char *first,
                              const char *second, double fallback) {
    static const char *const objects[] = {"rope_scaling", "rope_parameters"};
    double value = fallback, other;
    for (size_t i = 0; i < 2; i++)
        if (json_object_get(json_object_get(config->root, objects[i]), second))
            return TSR_OK;
    TRY(tsri_base_json_real(config->root, config->what, first, -1e12, 1e12, &value));
    other = value;
    TRY(tsri_base_json_real(config->root, config->what, second, -1e12, 1e12, &other));
    if (other == value)
        return TSR_OK;
    return tsri_base_fail(TSR_E_UNSUPPORTED,
                          "%s: \"%s\" is %g, but \"%s\" %s %g; which of them counts depends on "
                          "the version of transformers, so they must agree",
                          config->what, second, other, first,
                          json_object_get(config->root, first) ? "is" : "is missing and means",
                          value);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {
        "attention_bias", "use_parallel_residual", "rotary_pct", "partial_rotary_factor",
        "rope_scaling",   "rope_parameters",       NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    stack->rope.share = share;
    TRY(check_names(config, "rotary_emb_base", "rope_theta", theta));
    TRY(check_names(config, "rotary_pct", "partial_rotary_factor", share));
    TRY(tsri_model_arch_llama_like(config, spec));
    spec->pad_fixed = false;
    stack->gated = false;
    TRY(tsri_model_config_activation(config, "hidden_act", "gelu", &stack->activation));
    TRY(tsri_model_config_layer_norm(config, "layer_norm_eps", true, stack));
    stack->parallel = true;
    TRY(tsri_model_config_bool(config, "use_parallel_residual", &stack->parallel));
    stack->qkv_bias = true;
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    stack->mlp_bias = true;
    return TSR_OK;
}

static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    (void)archive;
    tsri_base_json_rename(config, "rope_theta", "rotary_emb_base");
    tsri_base_json_rename(config, "partial_rotary_factor", "rotary_pct");
    return TSR_OK;
}

static const char *const ignored[] = {".attention.bias", ".attention.masked_bias",
                                      "rotary_emb.inv_freq", NULL};

static const tsri_model_names names = {
    .prefix = "gpt_neox.",
    .embed = "embed_in",
    .final_norm = "final_layer_norm",
    .head = "/embed_out",
    TSRI_MODEL_NAMES_MEGATRON("layers.%d.", "attention."),
    .ignored = ignored,
};

const tsri_model_arch tsri_model_arch_gpt_neox = {
    .name = "gpt_neox",
    .gguf = "gptneox",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf_fused,
    .read = read,
    .complete_gguf = complete_gguf,
};
