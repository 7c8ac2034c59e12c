/* model/arch/encoder/eurobert.c - EuroBERT: Llama's layout, whose tokens see both sides.
 * https://huggingface.co/docs/transformers/model_doc/eurobert */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/decoder/llama.h"

#include <string.h>

static const float eps = 1e-5f; /* if the key is missing */

/* Only labels of texts are pooled. */
static bool is_pooled(const tsri_model_config *config) {
    return !json_array_size(json_object_get(config->root, "architectures")) ||
           tsri_model_config_is_for(config, "ForSequenceClassification");
}

static tsr_status read_heads(const tsri_model_config *config, tsri_model_spec *spec) {
    const char *pooling = "late";
    spec->dense_bias = spec->label_bias = true;
    spec->label_activation = TSR_ACT_GELU;
    spec->label_tokens = tsri_model_config_is_for(config, "ForTokenClassification");
    TRY(tsri_base_json_text(config->root, config->what, "classifier_pooling", &pooling));
    spec->label_late = strcmp(pooling, "late") == 0;
    spec->label_pooling =
        spec->label_late || strcmp(pooling, "mean") == 0 ? TSR_POOL_MEAN : TSR_POOL_FIRST;
    if (spec->label_pooling == TSR_POOL_FIRST && strcmp(pooling, "bos") != 0 && is_pooled(config))
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: \"classifier_pooling\" is \"%s\", which is not served; bos, mean "
            "and late are",
            config->what, pooling);
    return TSR_OK;
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias", "mlp_bias", "rope_scaling",
                                          "rope_parameters", NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_llama_like(config, spec));
    stack->norm_eps = eps;
    TRY(tsri_model_config_float(config, "rms_norm_eps", false, 1e-12, 1, &stack->norm_eps));
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    TRY(tsri_model_config_bool(config, "mlp_bias", &stack->mlp_bias));
    const bool tied = spec->tied;
    tsri_model_spec_encode(spec);
    spec->encoder.causal = false;
    spec->bare_masked = tsri_model_config_is_for(config, "ForMaskedLM");
    spec->tied = tied || !spec->bare_masked;
    spec->head_bias = spec->bare_masked && spec->encoder.mlp_bias;
    return read_heads(config, spec);
}

static const char *const unserved[] = {"lm_head.", NULL};

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_LLAMA,  TSRI_MODEL_NAMES_LLAMA_QKV, TSRI_MODEL_NAMES_LLAMA_MLP,
    .label_dense = "/dense", .label = "/classifier",     .token_label = "/classifier",
    .unserved = unserved,
};

const tsri_model_arch tsri_model_arch_eurobert = {
    .name = "eurobert",
    .gguf = "eurobert",
    .encoder_names = &names,
    .gguf_names = &tsri_model_names_gguf,
    .read = read,
};
