/* model/arch/decoder/qwen3.c - Qwen3: Qwen2 with RMS norms on each query and key head instead of
 * biases. */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/common/family.h"
#include "model/arch/decoder/llama.h"

enum { WINDOW = 4096 }; /* if the key is missing */

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {
        "attention_bias",     "use_qk_norm", /* as some write; there are always norms */
        "use_sliding_window", "sliding_window",  "layer_types",
        "rope_scaling",       "rope_parameters", NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    stack->head_size = 128; /* transformers' default: not hidden_size / heads */
    TRY(tsri_model_arch_llama_like(config, spec));
    stack->qk_norm = TSRI_QK_NORM_HEADS;
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    return tsri_model_config_window(config, false, WINDOW, stack);
}

/* llama.cpp's converter turns Qwen3-Reranker into a classifier of two labels: the rows of its output matrix for
 * the words "yes" and "no". */
static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    if (!tsri_io_find(archive, "cls.output.weight"))
        return TSR_OK;
    tsri_base_json_put(config, "architectures", json_pack("[s]", "Qwen3ForSequenceClassification"));
    return tsri_model_gguf_labels(archive, config);
}

const tsri_model_arch tsri_model_arch_qwen3 = {
    .name = "qwen3",
    .gguf = "qwen3",
    .names = &tsri_model_names_llama,
    .gguf_names = &tsri_model_names_gguf,
    .read = read,
    .complete_gguf = complete_gguf,
};
