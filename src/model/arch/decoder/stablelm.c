/* model/arch/decoder/stablelm.c - StableLM 2 and StableLM 3B: Llama's layout with layer norms and a
 * partial rotation; the branches may be parallel, behind one norm.
 * https://huggingface.co/docs/transformers/model_doc/stablelm */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/decoder/llama.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"use_parallel_residual", "partial_rotary_factor",
                                          "rope_scaling", "rope_parameters", NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    stack->rope.share = 0.25;
    TRY(tsri_model_arch_llama_like(config, spec));
    TRY(tsri_model_config_layer_norm(config, "layer_norm_eps", true, stack));
    TRY(tsri_model_config_bool(config, "use_qkv_bias", &stack->qkv_bias));
    TRY(tsri_model_config_bool(config, "use_parallel_residual", &stack->parallel));
    stack->one_norm = stack->parallel;
    return TSR_OK;
}

/* The file of a parallel model has no second norm, whatever its metadata says. */
static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    tsri_base_json_rename(config, "attention_bias", "use_qkv_bias");
    tsri_base_json_put(config, "use_parallel_residual",
                       json_boolean(!tsri_io_find(archive, "blk.0.ffn_norm.weight")));
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_stablelm = {
    .name = "stablelm",
    .classes = "StableLMEpoch",
    .gguf = "stablelm",
    .names = &tsri_model_names_llama,
    .gguf_names = &tsri_model_names_gguf,
    .read = read,
    .complete_gguf = complete_gguf,
};
