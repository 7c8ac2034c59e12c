/* model/arch/common/family.h - what a family of models is: how its config is read, and how its
 * arrays are called. */
#ifndef TSRI_MODEL_ARCH_COMMON_FAMILY_H
#define TSRI_MODEL_ARCH_COMMON_FAMILY_H

#include "model/spec/config.h"

/* How a family orders the rows of its matrix of queries, keys and values, if that is one array. */
typedef enum tsri_model_fused {
    TSRI_FUSED_NO = 0, /* q, k and v are separate arrays; with a name for one array, too, as QKV in
                          files that have it */
    TSRI_FUSED_QKV,    /* all queries, all keys, all values */
    TSRI_FUSED_GROUPS  /* by key head: the queries that share it, the key, the value */
} tsri_model_fused;

/* Names of a family's arrays without ".weight" and ".bias"; "%d" is the layer. NULL: the family has
 * no such array. "a|b": the first of these that the file has (the others, if they are there too,
 * are copies of it). A name that begins with '/' is not preceded by the prefix; one that begins
 * with '=' has neither prefix nor suffix. */
typedef struct tsri_model_names {
    const char *prefix; /* files of a bare base model leave out its first parts */
    /* Another prefix, which files and PEFT's adapters may have: that of the modules in memory. NULL: there is none.
     * `other_in_adapters`: new adapters have it, too, so that PEFT finds the modules */
    const char *other_prefix;
    bool other_in_adapters;
    const char *embed, *position, *types, *embed_norm, *project, *relative, *final_norm;
    /* the table of disentangled attention, its norm, and a layer's own matrices for its rows */
    const char *distances, *distance_norm, *distance_q, *distance_k;
    const char *q_bias,
        *v_bias; /* where keys have no biases: by their full names without the prefix */
    const char *conv, *conv_norm; /* the convolution beside the first layer, and its norm */
    const char *norm1, *norm2, *q, *k, *v, *qkv, *out, *q_norm, *k_norm, *gate, *up, *gate_up,
        *down;
    const char
        *up_gate; /* ups before gates, in files that have this array in place of gate and up */
    /* experts: their router; the arrays of one expert, whose number stands for "%e"; or arrays of all
     * experts, [experts, outputs, inputs], by their full names without the prefix; the expert that every
     * token takes, and the vector that gives its factor */
    const char *router, *expert_gate, *expert_up, *expert_down;
    const char *experts_gate, *experts_up, *experts_gate_up, *experts_down;
    const char *experts_gate_bias, *experts_up_bias, *experts_gate_up_bias, *experts_down_bias;
    const char
        *choice_bias;  /* [experts], added to scores where they are compared; by its full name */
    const char *sinks; /* [heads], by its full name without the prefix */
    /* latent attention: what makes the latent vector of queries, its norm, and what makes queries from it; the
     * same for keys and values, whose first array also makes the part of the key that heads share. In files that
     * have them, keys and values apart, by their full names: [heads, inputs, outputs] and [heads, outputs,
     * inputs] */
    const char *q_latent, *q_latent_norm, *q_up, *kv_latent, *kv_latent_norm, *kv_up, *k_up, *v_up;
    const char *shared_gate, *shared_up, *shared_down, *shared_router;
    const char *out_norm, *down_norm; /* norms of what attention and the feed-forward part add */
    const char *cross_norm, *cross_q, *cross_k, *cross_v, *cross_kv, *cross_out;
    /* recurrent units, whose arrays end in weight_ih, weight_hh, bias_ih and bias_hh; the matrix
     * that gives the decoder's first state; the vector of its scores */
    const char *forward, *backward, *init, *score;
    /* heads: the output matrix, and its bias if that has another name; the heads of BERT and its
     * relatives */
    const char *head, *head_bias, *masked_dense, *masked_norm, *pooler, *next, *label_dense,
        *label_norm, *label, *token_label, *span_label;
    tsri_model_fused fused;
    bool inputs_first;         /* matrices are stored as [in, out], as in GPT-2 */
    bool experts_inputs_first; /* so are those of arrays of all experts, unless they are blocks */
    const char *
        layers; /* with %d: the beginning of the names of a layer's arrays, where files may have layers
                           that are not computed */
    bool experts_alternate; /* of experts_gate_up, outputs 0, 2, 4 .. are gates, the others ups */
    const char
        *stack; /* of a decoder that is left out where a model is used for its encoder alone: the
                          beginning of its arrays' names after the prefix; NULL: it is never left out */
    const char *const
        *ignored; /* ends of names that may be in the file without being read; NULL at the end */
    const char *const
        *unserved; /* beginnings of the names of heads and other parts that are not computed, which
                                    a warning reports; NULL at the end */
} tsri_model_names;

