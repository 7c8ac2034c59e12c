/* model/shapes.c - the sizes of well-known models, with Hugging Face's names of their arrays. */
#include "model/shapes.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "shape:";

/* Sizes that a dimension may have: 1 stands for a vector. */
typedef enum size { NONE, C, C3, F, G, V, T, TWO, SIZES } size;

typedef struct array {
    const char *name; /* "%d" is the layer */
    size dims[2];
} array;

static const array llama[] = {{"model.embed_tokens.weight", {V, C}},
                              {"model.layers.%d.input_layernorm.weight", {C}},
                              {"model.layers.%d.self_attn.q_proj.weight", {C, C}},
                              {"model.layers.%d.self_attn.k_proj.weight", {G, C}},
                              {"model.layers.%d.self_attn.v_proj.weight", {G, C}},
                              {"model.layers.%d.self_attn.o_proj.weight", {C, C}},
                              {"model.layers.%d.post_attention_layernorm.weight", {C}},
                              {"model.layers.%d.mlp.gate_proj.weight", {F, C}},
                              {"model.layers.%d.mlp.up_proj.weight", {F, C}},
                              {"model.layers.%d.mlp.down_proj.weight", {C, F}},
                              {"model.norm.weight", {C}},
                              {"lm_head.weight", {V, C}},
                              {NULL, {NONE}}};

static const array gpt2[] = {{"transformer.wte.weight", {V, C}},
                             {"transformer.wpe.weight", {T, C}},
                             {"transformer.h.%d.ln_1.weight", {C}},
                             {"transformer.h.%d.ln_1.bias", {C}},
                             {"transformer.h.%d.attn.c_attn.weight", {C, C3}},
                             {"transformer.h.%d.attn.c_attn.bias", {C3}},
                             {"transformer.h.%d.attn.c_proj.weight", {C, C}},
                             {"transformer.h.%d.attn.c_proj.bias", {C}},
                             {"transformer.h.%d.ln_2.weight", {C}},
                             {"transformer.h.%d.ln_2.bias", {C}},
                             {"transformer.h.%d.mlp.c_fc.weight", {C, F}},
                             {"transformer.h.%d.mlp.c_fc.bias", {F}},
                             {"transformer.h.%d.mlp.c_proj.weight", {F, C}},
                             {"transformer.h.%d.mlp.c_proj.bias", {C}},
                             {"transformer.ln_f.weight", {C}},
                             {"transformer.ln_f.bias", {C}},
                             {NULL, {NONE}}};

static const array bert[] = {{"embeddings.word_embeddings.weight", {V, C}},
                             {"embeddings.position_embeddings.weight", {T, C}},
                             {"embeddings.token_type_embeddings.weight", {TWO, C}},
                             {"embeddings.LayerNorm.weight", {C}},
                             {"embeddings.LayerNorm.bias", {C}},
                             {"encoder.layer.%d.attention.self.query.weight", {C, C}},
                             {"encoder.layer.%d.attention.self.query.bias", {C}},
                             {"encoder.layer.%d.attention.self.key.weight", {C, C}},
                             {"encoder.layer.%d.attention.self.key.bias", {C}},
                             {"encoder.layer.%d.attention.self.value.weight", {C, C}},
                             {"encoder.layer.%d.attention.self.value.bias", {C}},
                             {"encoder.layer.%d.attention.output.dense.weight", {C, C}},
                             {"encoder.layer.%d.attention.output.dense.bias", {C}},
                             {"encoder.layer.%d.attention.output.LayerNorm.weight", {C}},
                             {"encoder.layer.%d.attention.output.LayerNorm.bias", {C}},
                             {"encoder.layer.%d.intermediate.dense.weight", {F, C}},
                             {"encoder.layer.%d.intermediate.dense.bias", {F}},
                             {"encoder.layer.%d.output.dense.weight", {C, F}},
                             {"encoder.layer.%d.output.dense.bias", {C}},
                             {"encoder.layer.%d.output.LayerNorm.weight", {C}},
                             {"encoder.layer.%d.output.LayerNorm.bias", {C}},
                             {NULL, {NONE}}};

/* A product of the 2017 Transformer, and what all its layers have. */
#define PRODUCT(name, out, in)     \
    {name ".weight", {out, in}}, { \
        name ".bias", {            \
            out                    \
        }                          \
    }
