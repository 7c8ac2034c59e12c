/* model/arch/experts/experts.c - reads what configs say of experts. */
#include "model/arch/experts/experts.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>

enum { MOST = 1 << 12 }; /* experts of a layer */

tsr_status tsri_model_arch_experts(const tsri_model_config *config, int32_t lowest,
                                   const tsri_model_expert_defaults *defaults,
                                   tsri_model_stack *stack) {
    int32_t local = -1, all = -1;
    TRY(tsri_model_config_int(config, "num_local_experts", false, lowest, MOST, &local));
    TRY(tsri_model_config_int(config, "num_experts", false, lowest, MOST, &all));
    if (local >= 0 && all >= 0 && local != all)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"num_local_experts\" is %" PRId32
                              " and \"num_experts\" %" PRId32
                              "; both name the experts of a layer, so they must agree",
                              config->what, local, all);
    stack->experts = local >= 0 ? local : all >= 0 ? all : defaults->experts;
    stack->experts_used = defaults->used;
    return tsri_model_config_int(config, "num_experts_per_tok", false, 1, MOST,
                                 &stack->experts_used);
}

/* Marks the layers that have no experts: those that mlp_only_layers lists, and all but each
 * decoder_sparse_step-th. */
static tsr_status read_dense(const tsri_model_config *config, tsri_model_stack *stack) {
    const json_t *only = json_object_get(config->root, "mlp_only_layers");
    int32_t step = 1;
    uint8_t *dense = NULL;
    TRY(tsri_model_config_int(config, "decoder_sparse_step", false, 1, INT32_MAX, &step));
    if (only && !json_is_null(only) && !json_is_array(only))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"mlp_only_layers\" must be a list of layers",
                              config->what);
    TRY(tsri_base_new((size_t)stack->layers, 1, &dense));
    stack->dense = dense;
    for (int32_t i = 0; i < stack->layers; i++)
        dense[i] = (i + 1) % step != 0;
    for (size_t i = 0; i < json_array_size(only); i++) {
        const json_t *layer = json_array_get(only, i);
        if (!json_is_integer(layer))
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: \"mlp_only_layers\"[%zu] is not the number of a layer",
                                  config->what, i);
        if (json_integer_value(layer) >= 0 && json_integer_value(layer) < stack->layers)
            dense[json_integer_value(layer)] = 1;
    }
    return TSR_OK;
}

tsr_status tsri_model_arch_qwen_experts(const tsri_model_config *config,
                                        const tsri_model_expert_defaults *defaults,
                                        tsri_model_stack *stack) {
    TRY(tsri_model_arch_experts(config, 0, defaults, stack));
    stack->expert_ffn = defaults->ffn;
    stack->shared_ffn = defaults->shared_ffn;
    TRY(tsri_model_config_int(config, "moe_intermediate_size", false, 1, TSRI_MODEL_MAX_WIDTH,
                              &stack->expert_ffn));
    if (stack->shared_ffn)
        TRY(tsri_model_config_int(config, "shared_expert_intermediate_size", false, 1,
                                  TSRI_MODEL_MAX_WIDTH, &stack->shared_ffn));
    stack->shared_gated = stack->shared_ffn > 0;
    TRY(tsri_model_config_bool(config, "norm_topk_prob", &stack->experts_normed));
    if (!stack->experts)
        stack->experts_used = 0;
    return read_dense(config, stack);
}

tsr_status tsri_model_arch_complete_qwen_experts(json_t *config, bool normed) {
    const json_int_t ffn = json_integer_value(json_object_get(config, "intermediate_size")),
                     used = json_integer_value(json_object_get(config, "num_experts_per_tok"));
    tsri_base_json_default(config, "shared_expert_intermediate_size", json_integer(ffn));
    tsri_base_json_default(config, "moe_intermediate_size",
                           json_integer(used > 0 ? ffn / used : ffn));
    tsri_base_json_put(config, "norm_topk_prob", json_boolean(normed));
    return TSR_OK;
}
