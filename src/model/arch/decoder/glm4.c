/* model/arch/decoder/glm4.c - GLM-4 9B and GLM-4 (0414): Llama's layout with interleaved rotary
 * positions in half of each head, and one matrix for gate and up; of 0414, with norms of what
 * branches add, too.
 * https://huggingface.co/docs/transformers/model_doc/glm
 * https://huggingface.co/docs/transformers/model_doc/glm4 */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/decoder/llama.h"

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias", "partial_rotary_factor", "rope_scaling",
                                          "rope_parameters", NULL};
    tsri_model_stack *stack = &spec->decoder;
    TRY(tsri_model_config_refuse(config, handled));
    stack->head_size = 128;
    stack->rope.share = 0.5;
    stack->rope.interleaved = true;
    TRY(tsri_model_config_bool(config, "rope_interleave", &stack->rope.interleaved));
    TRY(tsri_model_arch_llama_like(config, spec));
    stack->norm_eps = 1.5625e-7f;
    TRY(tsri_model_config_float(config, "rms_norm_eps", false, 1e-12, 1, &stack->norm_eps));
    stack->qkv_bias = true;
    return tsri_model_config_bool(config, "attention_bias", &stack->qkv_bias);
}

static tsr_status read_0414(const tsri_model_config *config, tsri_model_spec *spec) {
    spec->decoder.place = TSRI_NORM_BOTH;
    return read(config, spec);
}

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_LLAMA,
    TSRI_MODEL_NAMES_LLAMA_QKV,
    .out_norm = "layers.%d.post_self_attn_layernorm",
    .down_norm = "layers.%d.post_mlp_layernorm",
    .gate_up = "layers.%d.mlp.gate_up_proj",
    .down = "layers.%d.mlp.down_proj",
};

/* Of GLM-4V's text, whose positions have sections, llama.cpp's converter puts the halves of each
 * pair apart. */
static tsr_status read_sections(const tsri_io_archive *archive, json_t *config) {
    const tsri_io_value *sections = NULL;
    TRY(tsri_io_meta_list(archive, "glm4.rope.dimension_sections", TSRI_IO_INT, &sections));
    if (sections && tsri_io_list_count(sections) > 1 && tsri_io_list_int(sections, 0) > 0 &&
        tsri_io_list_int(sections, 1) > 0)
        tsri_base_json_put(config, "rope_interleave", json_false());
    return TSR_OK;
}

static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    TRY(read_sections(archive, config));
    if (!tsri_io_find(archive, "blk.0.attn_q.bias") &&
        !tsri_io_find(archive, "blk.0.attn_qkv.bias"))
        tsri_base_json_put(config, "attention_bias", json_false());
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_glm = {
    .name = "glm",
    .gguf = "chatglm",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf_gate_up,
    .read = read,
    .complete_gguf = complete_gguf,
};

const tsri_model_arch tsri_model_arch_glm4 = {
    .name = "glm4",
    .gguf = "glm4",
    .names = &names,
    .gguf_names = &tsri_model_names_gguf_gate_up,
    .read = read_0414,
    .complete_gguf = complete_gguf,
};
