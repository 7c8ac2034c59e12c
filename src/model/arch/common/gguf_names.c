/* model/arch/common/gguf_names.c - what llama.cpp's converter calls the arrays of a GGUF file. */
#include "model/arch/common/family.h"

static const char *const ignored[] = {".attn_rot_embd.weight", NULL};

/* clang-format off */
#define COMMON \
    .prefix = "", .embed = "token_embd", .position = "position_embd", \
    .final_norm = "output_norm", .head = "/output", \
    .norm1 = "blk.%d.attn_norm", .norm2 = "blk.%d.ffn_norm", \
    .qkv = "blk.%d.attn_qkv", .out = "blk.%d.attn_output", \
    .up = "blk.%d.ffn_up", .down = "blk.%d.ffn_down", \
    .out_norm = "blk.%d.post_attention_norm", .down_norm = "blk.%d.post_ffw_norm"
/* clang-format on */

const tsri_model_names tsri_model_names_gguf = {
    COMMON,
    TSRI_MODEL_NAMES_QKV("blk.%d.attn_", "q", "k", "v"),
    .q_norm = "blk.%d.attn_q_norm",
    .k_norm = "blk.%d.attn_k_norm",
    .gate = "blk.%d.ffn_gate",
    .ignored = ignored,
};

const tsri_model_names tsri_model_names_gguf_fused = {
    COMMON,
    .gate_up = "blk.%d.ffn_up",
    .fused = TSRI_FUSED_QKV,
};
