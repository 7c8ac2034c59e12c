/* model/arch/decoder/cohere.c - Cohere (Command R) and Cohere 2 (Command R7B, Command A): parallel
 * branches behind one layer norm without a bias, interleaved rotary positions, a factor of logits.
 * In Cohere 2, layers with a window rotate, and the others have no positions.
 * https://huggingface.co/docs/transformers/model_doc/cohere2 */
#include "base/error.h"
#include "model/arch/decoder/llama.h"

enum { WINDOW = 4096, PERIOD = 4 };

static tsr_status read_layout(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_arch_llama_layout(config, spec));
    TRY(tsri_model_config_tied(config, true, spec));
    TRY(tsri_model_config_layer_norm(config, "layer_norm_eps", false, stack));
    stack->parallel = stack->one_norm = true;
    stack->rope.interleaved = true;
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    spec->head_scale = 0.0625f;
    return tsri_model_config_float(config, "logit_scale", false, 1e-6, 1e6, &spec->head_scale);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias", "logit_scale", "rope_scaling",
                                          "rope_parameters", NULL};
    TRY(tsri_model_config_refuse(config, handled));
    TRY(read_layout(config, spec));
    return tsri_model_config_rope(config, 500000, spec->max_positions, &spec->decoder.rope);
}

static tsr_status read_second(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias",         "logit_scale", "sliding_window",
                                          "sliding_window_pattern", "layer_types", "rope_scaling",
                                          "rope_parameters",        NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(read_layout(config, spec));
    stack->window = WINDOW;
    TRY(tsri_model_config_window_every(config, "sliding_window_pattern", PERIOD, stack));
    TRY(tsri_model_rotate_by_window(stack, TSRI_ROTATION_MAIN, TSRI_ROTATION_NONE));
    return tsri_model_config_rope(config, 10000, spec->max_positions, &stack->rope);
}

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_LLAMA_AROUND,
    TSRI_MODEL_NAMES_LLAMA_QKV,
    TSRI_MODEL_NAMES_LLAMA_MLP,
};

const tsri_model_arch tsri_model_arch_cohere = {
    .name = "cohere",
    .gguf = "command-r",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf,
    .read = read,
};

const tsri_model_arch tsri_model_arch_cohere2 = {
    .name = "cohere2",
    .gguf = "cohere2",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf,
    .read = read_second,
};
