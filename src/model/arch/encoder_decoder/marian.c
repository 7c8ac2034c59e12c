/* model/arch/encoder_decoder/marian.c - Marian: BART without the embedding's norm, sinusoids in
 * halves; source and target may have separate tables.
 * https://huggingface.co/docs/transformers/model_doc/marian */
#include "base/error.h"
#include "model/arch/encoder_decoder/bart.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    bool shared = true;
    TRY(tsri_model_arch_bart_like(config, spec));
    TRY(tsri_model_config_bool(config, "share_encoder_decoder_embeddings", &shared));
    if (!shared && tsri_io_find(config->archive, "model.shared.weight"))
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: \"share_encoder_decoder_embeddings\" is false, but the files have "
            "one table for both sides, \"model.shared.weight\"",
            config->what);
    if (!shared) {
        spec->source_embed = true;
        spec->source_vocab = spec->vocab;
        TRY(tsri_model_config_int(config, "decoder_vocab_size", false, 1, TSRI_MODEL_MAX_VOCAB,
                                  &spec->vocab));
    }
    tsri_model_arch_sinusoids(spec, (tsri_model_sinusoid){.halves = true});
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_marian = {
    .name = "marian",
    .names = &tsri_model_names_bart_decoder,
    .encoder_names = &tsri_model_names_bart_encoder,
    .read = read,
};
