/* model/spec/spec.h - one struct that says everything the blocks need to know about a transformer.
 *
 * arch/<name>.c fills it from a family's config; blocks.c builds the graph from it, and weights.c
 * the table of weights. A field that a family does not set keeps its value from
 * tsri_model_spec_defaults. No other code knows about families. */
#ifndef TSRI_MODEL_SPEC_SPEC_H
#define TSRI_MODEL_SPEC_SPEC_H

#include "tessera/op.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TSRI_MODEL_MAX_LAYERS = 1024,
    TSRI_MODEL_MAX_WIDTH = 1 << 20,
    TSRI_MODEL_MAX_VOCAB = 1 << 24,
    TSRI_MODEL_MAX_POSITIONS = 1 << 26,
    TSRI_MODEL_MAX_ALIBI = 1 << 17, /* positions of a model whose biases by distance are a table */
    TSRI_MODEL_MAX_EOS = 16,
    TSRI_MODEL_MAX_ROTARY = 1024 /* rotary dimensions of a head */
};

/* How a token's position in the sequence enters the computation. */
typedef enum tsri_model_positions {
    TSRI_POSITIONS_NONE = 0,
    TSRI_POSITIONS_LEARNED, /* a table added to the embedding; its first `position_offset` rows are
                               not positions */
    TSRI_POSITIONS_ROTARY,
    TSRI_POSITIONS_SINUSOIDAL, /* a table added to the embedding, computed: tables.h */
    TSRI_POSITIONS_ALIBI       /* a bias by the distance of key and query, computed: tables.h */
} tsri_model_positions;

/* Row p of the table of sinusoids, with t = p + first: sin and cos of t / 10000^(i / n), i = 0 ..
 * C/2 - 1, where n is C/2 (the 2017 paper) or, with `to_end`, C/2 - 1 (tensor2tensor, OpenNMT,
 * fairseq). */
typedef struct tsri_model_sinusoid {
    bool halves; /* all sines, then all cosines; else sines and cosines alternate */
    bool to_end;
    int32_t first;
} tsri_model_sinusoid;

typedef enum tsri_model_scaling {
    TSRI_SCALING_NONE = 0,
    TSRI_SCALING_LINEAR,
    TSRI_SCALING_DYNAMIC, /* depends on the length of the sequence: the session computes the
                             frequencies */
    TSRI_SCALING_LLAMA3,
    TSRI_SCALING_YARN,
    TSRI_SCALING_NTK,     /* fixed: the same for every length */
    TSRI_SCALING_LONGROPE /* two sets of factors: the context that a session is opened with chooses
                             one, for all its sequences */
} tsri_model_scaling;

typedef struct tsri_model_rope {
    double theta;
    double share;   /* the share of a head that is rotated, where the config names none */
    int32_t rotary; /* rotated dimensions of a head; even */
    bool interleaved;
    tsri_model_scaling scaling;
    double factor, low_freq_factor, high_freq_factor; /* linear, dynamic, llama3, yarn, longrope */
    double beta_fast, beta_slow;                      /* yarn */
    bool untruncated;           /* yarn: its ramp is not rounded to whole dimensions */
    double magnitude;           /* factor of the rotated vectors (the attention factor of yarn and
                                   longrope); 1 elsewhere */
    double mscale_all;          /* mscale_all_dim; 0: the config has none */
    int64_t original_positions; /* positions before scaling */
    /* longrope: [rotary / 2] each, what divides the frequencies in a context of at most
     * original_positions, and in a longer one; owned by the spec's model. NULL elsewhere */
    const float *short_factors, *long_factors;
    char factors[64]; /* name of an array whose elements divide the frequencies (GGUF), or "" */
} tsri_model_rope;

/* What a classifier's outputs mean. */
typedef enum tsri_model_problem {
    TSRI_PROBLEM_SINGLE = 0, /* one label of several: softmax */
    TSRI_PROBLEM_MULTIPLE,   /* any number of labels: sigmoid of each */
    TSRI_PROBLEM_REGRESSION  /* the numbers themselves */
} tsri_model_problem;

