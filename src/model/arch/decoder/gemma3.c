/* model/arch/decoder/gemma3.c - Gemma 3, its texts: Gemma 2 without the soft cap of scores, with norms
 * of queries and keys, and with rotary parameters of their own in layers that have a window.
 * https://huggingface.co/docs/transformers/model_doc/gemma3 */
#include "base/error.h"
#include "model/arch/decoder/gemma.h"

enum { WINDOW = 4096, PERIOD = 6, LARGEST = 62 /* layers of the 27B model */ };

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias",
                                          "sliding_window",
                                          "sliding_window_pattern",
                                          "layer_types",
                                          "rope_scaling",
                                          "rope_parameters",
                                          "rope_local_base_freq",
                                          "query_pre_attn_scalar",
                                          "final_logit_softcapping",
                                          NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_gemma2_layout(config, 0, spec));
    stack->qk_norm = TSRI_QK_NORM_HEADS;
    stack->window = WINDOW;
    TRY(tsri_model_config_window_every(config, "sliding_window_pattern", PERIOD, stack));
    TRY(tsri_model_rotate_by_window(stack, TSRI_ROTATION_LOCAL, TSRI_ROTATION_MAIN));
    return tsri_model_config_two_ropes(config, 1e6, 10000, spec->max_positions, stack);
}

static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    (void)archive;
    tsri_model_arch_gemma_scale(config, LARGEST);
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_gemma3_text = {
    .name = "gemma3_text",
    .gguf = "gemma3",
    .names = &tsri_model_names_gemma2,
    .gguf_names = &tsri_model_names_gguf,
    .gguf_norm_added = true,
    .read = read,
    .complete_gguf = complete_gguf,
};
