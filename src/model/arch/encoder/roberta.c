/* model/arch/encoder/roberta.c - RoBERTa: BERT whose positions begin after the padding's id, with a
 * different classifier.
 * https://huggingface.co/docs/transformers/model_doc/roberta */
#include "base/error.h"
#include "model/arch/encoder/bert.h"

#include <inttypes.h>

tsr_status tsri_model_arch_roberta_positions(const tsri_model_config *config, int32_t padding,
                                             tsri_model_spec *spec) {
    TRY(tsri_model_arch_bert_like(config, spec));
    if (padding < 0)
        padding = spec->pad < 0 ? 1 : spec->pad;
    spec->encoder.position_offset = padding + 1;
    spec->encoder.positions_of_tokens = true;
    if (spec->max_positions <= padding + 1)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: max_position_embeddings %" PRId64
                              " leaves no position after the padding's id %" PRId32,
                              config->what, spec->max_positions, padding);
    spec->max_positions -= padding + 1;
    spec->masked_activation = TSR_ACT_GELU;
    return TSR_OK;
}

tsr_status tsri_model_arch_roberta_like(const tsri_model_config *config, tsri_model_spec *spec) {
    spec->token_types = 1;
    return tsri_model_arch_roberta_positions(config, -1, spec);
}

const tsri_model_names tsri_model_names_roberta = {
    .prefix = "roberta.",
    TSRI_MODEL_NAMES_BERT,
    TSRI_MODEL_NAMES_ROBERTA_HEADS,
};

const tsri_model_arch tsri_model_arch_roberta = {
    .name = "roberta",
    .encoder_names = &tsri_model_names_roberta,
    .read = tsri_model_arch_roberta_like,
};