/* Names of a table that begin alike: `at` is the beginning. */
/* clang-format off */
#define TSRI_MODEL_NAMES_QKV(at, query, key, value) \
    .q = at query, .k = at key, .v = at value
#define TSRI_MODEL_NAMES_CROSS(at, query, key, value, output) \
    .cross_q = at query, .cross_k = at key, .cross_v = at value, .cross_out = at output
/* clang-format on */

typedef struct tsri_model_arch {
    const char *name; /* "llama": config.json's model_type */
    /* Classes of models in "architectures", or their beginnings up to "ForCausalLM" and the like, that are not the
     * name without its underscores; several separated by |, or NULL */
    const char *classes;
    const char
        *gguf; /* general.architecture, several separated by |; NULL: it isn't read from GGUF */
    const tsri_model_names
        *names; /* names in Hugging Face's files: the decoder and what belongs to the whole model */
    const tsri_model_names *encoder_names; /* names of the encoder; in a model without a decoder,
                                              all names */
    const tsri_model_names *gguf_names, *gguf_encoder_names;
    /* The name of the family that a GGUF file of this architecture is of, where that is another one, or
     * NULL; may be NULL: never */
    const char *(*gguf_family)(const tsri_io_archive *archive);
    /* The family of configs of this name whose position_embedding_type is "rotary"; NULL: there is none */
    const char *rotary;
    /* The family's files may have LoRA adapters by task (weights/tasks.h); in modules.json, custom_st.Transformer then
     * stands for Transformer: the class of the code beside the files, which takes a task. */
    bool by_task;
    bool gguf_interleaved; /* GGUF files hold q and k rows in pairs (2i, 2i+1) */
    bool gguf_norm_added;  /* GGUF files hold norm weights with norm_offset already added */
    tsr_status (*read)(const tsri_model_config *config, tsri_model_spec *spec);
    /* Adds to the config what a GGUF file of this family says in another way than others; NULL:
     * nothing */
    tsr_status (*complete_gguf)(const tsri_io_archive *archive, json_t *config);
} tsri_model_arch;

/* The names that most families have in GGUF files; the same with gate and up in one array; with
 * queries, keys and values in one array, and gate and up in one where there is a gate; and those of
 * encoders. */
extern const tsri_model_names tsri_model_names_gguf, tsri_model_names_gguf_gate_up,
    tsri_model_names_gguf_fused, tsri_model_names_gguf_encoder;

/* For families in which some layers have a window: no layer has one where the file names no width. */
void tsri_model_gguf_windows(json_t *config);

/* Adds what GGUF files of encoders say by themselves: how many segments there are, and the labels of a
 * classifier. For complete_gguf. */
tsr_status tsri_model_gguf_encoder(const tsri_io_archive *archive, json_t *config);
/* Adds the labels alone. */
tsr_status tsri_model_gguf_labels(const tsri_io_archive *archive, json_t *config);

/* What these have in common, without the names of the norms before a layer's parts. */
/* clang-format off */
#define TSRI_MODEL_NAMES_GGUF \
    .prefix = "", .embed = "token_embd", .position = "position_embd", \
    .final_norm = "output_norm", .head = "/output", \
    .qkv = "blk.%d.attn_qkv", .out = "blk.%d.attn_output", \
    .up = "blk.%d.ffn_up", .down = "blk.%d.ffn_down", \
    .out_norm = "blk.%d.post_attention_norm", .down_norm = "blk.%d.post_ffw_norm"
/* clang-format on */

#endif
