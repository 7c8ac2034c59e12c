/* model/arch/decoder/granite.h - what Granite shares with its relatives that have experts. */
#ifndef TSRI_MODEL_ARCH_DECODER_GRANITE_H
#define TSRI_MODEL_ARCH_DECODER_GRANITE_H

#include "model/arch/decoder/llama.h"

/* Keys that granite_like reads and other families refuse: for tsri_model_config_refuse. */
#define TSRI_MODEL_KEYS_GRANITE                                                                    \
    "attention_bias", "rope_scaling", "rope_parameters", "embedding_multiplier", "logits_scaling", \
        "residual_multiplier", "attention_multiplier"

/* Llama's layout, and the factors of embeddings, scores, branches and logits. */
tsr_status tsri_model_arch_granite_like(const tsri_model_config *config, tsri_model_spec *spec);

/* For complete_gguf: what divides the logits is called logit_scale there, and scores without a scale have that of
 * the head size. */
tsr_status tsri_model_arch_complete_granite(const tsri_io_archive *archive, json_t *config);

#endif
