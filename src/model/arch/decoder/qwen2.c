/* model/arch/decoder/qwen2.c - Qwen2 and 2.5: Llama's layout, biases on queries, keys and values,
 * and possibly a window in the upper layers. */
#include "base/error.h"
#include "model/arch/decoder/llama.h"

enum { WINDOW = 4096 }; /* if the key is missing */

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"use_sliding_window", "sliding_window",  "layer_types",
                                          "rope_scaling",       "rope_parameters", NULL};
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_llama_like(config, spec));
    spec->decoder.qkv_bias = true;
    return tsri_model_config_window(config, false, WINDOW, &spec->decoder);
}

/* The biases are not an option in the config. */
static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    (void)archive;
    json_object_del(config, "attention_bias");
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_qwen2 = {
    .name = "qwen2",
    .gguf = "qwen2",
    .names = &tsri_model_names_llama,
    .gguf_names = &tsri_model_names_gguf,
    .read = read,
    .complete_gguf = complete_gguf,
};
