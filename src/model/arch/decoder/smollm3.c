/* model/arch/decoder/smollm3.c - SmolLM3: Llama's layout with layers that rotate nothing.
 * https://huggingface.co/docs/transformers/model_doc/smollm3 */
#include "base/error.h"
#include "base/memory.h"
#include "model/arch/decoder/llama.h"

enum { INTERVAL = 4 };

/* no_rope_layers: a list with 1 for a layer that rotates, 0 for one that does not; without it, every
 * no_rope_layer_interval-th layer does not. */
static tsr_status read_rotations(const tsri_model_config *config, tsri_model_stack *stack) {
    const json_t *list = json_object_get(config->root, "no_rope_layers");
    int32_t interval = INTERVAL;
    uint8_t *rotations = NULL;
    TRY(tsri_model_config_int(config, "no_rope_layer_interval", false, 1, INT32_MAX, &interval));
    TRY(tsri_base_new((size_t)stack->layers, 1, &rotations));
    stack->rotations = rotations;
    for (int32_t i = 0; i < stack->layers; i++)
        rotations[i] = (i + 1) % interval ? TSRI_ROTATION_MAIN : TSRI_ROTATION_NONE;
    if (!list || json_is_null(list))
        return TSR_OK;
    for (int32_t i = 0; i < stack->layers; i++) {
        const json_t *item = json_array_get(list, (size_t)i);
        if (!json_is_integer(item))
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: \"no_rope_layers\" must be a list of 0 or 1 for each of the "
                                  "%d layers",
                                  config->what, stack->layers);
        rotations[i] = json_integer_value(item) ? TSRI_ROTATION_MAIN : TSRI_ROTATION_NONE;
    }
    return TSR_OK;
}

/* If the config asks for a window, the layers that rotate nothing have it; layer_types says more. */
static tsr_status read_window(const tsri_model_config *config, tsri_model_stack *stack) {
    bool use = false;
    uint8_t *windowed = NULL;
    TRY(tsri_model_config_window(config, false, 0, stack));
    TRY(tsri_model_config_bool(config, "use_sliding_window", &use));
    if (json_is_array(json_object_get(config->root, "layer_types")) || !use)
        return TSR_OK;
    TRY(tsri_model_config_int(config, "sliding_window", false, 1, INT32_MAX, &stack->window));
    windowed = (uint8_t *)(uintptr_t)stack->windowed;
    for (int32_t i = 0; i < stack->layers; i++)
        windowed[i] = stack->rotations[i] == TSRI_ROTATION_NONE;
    return TSR_OK;
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias",
                                          "mlp_bias",
                                          "use_sliding_window",
                                          "sliding_window",
                                          "layer_types",
                                          "no_rope_layers",
                                          "rope_scaling",
                                          "rope_parameters",
                                          "no_rope_layer_interval",
                                          NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_llama_layout(config, spec));
    TRY(tsri_model_config_tied(config, true, spec));
    TRY(tsri_model_config_rope(config, 2e6, spec->max_positions, &stack->rope));
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    TRY(tsri_model_config_bool(config, "mlp_bias", &stack->mlp_bias));
    TRY(read_rotations(config, stack));
    return read_window(config, stack);
}

const tsri_model_arch tsri_model_arch_smollm3 = {
    .name = "smollm3",
    .gguf = "smollm3",
    .names = &tsri_model_names_llama,
    .gguf_names = &tsri_model_names_gguf,
    .gguf_interleaved = true,
    .read = read,
};
