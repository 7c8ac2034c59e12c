/* model/arch/phi3.c - Phi-3: Llama's layout with one matrix for queries, keys and values, one
 * matrix for gate and up, and a sliding window. */
#include "base/error.h"
#include "model/arch/arch.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"sliding_window", "rope_scaling", "rope_parameters",
                                          "partial_rotary_factor", NULL};
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_llama_like(config, spec));
    spec->decoder.norm_eps = 1e-5f;
    TRY(tsri_model_config_float(config, "rms_norm_eps", false, 1e-12, 1, &spec->decoder.norm_eps));
    return tsri_model_config_window(config, true, &spec->decoder);
}

static const char *const ignored[] = {"rotary_emb.inv_freq", NULL};

static const tsri_model_names names = {
    .prefix = "model.",
    .embed = "embed_tokens",
    .final_norm = "norm",
    .head = "/lm_head",
    .norm1 = "layers.%d.input_layernorm",
    .norm2 = "layers.%d.post_attention_layernorm",
    .qkv = "layers.%d.self_attn.qkv_proj",
    .out = "layers.%d.self_attn.o_proj",
    .gate_up = "layers.%d.mlp.gate_up_proj",
    .down = "layers.%d.mlp.down_proj",
    .fused = TSRI_FUSED_QKV,
    .ignored = ignored,
};

static const tsri_model_names gguf_names = {
    .prefix = "",
    .embed = "token_embd",
    .final_norm = "output_norm",
    .head = "/output",
    .norm1 = "blk.%d.attn_norm",
    .norm2 = "blk.%d.ffn_norm",
    .qkv = "blk.%d.attn_qkv",
    .out = "blk.%d.attn_output",
    .gate_up = "blk.%d.ffn_up",
    .down = "blk.%d.ffn_down",
    .fused = TSRI_FUSED_QKV,
};

const tsri_model_arch tsri_model_arch_phi3 = {
    .name = "phi3",
    .gguf = "phi3",
    .names = &names,
    .gguf_names = &gguf_names,
    .read = read,
};
