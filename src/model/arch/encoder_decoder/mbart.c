/* model/arch/encoder_decoder/mbart.c - mBART: BART with the norms before the blocks, and one after
 * the last.
 * https://huggingface.co/docs/transformers/model_doc/mbart */
#include "base/error.h"
#include "model/arch/encoder_decoder/bart.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    TRY(tsri_model_arch_bart_like(config, spec));
    tsri_model_arch_norms_first(spec);
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_mbart = {
    .name = "mbart",
    .names = &tsri_model_names_bart_decoder,
    .encoder_names = &tsri_model_names_bart_encoder,
    .read = read,
};
