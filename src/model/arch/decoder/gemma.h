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

/* The names of Gemma 2 and 3. The output matrix has the second name in files of a Gemma 3 with images that
 * transformers 4.50 wrote. */
/* clang-format off */
#define TSRI_MODEL_NAMES_GEMMA2(at) \
    .prefix = at, .embed = "embed_tokens", .final_norm = "norm", \
    .head = "/lm_head|/language_model.lm_head", \
    .norm1 = "layers.%d.input_layernorm", .norm2 = "layers.%d.pre_feedforward_layernorm", \
    .out_norm = "layers.%d.post_attention_layernorm", \
    .down_norm = "layers.%d.post_feedforward_layernorm", \
    .q_norm = "layers.%d.self_attn.q_norm", .k_norm = "layers.%d.self_attn.k_norm", \
    .out = "layers.%d.self_attn.o_proj", TSRI_MODEL_NAMES_LLAMA_QKV, TSRI_MODEL_NAMES_LLAMA_MLP
/* clang-format on */

/* The scale of scores, which GGUF files don't have: it is that of a head's size, but in the largest
 * model, which has `layers` layers, that of width / heads. */
void tsri_model_arch_gemma_scale(json_t *config, json_int_t layers);

#endif
