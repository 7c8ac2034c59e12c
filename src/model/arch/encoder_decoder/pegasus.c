/* model/arch/encoder_decoder/pegasus.c - Pegasus: norms before the blocks, sinusoids in halves.
 * https://huggingface.co/docs/transformers/model_doc/pegasus */
#include "base/error.h"
#include "model/arch/encoder_decoder/bart.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    TRY(tsri_model_arch_bart_like(config, spec));
    tsri_model_arch_norms_first(spec);
    tsri_model_arch_sinusoids(spec, (tsri_model_sinusoid){.halves = true});
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_pegasus = {
    .name = "pegasus",
    .names = &tsri_model_names_bart_decoder,
    .encoder_names = &tsri_model_names_bart_encoder,
    .read = read,
};
