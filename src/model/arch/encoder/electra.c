/* model/arch/encoder/electra.c - ELECTRA: BERT with an embedding table that may be narrower than
 * its layers; its generator is a masked LM. The discriminator's own head, which detects replaced
 * tokens, is not computed, and a warning says so.
 * https://huggingface.co/docs/transformers/model_doc/electra */
#include "base/error.h"
#include "model/arch/encoder/bert.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    int32_t width = 0;
    spec->token_types = 2;
    TRY(tsri_model_arch_bert_like(config, spec));
    TRY(tsri_model_config_int(config, "embedding_size", true, 1, TSRI_MODEL_MAX_WIDTH, &width));
    if (width != spec->width)
        spec->embed_width = width;
    spec->masked_activation = spec->label_activation = TSR_ACT_GELU;
    return TSR_OK;
}

static const char *const unserved[] = {"discriminator_predictions.", NULL};

static const tsri_model_names names = {
    .prefix = "electra.",
    TSRI_MODEL_NAMES_BERT,
    .project = "embeddings_project",
    .head = "/generator_lm_head",
    .head_bias = "/generator_lm_head",
    TSRI_MODEL_NAMES_BERT_MASKED("/generator_predictions."),
    TSRI_MODEL_NAMES_ROBERTA_LABELS,
    .unserved = unserved,
};

const tsri_model_arch tsri_model_arch_electra = {
    .name = "electra",
    .encoder_names = &names,
    .read = read,
};