/* Where norms are, seen from a residual branch (attention, feed-forward part). */
typedef enum tsri_model_norm_place {
    TSRI_NORM_PRE = 0, /* of what it reads */
    TSRI_NORM_POST,  /* of the sum of the stream and what it adds; the stream goes on from there */
    TSRI_NORM_ADDED, /* of what it adds */
    TSRI_NORM_BOTH   /* of what it reads, and of what it adds */
} tsri_model_norm_place;

/* Norms of queries and keys before the rotation. */
typedef enum tsri_model_qk_norm {
    TSRI_QK_NORM_NONE = 0,
    TSRI_QK_NORM_HEADS, /* of each head by itself, with the same weight for all */
    TSRI_QK_NORM_ROWS   /* of all heads of a token together */
} tsri_model_qk_norm;

/* Which rotary parameters a layer has. */
typedef enum tsri_model_rotation {
    TSRI_ROTATION_NONE = 0,
    TSRI_ROTATION_MAIN, /* the stack's `rope` */
    TSRI_ROTATION_LOCAL /* its `local_rope` */
} tsri_model_rotation;

/* Which stack of the table of weights a stack's weights are in. */
typedef enum tsri_model_side { TSRI_SIDE_DECODER = 0, TSRI_SIDE_ENCODER } tsri_model_side;

/* Layers of one kind on top of each other: a decoder or an encoder. */
typedef struct tsri_model_stack {
    int32_t layers; /* 0: there is no such stack */
    tsri_model_side side;
    int32_t groups; /* number of layers with weights of their own; 0: all of them; else layers /
                       groups consecutive layers share theirs (ALBERT) */
    int32_t heads, kv_heads, head_size, value_size;
    /* Latent attention: a token's keys and values are made from one vector of kv_latent numbers after its norm,
     * and the last rope.rotary elements of a key, which alone are rotated (so are those of a query), are the
     * same for all heads. With q_latent, queries are made from such a vector, too. 0: there is none */
    int32_t kv_latent, q_latent;
    float latent_eps; /* of the norms of these vectors */
    int32_t ffn;      /* inner width of a feed-forward part without experts */
    /* Layers that dense[] does not mark have this many experts: feed-forward parts of the inner width
     * expert_ffn, of which a token takes experts_used, those with the largest logits of the router. Its
     * softmax over all of them gives their factors or, with experts_normed, over those that are taken.
     * 0: no layer has experts */
    int32_t experts, experts_used, expert_ffn;
    bool experts_normed;
    /* With experts_scored the op choose_experts takes them: a score is a softmax over all of them or, with
     * experts_sigmoid, the sigmoid of the logit; only those of the best groups are taken (expert_groups 0: the experts
     * have no groups), which count as much as their best expert. With experts_biased the choice has a bias, which
     * factors don't have, and a group counts as much as its two best experts */
    bool experts_scored, experts_sigmoid, experts_biased;
    int32_t expert_groups, expert_groups_used;
    float experts_scale; /* of the factors */
    bool experts_bias;   /* their matrices and the router's have biases */
    int32_t
        shared_ffn; /* inner width of an expert that every token takes besides; 0: there is none */
    bool shared_gated;    /* its factor is the sigmoid of a product with the token; else 1 */
    const uint8_t *dense; /* [layers], owned by the spec's model; NULL: every layer has experts */
    /* Size of the state of gated recurrent units (in an encoder: of each direction), which replace
     * all that layers do otherwise; the stack has one layer. A recurrent decoder attends to the
     * source additively, over head_size dimensions. 0: the stack is not recurrent */
    int32_t recurrent;
    /* Its one layer does nothing: the hidden state of a token is its row of the embedding */
    bool embeds_only;
    bool causal;
    bool cross; /* each layer attends to the encoder's output after itself */
    tsri_model_positions positions;
    int32_t position_offset;  /* learned: rows of the table before the row of position 0 */
    bool positions_of_tokens; /* the official implementation counts tokens and leaves padding out */
    tsri_model_sinusoid sinusoid;
    int32_t relative_buckets, relative_distance; /* of a bias by the distance of key and query; 0
                                                    buckets: no such bias */
    bool relative_by_layer; /* each layer has a table of its own for it; else all share one */
    /* Disentangled attention: a score has, besides <q, k>, the products of q with the key of the distance
     * query - key and of k with the query of the distance. The layer's own matrices make both of a table's
     * row distance + span, 0 .. 2 span - 1, of which larger distances take the first and the last. With
     * buckets, distances of more than half of them share rows, on a logarithmic scale up to `furthest`. 0:
     * there is no such table */
    int32_t distance_span, distance_buckets, distance_furthest;
    bool distance_norm; /* of the table's rows */
    bool
        distance_apart; /* keys and queries of distances are made by matrices of their own, in place of
                            those of the tokens */
    bool
        keys_unbiased; /* with such a table, and `distance_apart`: keys, of tokens and of distances, have no
                           biases, so queries, keys and values are matrices of their own */
    /* A convolution of the embeddings over neighbouring tokens, an odd number of them, is added to what the
     * first layer gives, before a norm; inputs and outputs are in this many groups. 0 taps: there is none */
    int32_t conv_taps, conv_groups;
    tsr_activation conv_activation;
    bool embed_norm;     /* a norm right after the embedding */
    bool first_unnormed; /* the first layer's attention reads the stream without a norm */
    tsri_model_rope rope, local_rope;
    const uint8_t *rotations; /* [layers] tsri_model_rotation, owned by the spec's model; NULL:
                                 every layer has `rope` */
    int32_t window;           /* keys that a query sees to each side, including its own, in layers
                                that windowed[] marks; 0: all */
    const uint8_t *windowed;  /* [layers], owned by the spec's model, or NULL: every layer */
    tsr_norm norm;
    float norm_eps;
    bool norm_bias;
    float norm_offset; /* added to every norm weight when it is loaded: Gemma's 1 */
    tsri_model_norm_place place;
    bool final_norm;
    int32_t
        unused_layers; /* that the files have behind those of the stack, which are not computed */
    bool parallel;     /* x + attention(norm1 x) + mlp(norm2 x) */
    bool one_norm;     /* where parallel: both branches read norm1 x */
    tsri_model_qk_norm qk_norm; /* RMS norms */
    float branch_scale;         /* factor of what a branch adds */
    tsr_activation activation;
    bool gated;
    float gate_limit, gate_alpha, gate_shift; /* limit, alpha and shift of op.h's glu; 0: none */
    bool sinks; /* each head of queries has a logit of a key without a value: op.h's attention */
    bool qkv_bias, out_bias, mlp_bias;
    bool
        inner_unbiased; /* whatever mlp_bias says, the first matrix of a feed-forward part has none */
    float attention_scale;
    float score_cap; /* of scores among the stack's own tokens: the soft cap of op.h's attention */
} tsri_model_stack;

