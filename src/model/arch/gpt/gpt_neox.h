/* model/arch/gpt/gpt_neox.h - what GPT-NeoX and BLOOM share: both were trained by Megatron. */
#ifndef TSRI_MODEL_ARCH_GPT_GPT_NEOX_H
#define TSRI_MODEL_ARCH_GPT_GPT_NEOX_H

#include "model/arch/common/family.h"

/* The names of a layer that begin with `layer`, and in its attention with `attention`. */
/* clang-format off */
#define TSRI_MODEL_NAMES_MEGATRON(layer, attention) \
    .norm1 = layer "input_layernorm", .norm2 = layer "post_attention_layernorm", \
    .qkv = layer attention "query_key_value", .out = layer attention "dense", \
    .up = layer "mlp.dense_h_to_4h", .down = layer "mlp.dense_4h_to_h", \
    .fused = TSRI_FUSED_GROUPS
/* clang-format on */

#endif
