/* model/arch/decoder/helium.c - Helium: Llama's layout with interleaved rotary positions.
 * https://huggingface.co/docs/transformers/model_doc/helium */
#include "base/error.h"
#include "model/arch/decoder/llama.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias", "mlp_bias", "rope_scaling",
                                          "rope_parameters", NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    stack->head_size = 128;
    stack->rope.interleaved = true;
    TRY(tsri_model_arch_llama_layout(config, spec));
    stack->norm_eps = 1e-8f;
    TRY(tsri_model_config_float(config, "rms_norm_eps", false, 1e-12, 1, &stack->norm_eps));
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    TRY(tsri_model_config_bool(config, "mlp_bias", &stack->mlp_bias));
    return tsri_model_config_rope(config, 100000, spec->max_positions, &stack->rope);
}

const tsri_model_arch tsri_model_arch_helium = {
    .name = "helium",
    .names = &tsri_model_names_llama,
    .read = read,
};
