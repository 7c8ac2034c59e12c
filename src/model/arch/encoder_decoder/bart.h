/* model/arch/encoder_decoder/bart.h - what BART shares with its relatives. */
#ifndef TSRI_MODEL_ARCH_ENCODER_DECODER_BART_H
#define TSRI_MODEL_ARCH_ENCODER_DECODER_BART_H

#include "model/arch/common/family.h"

/* Reads BART's layout from a config, and has the names of its stacks: its relatives start from
 * them. */
tsr_status tsri_model_arch_bart_like(const tsri_model_config *config, tsri_model_spec *spec);
/* What relatives change in both stacks: norms before the blocks and one after the last; sinusoids
 * without a norm of the embedding. */
void tsri_model_arch_norms_first(tsri_model_spec *spec);
void tsri_model_arch_sinusoids(tsri_model_spec *spec, tsri_model_sinusoid sinusoid);
extern const tsri_model_names tsri_model_names_bart_encoder, tsri_model_names_bart_decoder;

#endif
