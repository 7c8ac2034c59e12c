/* model/arch/decoder/llama.h - what Llama shares with its relatives. */
#ifndef TSRI_MODEL_ARCH_DECODER_LLAMA_H
#define TSRI_MODEL_ARCH_DECODER_LLAMA_H

#include "model/arch/common/family.h"

/* Reads Llama's layout from a config: its relatives start from it. llama_layout leaves the rotary
 * parameters to them. The embedding has a padding_idx, as those of all relatives but GPT-NeoX. */
tsr_status tsri_model_arch_llama_like(const tsri_model_config *config, tsri_model_spec *spec);
tsr_status tsri_model_arch_llama_layout(const tsri_model_config *config, tsri_model_spec *spec);

/* Their names in Hugging Face's files. */
extern const tsri_model_names tsri_model_names_llama;

/* The part of these names that relatives with other arrays in their layers have, too. */
/* clang-format off */
#define TSRI_MODEL_NAMES_LLAMA \
    TSRI_MODEL_NAMES_LLAMA_AROUND, .norm2 = "layers.%d.post_attention_layernorm"
/* The same without the norm of what the feed-forward part reads, which has other names, too. */
#define TSRI_MODEL_NAMES_LLAMA_AROUND \
    .prefix = "model.", .embed = "embed_tokens", .final_norm = "norm", .head = "/lm_head", \
    .norm1 = "layers.%d.input_layernorm", .out = "layers.%d.self_attn.o_proj"
#define TSRI_MODEL_NAMES_LLAMA_MLP \
    .gate = "layers.%d.mlp.gate_proj", .up = "layers.%d.mlp.up_proj", \
    .down = "layers.%d.mlp.down_proj"
/* Queries, keys and values in three arrays. */
#define TSRI_MODEL_NAMES_LLAMA_QKV \
    TSRI_MODEL_NAMES_QKV("layers.%d.self_attn.", "q_proj", "k_proj", "v_proj")
/* clang-format on */

#endif