typedef struct tsri_model_spec {
    char family[32]; /* "llama" */
    int32_t width;   /* hidden size C */
    int32_t vocab;
    int64_t max_positions; /* the config's number: rows of a learned table, or the length that
                              dynamic scaling compares with */
    int64_t context;       /* positions that the model reads: more than max_positions if scaling
                              extends them */
    tsri_model_stack decoder, encoder;
    int32_t source_vocab;   /* of the encoder of an encoder-decoder */
    int64_t source_context; /* positions that the encoder reads */
    bool source_embed;      /* the encoder has its own embedding table */
    bool blank_start;       /* the vocabulary's last row is not in the files: it starts as zeros
                               and is never chosen */
    /* The coverage penalty reads the attention of the first so many heads (0: of all), in the layer
     * that is so many before the decoder's last. */
    int32_t alignment_heads, alignment_back;
    int32_t embed_width; /* width of the embedding table, if a matrix then widens it to the
                               hidden size; 0: the hidden size */
    int32_t token_types; /* rows of a table that is added by segment; 0: no such table */
    bool tied;           /* the output matrix is the embedding */
    bool head_bias;
    bool head_bias_fixed;             /* not a parameter in this family: final_logits_bias */
    float embed_scale, head_scale;    /* head_scale: factor of what the output matrix reads */
    float logit_cap;                  /* a logit x becomes logit_cap tanh(x / logit_cap); 0: it
                                         stays. Not with a bias of the output matrix */
    bool bare_masked;                 /* the model has a masked LM head, which is the output matrix
                                         alone */
    tsr_activation masked_activation; /* else the activation of the head's dense layer */
    tsr_activation label_activation;  /* the activation of the classifier's dense layer */
    bool label_tokens;                /* the classifier labels every token, not the sequence */
    bool label_spans;            /* where that means begin and end of the answer to a question */
    tsr_pool label_pooling;      /* else, which row of the sequence it reads */
    bool label_norm;             /* it has a dense layer, followed by a norm */
    bool label_late;             /* its dense layer comes before the pooling */
    bool dense_bias, label_bias; /* the dense layers of heads have biases; the classifier's last
                                         layer has */
    tsri_model_problem problem;
    int32_t labels;        /* 0: the config names none */
    char *const *label_of; /* [labels] texts, owned by the model */
    /* Of a language model that ranks documents: the tokens whose logits say that one answers the question,
     * and that it doesn't; -1: nothing says it */
    int32_t judged_yes, judged_no;
    /* Of an encoder that is one because that was asked for: its class is that of a bare decoder, whose vectors
     * are those of last tokens; or nothing says how vectors are made */
    bool pools_last, pools_unsaid;
    int32_t decoder_start; /* the token that a translation begins with; -1: none */
    bool pad_fixed;        /* the embedding of `pad` gets no gradient when it is looked up */
    int32_t bos, pad, eos[TSRI_MODEL_MAX_EOS], n_eos; /* bos, pad: -1 if there is none */
} tsri_model_spec;

