/* model/arch/xlm_roberta.c - XLM-RoBERTa: RoBERTa with another vocabulary.
 * https://huggingface.co/docs/transformers/model_doc/xlm-roberta */
#include "model/arch/arch.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    spec->token_types = 1;
    return tsri_model_arch_roberta_like(config, spec);
}

const tsri_model_arch tsri_model_arch_xlm_roberta = {
    .name = "xlm-roberta",
    .encoder_names = &tsri_model_names_roberta,
    .read = read,
};
