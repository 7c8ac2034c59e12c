/* model/arch/common/gguf_names.c - what llama.cpp's converter calls the arrays of a GGUF file. */
#include "model/arch/common/family.h"

static const char *const ignored[] = {".attn_rot_embd.weight", NULL};

#define NORMS .norm1 = "blk.%d.attn_norm", .norm2 = "blk.%d.ffn_norm"

const tsri_model_names tsri_model_names_gguf = {
    TSRI_MODEL_NAMES_GGUF,
    NORMS,
    TSRI_MODEL_NAMES_QKV("blk.%d.attn_", "q", "k", "v"),
    .q_norm = "blk.%d.attn_q_norm",
    .k_norm = "blk.%d.attn_k_norm",
    .gate = "blk.%d.ffn_gate",
    .ignored = ignored,
};

const tsri_model_names tsri_model_names_gguf_gate_up = {
    TSRI_MODEL_NAMES_GGUF,
    NORMS,
    TSRI_MODEL_NAMES_QKV("blk.%d.attn_", "q", "k", "v"),
    .gate_up = "blk.%d.ffn_up",
};

const tsri_model_names tsri_model_names_gguf_fused = {
    TSRI_MODEL_NAMES_GGUF,
    NORMS,
    .gate_up = "blk.%d.ffn_up",
    .fused = TSRI_FUSED_QKV,
};
