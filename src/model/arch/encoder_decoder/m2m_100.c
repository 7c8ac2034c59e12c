/* model/arch/encoder_decoder/m2m_100.c - M2M-100 and NLLB: norms before the blocks, sinusoids that
 * start after the padding's id.
 * https://huggingface.co/docs/transformers/model_doc/m2m_100 */
#include "base/error.h"
#include "model/arch/encoder_decoder/bart.h"

#include <math.h>

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    bool scale = true; /* if the keys are missing: scaled, and relu */
    TRY(tsri_model_arch_bart_like(config, spec));
    TRY(tsri_model_config_bool(config, "scale_embedding", &scale));
    spec->embed_scale = scale ? (float)sqrt(spec->width) : 1;
    TRY(tsri_model_config_activation(config, "activation_function", "relu",
                                     &spec->encoder.activation));
    spec->decoder.activation = spec->encoder.activation;
    tsri_model_arch_norms_first(spec);
    tsri_model_arch_sinusoids(
        spec, (tsri_model_sinusoid){
                  .halves = true, .to_end = true, .first = (spec->pad < 0 ? 1 : spec->pad) + 1});
    spec->encoder.positions_of_tokens = spec->decoder.positions_of_tokens = true;
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_m2m_100 = {
    .name = "m2m_100",
    .names = &tsri_model_names_bart_decoder,
    .encoder_names = &tsri_model_names_bart_encoder,
    .read = read,
};
