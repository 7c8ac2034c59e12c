/* model/arch/decoder/mistral.c - Mistral: Llama's layout with a sliding window over all layers. */
#include "base/error.h"
#include "model/arch/decoder/llama.h"

enum { WINDOW = 4096 }; /* if the key is missing */

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"sliding_window", "use_sliding_window", "layer_types",
                                          "rope_scaling",   "rope_parameters",    NULL};
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_llama_like(config, spec));
    return tsri_model_config_window(config, true, WINDOW, &spec->decoder);
}

const tsri_model_arch tsri_model_arch_mistral = {
    .name = "mistral",
    .names = &tsri_model_names_llama,
    .read = read,
};
