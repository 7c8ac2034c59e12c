/* model/arch/decoder/granite.c - Granite 3: Llama's layout with a factor of embeddings, scores,
 * branches and logits each. https://huggingface.co/docs/transformers/model_doc/granite */
#include "model/arch/decoder/granite.h"
#include "base/error.h"
#include "base/json.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 1000000 };

tsr_status tsri_model_arch_granite_like(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->decoder;
    float divisor = 1;
    TRY(tsri_model_arch_llama_like(config, spec));
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    TRY(tsri_model_config_float(config, "embedding_multiplier", false, 1e-6, MOST,
                                &spec->embed_scale));
    TRY(tsri_model_config_float(config, "residual_multiplier", false, 1e-6, MOST,
                                &stack->branch_scale));
    stack->attention_scale = 1;
    TRY(tsri_model_config_float(config, "attention_multiplier", false, 1e-6, MOST,
                                &stack->attention_scale));
    TRY(tsri_model_config_float(config, "logits_scaling", false, 1e-6, MOST, &divisor));
    spec->head_scale = 1 / divisor;
    return TSR_OK;
}

tsr_status tsri_model_arch_complete_granite(const tsri_io_archive *archive, json_t *config) {
    const double size = json_number_value(json_object_get(config, "head_dim"));
    const char *name = NULL;
    bool rotated = true; /* what the key says in Granite's files alone */
    char key[96];
    TRY(tsri_io_meta_text(archive, "general.architecture", &name, NULL));
    snprintf(key, sizeof key, "%.60s.rope.scaling.finetuned", name);
    TRY(tsri_io_meta_bool(archive, key, &rotated));
    if (!rotated)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"%s\" is false: a Granite without rotary positions, which is "
                              "not served",
                              archive->path, key);
    if (json_number_value(json_object_get(config, "attention_multiplier")) == 0 && size > 0)
        tsri_base_json_put(config, "attention_multiplier", json_real(1 / sqrt(size)));
    tsri_base_json_rename(config, "logit_scale", "logits_scaling");
    return TSR_OK;
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {TSRI_MODEL_KEYS_GRANITE, "mlp_bias", NULL};
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_granite_like(config, spec));
    return tsri_model_config_bool(config, "mlp_bias", &spec->decoder.mlp_bias);
}

const tsri_model_arch tsri_model_arch_granite = {
    .name = "granite",
    .gguf = "granite",
    .names = &tsri_model_names_llama,
    .gguf_names = &tsri_model_names_gguf,
    .gguf_interleaved = true,
    .read = read,
    .complete_gguf = tsri_model_arch_complete_granite,
};
