/* Llama 1, 2 and 3 and what follows their config:
 * https://huggingface.co/docs/transformers/model_doc/llama */
#include "base/error.h"
#include "model/arch.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias", "mlp_bias", "rope_scaling",
                                          "rope_parameters", NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_llama_like(config, spec));
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    return tsri_model_config_bool(config, "mlp_bias", &stack->mlp_bias);
}

const tsri_model_arch tsri_model_arch_llama = {
    .name = "llama",
    .gguf = "llama",
    .names = &tsri_model_names_llama,
    .gguf_names = &tsri_model_names_gguf,
    .gguf_interleaved = true,
    .read = read,
};
