/* model/arch/arch.h - the table of architectures: each is one file arch/<name>.c and one line of
 * arch.def. */
#ifndef TSRI_MODEL_ARCH_ARCH_H
#define TSRI_MODEL_ARCH_ARCH_H

#include "model/spec/config.h"

/* How a family orders the rows of its matrix of queries, keys and values, if that is one array. */
typedef enum tsri_model_fused {
    TSRI_FUSED_NO = 0, /* q, k and v are separate arrays */
    TSRI_FUSED_QKV,    /* all queries, all keys, all values */
    TSRI_FUSED_HEADS   /* by head: its query, its key, its value */
} tsri_model_fused;

/* Names of a family's arrays without ".weight" and ".bias"; "%d" is the layer. NULL: the family has
 * no such array. "a|b": the first of these that the file has (the others, if they are there too,
 * are copies of it). A name that begins with '/' is not preceded by the prefix; one that begins
 * with '=' has neither prefix nor suffix. */
typedef struct tsri_model_names {
    const char *prefix; /* files of a bare base model leave out its first parts */
    const char *embed, *position, *types, *embed_norm, *project, *relative, *final_norm;
    const char *norm1, *norm2, *q, *k, *v, *qkv, *out, *q_norm, *k_norm, *gate, *up, *gate_up,
        *down;
    const char *cross_norm, *cross_q, *cross_k, *cross_v, *cross_kv, *cross_out;
    /* recurrent units, whose arrays end in weight_ih, weight_hh, bias_ih and bias_hh; the matrix
     * that gives the decoder's first state; the vector of its scores */
    const char *forward, *backward, *init, *score;
    /* heads: the output matrix, and its bias if that has another name; the heads of BERT and its
     * relatives */
    const char *head, *head_bias, *masked_dense, *masked_norm, *pooler, *next, *label_dense, *label,
        *token_label;
    tsri_model_fused fused;
    bool inputs_first; /* matrices are stored as [in, out], as in GPT-2 */
    const char *const
        *ignored; /* ends of names that may be in the file without being read; NULL at the end */
    const char *const *unserved; /* beginnings of the names of heads that are not computed, which
                                    a warning reports; NULL at the end */
} tsri_model_names;

typedef struct tsri_model_arch {
    const char *name; /* "llama": config.json's model_type */
    const char *gguf; /* general.architecture, or NULL if it isn't read from GGUF */
    const tsri_model_names
        *names; /* names in Hugging Face's files: the decoder and what belongs to the whole model */
    const tsri_model_names *encoder_names; /* names of the encoder; in a model without a decoder,
                                              all names */
    const tsri_model_names *gguf_names;
    bool gguf_interleaved; /* GGUF files hold q and k rows in pairs (2i, 2i+1) */
    bool gguf_norm_added;  /* GGUF files hold norm weights with norm_offset already added */
    tsr_status (*read)(const tsri_model_config *config, tsri_model_spec *spec);
} tsri_model_arch;

/* The architecture of this name, or NULL if there is none. */
const tsri_model_arch *tsri_model_arch_find(const char *model_type);
const tsri_model_arch *tsri_model_arch_find_gguf(const char *architecture);
/* "gpt2, llama, ..." for messages: the names in config.json, or those in GGUF. */
enum { TSRI_MODEL_ARCH_LIST = 512 };
void tsri_model_arch_list(bool gguf, char text[TSRI_MODEL_ARCH_LIST]);

/* The spec that a config gives when there are no files; its model_type must be one that is served.
 *
 * owner  the caller: tsri_model_spec_clear, whatever the result */
tsr_status tsri_model_arch_read(json_t *config, const char *what, const tsri_model_arch **arch,
                                tsri_model_spec *spec);

/* The names that most families have in GGUF files. */
extern const tsri_model_names tsri_model_names_gguf;
/* The names that Llama's relatives have in Hugging Face's files. */
extern const tsri_model_names tsri_model_names_llama;

/* BERT's names of the arrays of a layer and of the embedding, which its relatives keep under their
 * own prefix. */
/* clang-format off */
#define TSRI_MODEL_NAMES_BERT \
    .embed = "embeddings.word_embeddings", \
    .position = "embeddings.position_embeddings", \
    .types = "embeddings.token_type_embeddings", \
    .embed_norm = "embeddings.LayerNorm", \
    .norm1 = "encoder.layer.%d.attention.output.LayerNorm", \
    .norm2 = "encoder.layer.%d.output.LayerNorm", \
    .q = "encoder.layer.%d.attention.self.query", \
    .k = "encoder.layer.%d.attention.self.key", \
    .v = "encoder.layer.%d.attention.self.value", \
    .out = "encoder.layer.%d.attention.output.dense", \
    .up = "encoder.layer.%d.intermediate.dense", \
    .down = "encoder.layer.%d.output.dense"
/* clang-format on */

/* Reads BERT's layout from a config: its relatives start from it. */
tsr_status tsri_model_arch_bert_like(const tsri_model_config *config, tsri_model_spec *spec);
tsr_status tsri_model_arch_roberta_like(const tsri_model_config *config, tsri_model_spec *spec);
/* The same, with positions that begin after `padding` whatever the config says; -1: after the
 * config's pad_token_id. */
tsr_status tsri_model_arch_roberta_positions(const tsri_model_config *config, int32_t padding,
                                             tsri_model_spec *spec);
extern const tsri_model_names tsri_model_names_roberta;

/* Reads BART's layout from a config, and has the names of its stacks: its relatives start from
 * them. */
tsr_status tsri_model_arch_bart_like(const tsri_model_config *config, tsri_model_spec *spec);
/* What relatives change in both stacks: norms before the blocks and one after the last; sinusoids
 * without a norm of the embedding. */
void tsri_model_arch_norms_first(tsri_model_spec *spec);
void tsri_model_arch_sinusoids(tsri_model_spec *spec, tsri_model_sinusoid sinusoid);
extern const tsri_model_names tsri_model_names_bart_encoder, tsri_model_names_bart_decoder;

/* Reads Llama's layout from a config: its relatives start from it. */
tsr_status tsri_model_arch_llama_like(const tsri_model_config *config, tsri_model_spec *spec);

#define TSRI_MODEL_ARCH(name) extern const tsri_model_arch tsri_model_arch_##name;
#include "model/arch/arch.def"
#undef TSRI_MODEL_ARCH

#endif