#define NORM(name)           \
    {name ".weight", {C}}, { \
        name ".bias", {      \
            C                \
        }                    \
    }
#define ATTENTION(name)                                                           \
    PRODUCT(name ".q", C, C), PRODUCT(name ".k", C, C), PRODUCT(name ".v", C, C), \
        PRODUCT(name ".o", C, C)
#define FFN(name) PRODUCT(name ".w1", F, C), PRODUCT(name ".w2", C, F)
static const array transformer[] = {
    {"embed.weight", {V, C}}, ATTENTION("encoder.%d.self"),  NORM("encoder.%d.norm1"),
    FFN("encoder.%d.ffn"),    NORM("encoder.%d.norm2"),      ATTENTION("decoder.%d.self"),
    NORM("decoder.%d.norm1"), ATTENTION("decoder.%d.cross"), NORM("decoder.%d.norm2"),
    FFN("decoder.%d.ffn"),    NORM("decoder.%d.norm3"),      {NULL, {NONE}}};

typedef struct shape {
    const char *name;
    const array *arrays;
    int layers, heads, kv_heads;
    int64_t width, ffn, vocab, positions;
    json_t *(*config)(const struct shape *s);
} shape;

static json_t *llama_config(const shape *s) {
    return json_pack("{s:s,s:I,s:i,s:i,s:i,s:I,s:I,s:I,s:f,s:f,s:s,s:b}", "model_type", "llama",
                     "hidden_size", (json_int_t)s->width, "num_hidden_layers", s->layers,
                     "num_attention_heads", s->heads, "num_key_value_heads", s->kv_heads,
                     "intermediate_size", (json_int_t)s->ffn, "vocab_size", (json_int_t)s->vocab,
                     "max_position_embeddings", (json_int_t)s->positions, "rms_norm_eps", 1e-5,
                     "rope_theta", 1e4, "hidden_act", "silu", "tie_word_embeddings", 0);
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
    {"llama-110m", llama, 12, 12, 12, 768, 2048, 32000, 2048, llama_config},
    {"gpt2-124m", gpt2, 12, 12, 12, 768, 3072, 50257, 1024, gpt2_config},
    {"minilm", bert, 6, 12, 12, 384, 1536, 30522, 512, bert_config},
    {"bert-base", bert, 12, 12, 12, 768, 3072, 30522, 512, bert_config},
    {"transformer-base", transformer, 6, 8, 8, 512, 2048, 32000, 1024, transformer_config},
    {"tiny", llama, 2, 4, 2, 64, 160, 320, 512, llama_config}};
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
    return tsri_base_fail(TSR_E_ARGUMENT, "%s: no shape has the name \"%s\"; there are %s", path,
                          name, list);
}

static void fill(const shape *s, const array *a, int layer, tsri_io_random_array *out) {
    const int64_t sizes[SIZES] = {
        [C] = s->width, [C3] = 3 * s->width, [F] = s->ffn, [G] = s->width / s->heads * s->kv_heads,
        [V] = s->vocab, [T] = s->positions,  [TWO] = 2};
    const char *hole = strstr(a->name, "%d");
    *out = (tsri_io_random_array){.dims = {sizes[a->dims[0]], sizes[a->dims[1]]}};
    if (hole)
        snprintf(out->name, sizeof out->name, "%.*s%d%s", (int)(hole - a->name), a->name, layer,
                 hole + 2);
    else
        snprintf(out->name, sizeof out->name, "%s", a->name);
}

tsr_status tsri_model_shape_open(const char *path, tsri_io_archive **out) {
    const shape *s = NULL;
    tsri_io_random_array *list = NULL;
    size_t n = 0;
    TRY(find(path, &s));
    for (const array *a = s->arrays; a->name; a++)
        n += strstr(a->name, "%d") ? (size_t)s->layers : 1;
    TRY(tsri_base_new(n, sizeof *list, &list));
    n = 0;
    for (const array *a = s->arrays; a->name; a++)
        for (int layer = 0; layer < (strstr(a->name, "%d") ? s->layers : 1); layer++)
            fill(s, a, layer, &list[n++]);
    const tsr_status status = tsri_io_random(path, list, n, out);
    free(list);
    return status;
}

tsr_status tsri_model_shape_config(const char *path, json_t **out) {
    const shape *s = NULL;
    TRY(find(path, &s));
    *out = s->config(s);
    return *out ? TSR_OK : tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory");
}
