/* model/arch/common/gguf_names.c - what llama.cpp's converter calls the arrays of a GGUF file. */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/common/family.h"

#include <stdio.h>

static const char *const ignored[] = {".attn_rot_embd.weight", NULL};

#define NORMS .norm1 = "blk.%d.attn_norm", .norm2 = "blk.%d.ffn_norm"

const tsri_model_names tsri_model_names_gguf = {
    TSRI_MODEL_NAMES_GGUF,
    NORMS,
    TSRI_MODEL_NAMES_QKV("blk.%d.attn_", "q", "k", "v"),
    .q_norm = "blk.%d.attn_q_norm",
    .k_norm = "blk.%d.attn_k_norm",
    .gate = "blk.%d.ffn_gate",
    .router = "blk.%d.ffn_gate_inp",
    .expert_gate = "blk.%d.ffn_gate.%e", /* as files of 2023 have them */
    .expert_up = "blk.%d.ffn_up.%e",
    .expert_down = "blk.%d.ffn_down.%e",
    .experts_gate = "blk.%d.ffn_gate_exps.weight",
    .experts_up = "blk.%d.ffn_up_exps.weight",
    .experts_down = "blk.%d.ffn_down_exps.weight",
    .shared_gate = "blk.%d.ffn_gate_shexp",
    .shared_up = "blk.%d.ffn_up_shexp",
    .shared_down = "blk.%d.ffn_down_shexp",
    .shared_router = "blk.%d.ffn_gate_inp_shexp",
    .label = "cls.output",
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

static const char *const rankers[] = {"cls.", "cls_out.", NULL};

const tsri_model_names tsri_model_names_gguf_encoder = {
    .prefix = "",
    .embed = "token_embd",
    .position = "position_embd",
    .types = "token_types",
    .embed_norm = "token_embd_norm",
    .norm1 = "blk.%d.attn_output_norm",
    .norm2 = "blk.%d.layer_output_norm",
    TSRI_MODEL_NAMES_QKV("blk.%d.attn_", "q", "k", "v"),
    .qkv = "blk.%d.attn_qkv",
    .out = "blk.%d.attn_output",
    .gate_up = "blk.%d.ffn_up", /* in files without the next one */
    .gate = "blk.%d.ffn_gate",
    .up = "blk.%d.ffn_up",
    .down = "blk.%d.ffn_down",
    .label_dense = "cls",
    .label = "cls.output",
    .unserved = rankers,
};

void tsri_model_gguf_windows(json_t *config) {
    const json_int_t layers = json_integer_value(json_object_get(config, "num_hidden_layers"));
    if (json_object_get(config, "sliding_window"))
        return;
    json_t *types = json_array();
    for (json_int_t i = 0; i < layers && i < TSRI_MODEL_MAX_LAYERS; i++)
        tsri_base_json_append(types, json_string("full_attention"));
    tsri_base_json_put(config, "layer_types", types);
}

/* The rows of a matrix; of one that is written as a vector, 1 (arrays_by_name.c tells why). */
static json_int_t rows_of(const tsri_io_array *array) {
    return !array || array->rank < 1 || array->rank > 2 ? 0
           : array->rank == 2                           ? (json_int_t)array->dims[0]
                                                        : 1;
}

tsr_status tsri_model_gguf_labels(const tsri_io_archive *archive, json_t *config) {
    const tsri_io_array *output = tsri_io_find(archive, "cls.output.weight");
    const tsri_io_value *list = NULL;
    const char *name = NULL;
    char key[96];
    TRY(tsri_io_meta_text(archive, "general.architecture", &name, NULL));
    snprintf(key, sizeof key, "%.60s.classifier.output_labels", name);
    TRY(tsri_io_meta_list(archive, key, TSRI_IO_TEXT, &list));
    if (!rows_of(output))
        return TSR_OK;
    if (!list) {
        tsri_base_json_put(config, "num_labels", json_integer(rows_of(output)));
        return TSR_OK;
    }
    json_t *labels = json_object();
    tsri_base_json_put(config, "id2label", labels);
    for (size_t i = 0; i < tsri_io_list_count(list); i++) {
        char number[24];
        size_t n;
        const char *label = tsri_io_list_text(list, i, &n);
        snprintf(number, sizeof number, "%zu", i);
        tsri_base_json_put(labels, number, json_stringn(label, n));
    }
    return TSR_OK;
}

tsr_status tsri_model_gguf_encoder(const tsri_io_archive *archive, json_t *config) {
    const tsri_io_array *types = tsri_io_find(archive, "token_types.weight");
    json_object_del(config, "attention_bias"); /* which layers have is the family's */
    json_object_del(config, "mlp_bias");
    tsri_base_json_put(config, "type_vocab_size", json_integer(rows_of(types)));
    return tsri_model_gguf_labels(archive, config);
}
