/* model/arch/decoder/gemma.h - what Gemma shares with its successors. */
#ifndef TSRI_MODEL_ARCH_DECODER_GEMMA_H
#define TSRI_MODEL_ARCH_DECODER_GEMMA_H

#include "model/arch/common/family.h"

/* Reads Gemma's layout from a config, without its activation and its rotary parameters. */
tsr_status tsri_model_arch_gemma_layout(const tsri_model_config *config, tsri_model_spec *spec);

/* Reads what Gemma 2 added to it: the activation by its new name, norms of what branches add, the
 * scale of scores, the soft cap of logits (`cap` if the config has no such key; 0: none). */
tsr_status tsri_model_arch_gemma2_layout(const tsri_model_config *config, float cap,
                                         tsri_model_spec *spec);

/* The names of Gemma 2 and 3. */
extern const tsri_model_names tsri_model_names_gemma2;

/* The scale of scores, which GGUF files don't have: it is that of a head's size, but in the largest
 * model, which has `layers` layers, that of width / heads. */
void tsri_model_arch_gemma_scale(json_t *config, json_int_t layers);

#endif
