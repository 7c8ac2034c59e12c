/* model/arch/decoder/gemma.c - Gemma (the first): Llama's layout, norms with 1 + weight, embeddings
 * scaled by the square root of the width, GELU. */
#include "model/arch/decoder/gemma.h"
#include "base/error.h"
#include "model/arch/decoder/llama.h"

#include <math.h>
#include <string.h>

/* "hidden_act" is "gelu" in configs that were made before the error was noticed; the model was
 * trained with the tanh form. "hidden_activation", which transformers read instead for a while,
 * must say the same. */
static tsr_status read_activation(const tsri_model_config *config, tsr_activation *out) {
    TRY(tsri_model_config_activation(config, "hidden_act", "gelu_pytorch_tanh", out));
    if (*out == TSR_ACT_GELU)
        *out = TSR_ACT_GELU_TANH;
    if (!json_is_string(json_object_get(config->root, "hidden_activation")))
        return TSR_OK;
    tsr_activation other;
    TRY(tsri_model_config_activation(config, "hidden_activation", NULL, &other));
    if (other != *out)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: \"hidden_act\" and \"hidden_activation\" name different activations, and which "
            "one transformers computes depends on its version",
            config->what);
    return TSR_OK;
}

tsr_status tsri_model_arch_gemma_layout(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->decoder;
    stack->head_size = 256;
    TRY(tsri_model_arch_llama_layout(config, spec));
    TRY(tsri_model_config_tied(config, true, spec));
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    stack->norm_offset = 1;
    spec->embed_scale = sqrtf((float)spec->width);
    return TSR_OK;
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias", "rope_scaling", "rope_parameters",
                                          NULL};
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_gemma_layout(config, spec));
    TRY(read_activation(config, &spec->decoder.activation));
    return tsri_model_config_rope(config, 10000, spec->max_positions, &spec->decoder.rope);
}

const tsri_model_arch tsri_model_arch_gemma = {
    .name = "gemma",
    .gguf = "gemma",
    .names = &tsri_model_names_llama,
    .gguf_names = &tsri_model_names_gguf,
    .gguf_norm_added = true,
    .read = read,
};
