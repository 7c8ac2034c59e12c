/* model/arch/decoder/minicpm.c - MiniCPM, MiniCPM 4 and 4.1: Llama's layout with a factor of embeddings, branches and logits
 * each, by the code beside the models' files (modeling_minicpm.py):
 *
 *     embedding * scale_emb      x + branch * scale_depth / sqrt(layers)      logits / (hidden_size / dim_model_base)
 *
 * source  Hu et al. 2024, arXiv:2404.06395 */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/decoder/llama.h"

#include <math.h>

enum { MOST = 1000000 };

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias", "rope_scaling", "rope_parameters",
                                          NULL};
    static const tsri_model_neutral fixed[] = {{"sparse_config", TSRI_NEUTRAL_NULL}};
    tsri_model_stack *stack = &spec->decoder;
    double embedding = 1, depth = 1, base = 1; /* if the keys are missing */
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_config_refuse_table(config, fixed, sizeof fixed / sizeof *fixed, NULL));
    TRY(tsri_model_arch_llama_like(config, spec));
    TRY(tsri_model_config_tied(config, true, spec));
    TRY(tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias));
    stack->out_bias = stack->qkv_bias;
    TRY(tsri_base_json_real(config->root, config->what, "scale_emb", 1e-6, MOST, &embedding));
    TRY(tsri_base_json_real(config->root, config->what, "scale_depth", 1e-6, MOST, &depth));
    TRY(tsri_base_json_real(config->root, config->what, "dim_model_base", 1e-6, MOST, &base));
    spec->embed_scale = (float)embedding;
    stack->branch_scale = (float)(depth / sqrt(stack->layers));
    spec->head_scale = (float)(base / spec->width);
    return TSR_OK;
}

/* GGUF files have the factors themselves, logits' as a divisor. Their first ones lack them: they are of MiniCPM 2B. */
static tsr_status complete(const tsri_io_archive *archive, json_t *config) {
    const double layers = (double)json_integer_value(json_object_get(config, "num_hidden_layers")),
                 width = (double)json_integer_value(json_object_get(config, "hidden_size")),
                 residual = json_number_value(json_object_get(config, "residual_multiplier")),
                 divisor = json_number_value(json_object_get(config, "logit_scale"));
    json_t *embedding = json_object_get(config, "embedding_multiplier");
    static const char *const read[] = {"embedding_multiplier", "residual_multiplier",
                                       "logit_scale"};
    (void)archive;
    tsri_base_json_put(config, "scale_emb", embedding ? json_incref(embedding) : json_real(12));
    tsri_base_json_put(config, "scale_depth",
                       json_real(residual != 0 ? residual * sqrt(layers) : 1.4));
    tsri_base_json_put(config, "dim_model_base", json_real(divisor != 0 ? width / divisor : 256));
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        json_object_del(config, read[i]);
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_minicpm = {
    .name = "minicpm",
    .gguf = "minicpm",
    .names = &tsri_model_names_llama,
    .gguf_names = &tsri_model_names_gguf,
    .gguf_interleaved = true,
    .read = read,
    .complete_gguf = complete,
};