void tsri_model_spec_defaults(tsri_model_spec *spec);

/* Makes an encoder of a model that has a decoder: it reads whole texts, keeps no keys and values, and its
 * output matrix, if it has one, is not read. A decoder alone becomes the encoder, and stays causal if it
 * was; the decoder of an encoder-decoder is left out. */
void tsri_model_spec_encode(tsri_model_spec *spec);

/* Frees what the spec owns. */
void tsri_model_spec_clear(tsri_model_spec *spec);

/* Fills in what follows from the rest: context (scaling may extend max_positions), and
 * attention_scale if it is 0 (1/sqrt(head size)). */
void tsri_model_spec_finish(tsri_model_spec *spec);

/* Checks the rules that hold for every family; `what` names the file in messages. */
tsr_status tsri_model_spec_check(const tsri_model_spec *spec, const char *what);

/* The decoder or, in a model that has none, the encoder. */
const tsri_model_stack *tsri_model_main_stack(const tsri_model_spec *spec);

/* The elements of a hidden state of the stack; those of what the output matrix reads; and the
 * number of layers that attend to their own tokens: all, or none if the stack is recurrent or
 * embeds only. */
int32_t tsri_model_stack_width(const tsri_model_spec *spec, const tsri_model_stack *stack);
int32_t tsri_model_head_width(const tsri_model_spec *spec);
int32_t tsri_model_attention_layers(const tsri_model_stack *stack);

/* The number of layers that have weights of their own. */
int32_t tsri_model_stack_groups(const tsri_model_stack *stack);

/* Whether this layer's feed-forward part has experts. */
bool tsri_model_layer_has_experts(const tsri_model_stack *stack, int32_t layer);

/* The keys that a query of this layer sees; 0: all. */
int32_t tsri_model_layer_window(const tsri_model_stack *stack, int32_t layer);

/* How this layer rotates queries and keys; NONE also where positions are not rotary. */
tsri_model_rotation tsri_model_layer_rotation(const tsri_model_stack *stack, int32_t layer);

/* Whether a run is given the frequencies of this rotation, in place of weights: they depend on a
 * length. */
bool tsri_model_rope_is_given(const tsri_model_rope *rope);

/* The inverse frequency of each rotated pair, rope->rotary / 2 of them. Only two kinds of scaling
 * read `length`: with dynamic scaling it is that of the sequence, with longrope the context. */
void tsri_model_rope_frequencies(const tsri_model_rope *rope, int64_t max_positions, int64_t length,
                                 float *out);

/* The arrays of a GGUF file that are short_factors and long_factors. */
extern const char *const tsri_model_rope_factors_gguf[2];

/* The magnitude that yarn uses if the config names none. */
double tsri_model_yarn_magnitude(double factor, double mscale);

#endif
