/* model/load/shapes.c - the sizes of well-known models, for benchmarks with random weights; their
 * families say which arrays they have. */
#include "model/load/shapes.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/weights/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "shape:";

typedef struct shape {
    const char *name;
    int layers, heads, kv_heads;
    int64_t width, ffn, vocab, positions;
    json_t *(*config)(const struct shape *s);
    bool tied; /* of a Llama: the embedding is the output matrix, too */
} shape;

static json_t *llama_config(const shape *s) {
    return json_pack("{s:s,s:I,s:i,s:i,s:i,s:I,s:I,s:I,s:f,s:f,s:s,s:b}", "model_type", "llama",
                     "hidden_size", (json_int_t)s->width, "num_hidden_layers", s->layers,
                     "num_attention_heads", s->heads, "num_key_value_heads", s->kv_heads,
                     "intermediate_size", (json_int_t)s->ffn, "vocab_size", (json_int_t)s->vocab,
                     "max_position_embeddings", (json_int_t)s->positions, "rms_norm_eps", 1e-5,
                     "rope_theta", 1e4, "hidden_act", "silu", "tie_word_embeddings", s->tied);
}

static json_t *gpt2_config(const shape *s) {
    return json_pack("{s:s,s:I,s:i,s:i,s:I,s:I,s:I,s:f,s:s}", "model_type", "gpt2", "n_embd",
                     (json_int_t)s->width, "n_layer", s->layers, "n_head", s->heads, "n_inner",
                     (json_int_t)s->ffn, "vocab_size", (json_int_t)s->vocab, "n_positions",
                     (json_int_t)s->positions, "layer_norm_epsilon", 1e-5, "activation_function",
                     "gelu_new");
}

static json_t *bert_config(const shape *s) {
    return json_pack("{s:s,s:I,s:i,s:i,s:I,s:I,s:I,s:i,s:f,s:s}", "model_type", "bert",
                     "hidden_size", (json_int_t)s->width, "num_hidden_layers", s->layers,
                     "num_attention_heads", s->heads, "intermediate_size", (json_int_t)s->ffn,
                     "vocab_size", (json_int_t)s->vocab, "max_position_embeddings",
                     (json_int_t)s->positions, "type_vocab_size", 2, "layer_norm_eps", 1e-12,
                     "hidden_act", "gelu");
}

static json_t *transformer_config(const shape *s) {
    return json_pack("{s:s,s:I,s:i,s:I,s:i,s:i,s:I,s:I,s:I,s:i,s:i,s:i}", "model_type",
                     "transformer-base", "d_model", (json_int_t)s->width, "num_heads", s->heads,
                     "d_ff", (json_int_t)s->ffn, "encoder_layers", s->layers, "decoder_layers",
                     s->layers, "src_vocab_size", (json_int_t)s->vocab, "tgt_vocab_size",
                     (json_int_t)s->vocab, "max_position_embeddings", (json_int_t)s->positions,
                     "pad_token_id", 0, "bos_token_id", 1, "eos_token_id", 2);
}

static const shape shapes[] = {
    {"llama-110m", 12, 12, 12, 768, 2048, 32000, 2048, llama_config, false},
    {"llama-15m", 6, 6, 6, 288, 768, 32000, 8192, llama_config, false},
    {"smollm2-135m", 30, 9, 3, 576, 1536, 49152, 8192, llama_config, true},
    {"llama-1b", 16, 32, 8, 2048, 8192, 128256, 131072, llama_config, true},
    {"gpt2-124m", 12, 12, 12, 768, 3072, 50257, 1024, gpt2_config, false},
    {"char-gpt", 4, 4, 4, 128, 512, 65, 64, gpt2_config, false},
    {"gpt-10m", 6, 6, 6, 384, 1536, 65, 256, gpt2_config, false},
    {"minilm", 6, 12, 12, 384, 1536, 30522, 512, bert_config, false},
    {"bert-base", 12, 12, 12, 768, 3072, 30522, 512, bert_config, false},
    {"transformer-base", 6, 8, 8, 512, 2048, 32000, 1024, transformer_config, false},
    {"tiny", 2, 4, 2, 64, 160, 320, 512, llama_config, false}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

bool tsri_model_is_shape(const char *path) {
    return !strncmp(path, prefix, sizeof prefix - 1);
}

static tsr_status find(const char *path, const shape **out) {
    const char *name = path + sizeof prefix - 1;
    char list[256] = "";
    for (size_t i = 0; i < N_SHAPES; i++) {
        *out = &shapes[i];
        if (!strcmp(name, shapes[i].name))
            return TSR_OK;
        const size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", shapes[i].name);
    }
    return tsri_base_fail(TSR_E_ARGUMENT, "%s: no shape has the name \"%s\"; the shapes are %s",
                          path, name, list);
}

/* The arrays that the family's file would have. */
static tsr_status list_arrays(const shape *s, const char *path, tsri_model_wanted *wanted) {
    const tsri_model_arch *arch = NULL;
    tsri_model_spec spec;
    json_t *config = s->config(s);
    if (!config)
        return tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory");
    tsr_status status = tsri_model_arch_read(config, path, &arch, &spec);
    if (status == TSR_OK)
        status = tsri_model_weights_wanted(arch, &spec, wanted);
    tsri_model_spec_clear(&spec);
    json_decref(config);
    return status;
}

tsr_status tsri_model_shape_open(const char *path, tsri_io_archive **out) {
    const shape *s = NULL;
    tsri_io_random_array *list = NULL;
    tsri_model_wanted wanted = {0};
    TRY(find(path, &s));
    tsr_status status = list_arrays(s, path, &wanted);
    if (status == TSR_OK)
        status = tsri_base_new(wanted.count, sizeof *list, &list);
    for (size_t i = 0; i < wanted.count && status == TSR_OK; i++) {
        const tsri_model_wanted_array *array = &wanted.items[i];
        list[i].dims[0] = array->dims[0];
        list[i].dims[1] = array->rank == 2 ? array->dims[1] : 0;
        snprintf(list[i].name, sizeof list[i].name, "%.63s", array->name);
    }
    if (status == TSR_OK)
        status = tsri_io_random(path, list, wanted.count, out);
    free(list);
    free(wanted.items);
    return status;
}

tsr_status tsri_model_shape_config(const char *path, json_t **out) {
    const shape *s = NULL;
    TRY(find(path, &s));
    *out = s->config(s);
    return *out ? TSR_OK : tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory");
}
