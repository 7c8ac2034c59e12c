/* model/arch/decoder/gemma2.c - Gemma 2: Gemma's layout with norms of what branches add, too, windows
 * in every second layer, a scale of scores of its own, and soft caps of scores and logits.
 * source  Gemma team 2024, arXiv:2408.00118 */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/decoder/gemma.h"
#include "model/arch/decoder/llama.h"

#include <math.h>

enum { WINDOW = 4096, PERIOD = 2, LARGEST = 46 /* layers of the 27B model */ };

tsr_status tsri_model_arch_gemma2_layout(const tsri_model_config *config, float cap,
                                         tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->decoder;
    float scalar = 256;
    TRY(tsri_model_arch_gemma_layout(config, spec));
    TRY(tsri_model_config_activation(config, "hidden_activation", "gelu_pytorch_tanh",
                                     &stack->activation));
    TRY(tsri_model_config_float(config, "query_pre_attn_scalar", false, 1e-6, 1e9, &scalar));
    stack->attention_scale = 1 / sqrtf(scalar);
    stack->place = TSRI_NORM_BOTH;
    if (!json_object_get(config->root, "final_logit_softcapping"))
        spec->logit_cap = cap;
    return tsri_model_config_float(config, "final_logit_softcapping", false, 1e-6, 1e9,
                                   &spec->logit_cap);
}

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_GEMMA2("model."),
};

void tsri_model_arch_gemma_scale(json_t *config, json_int_t layers) {
    const json_int_t width = json_integer_value(json_object_get(config, "hidden_size")),
                     heads = json_integer_value(json_object_get(config, "num_attention_heads")),
                     size = json_integer_value(json_object_get(config, "head_dim"));
    const json_int_t apart = heads ? width / heads : 0;
    if (size == 0 || json_integer_value(json_object_get(config, "num_hidden_layers")) == layers)
        tsri_base_json_put(config, "query_pre_attn_scalar", json_integer(apart));
    else
        tsri_base_json_put(config, "query_pre_attn_scalar", json_integer(size));
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {
        "attention_bias",         "sliding_window",          "layer_types",
        "rope_scaling",           "rope_parameters",         "query_pre_attn_scalar",
        "attn_logit_softcapping", "final_logit_softcapping", NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_gemma2_layout(config, 30, spec));
    if (!json_object_get(config->root, "attn_logit_softcapping"))
        stack->score_cap = 50;
    TRY(tsri_model_config_float(config, "attn_logit_softcapping", false, 1e-6, 1e9,
                                &stack->score_cap));
    stack->window = WINDOW;
    TRY(tsri_model_config_window_every(config, NULL, PERIOD, stack));
    return tsri_model_config_rope(config, 10000, spec->max_positions, &stack->rope);
}

static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    (void)archive;
    tsri_model_arch_gemma_scale(config, LARGEST);
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_gemma2 = {
    .name = "gemma2",
    .gguf = "gemma2",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf,
    .gguf_norm_added = true,
    .read = read,
    .complete_gguf = complete_gguf,
};
