/* tessera/op.h - the ops of a graph and their attributes. Types only.
 *
 * An op reads in[0 .. n_in) and writes out[0 .. n_out). An optional operand that is missing is a
 * NULL pointer; trailing missing operands may be left out of n_in. Ids are never renumbered; a
 * backend answers TSR_E_UNSUPPORTED (or offers no row) for one it doesn't know. Attribute structs
 * start with struct_size and grow at the end; zero is the default. Letters: B sequences, T queries,
 * S keys, H heads, G key/value heads, D head size, Dv value size, C width, F feed-forward width, V
 * vocabulary, R rows of any leading shape, M N K as in matrix products.
 */
#ifndef TESSERA_OP_H
#define TESSERA_OP_H

#include "tessera/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tsr_op_id {
    TSR_OP_NONE = 0,
    /** y[..,M,N] = alpha * sum_k a[..,M,K] b[..,K,N]; up to 3 leading dimensions, which broadcast.
     * attrs tsr_matmul_attrs. in a, b  out y. Any strides. One chain of fma a sum, k upwards. */
    TSR_OP_MATMUL = 1,
    /** y[R,N] = act(sum_k x[R,k] w[k,N] + bias[N]) + residual[R,N]. attrs tsr_linear_attrs.
     *  in x, w, bias?, residual?  out y. w is a weight ([N,K] where trans_w, else [K,N]) of f32,
     * f16, bf16, or, where trans_w and K is a multiple of 32, of Q8_0 or Q4_0 blocks along K. */
    TSR_OP_LINEAR = 2,
    /** y[R,F] = act(x w_gate + b_gate) * (x w_up + b_up); w holds 2F outputs, gate first. attrs
     * tsr_glu_linear_attrs. in x, w ([2F,K] where trans_w, else [K,2F]; of the types that linear
     * takes), bias?[2F]  out y. */
    TSR_OP_GLU_LINEAR = 3,
    /** y[b,t,h,:] = sum_s p[b,h,t,s] v[j,s,g,:],  p = softmax over visible s of scale <q[b,t,h,:],
     * k[j,s,g,:]> + bias + relative[h, clamp(s - (past[b] + t), -R, R) + R], g = h / (H / G); j =
     * source[b,s] where given, else slot[b], else b. A query that sees nothing gives 0. Key s is
     * visible to query t of sequence b where s < len[b] (S without len), and, where causal, s <=
     * past[b] + t, and, where window > 0, past[b] + t - s < window (past is 0 where missing).
     * Queries past the end of the sequence (past[b] + t >= len[b], causal) may hold anything
     * finite. attrs tsr_attention_attrs. in q[B,T,H,D], k[J,S,G,D], v[J,S,G,Dv], past?[B], len?[B],
     * slot?[B], source?[B,S], bias?[1|B,H,T,S] f32, relative?[H,2R+1] f32 (finite numbers)  out
     * y[B,T,H,Dv], lse?[B,H,T] f32 (log of the sum of exponentials; -inf where nothing is visible).
     */
    TSR_OP_ATTENTION = 4,
    /** sum = x + residual; y = norm(sum). attrs tsr_norm_attrs. in x, residual, weight[C], bias?[C]
       out sum, y */
    TSR_OP_ADD_NORM = 5,
    /** y = (x - mean) / sqrt(variance + eps) * weight + bias over the last dimension. in x, weight,
       bias?  out y */
    TSR_OP_LAYER_NORM = 6,
    /** y = x / sqrt(mean(x^2) + eps) * weight over the last dimension. in x, weight  out y */
    TSR_OP_RMS_NORM = 7,
    /** y = softmax of scale * x + bias + relative over the visible part of the last dimension, as
     * attention has it; 0 elsewhere. attrs tsr_softmax_attrs. in x[B,..,T,S], past?[B], len?[B],
     * bias? (broadcast to x), relative?[H,2R+1] f32 (then x is [B,H,T,S])  out y */
    TSR_OP_SOFTMAX = 8,
    /** Rotates pairs of the first `rotary` elements of each head by positions[b,t] * inv_freq[p],
     * times `magnitude`. A pair is (p, p + rotary/2), or (2p, 2p+1) where interleaved. attrs
     * tsr_rope_attrs. in x[B,T,H,D], positions[B,T] i32, inv_freq[rotary/2] f32  out y[B,T,H,D] */
    TSR_OP_ROPE = 9,
    /** y[b,t,:] = scale * table[ids[b,t],:]. attrs tsr_embed_attrs. in table[V,C] (a weight of f32,
     * f16, bf16, or, where C is a multiple of 32, of Q8_0 or Q4_0 blocks), ids[..] i32  out
     * y[..,C] f32 */
    TSR_OP_EMBED = 10,
    /** state[slot[b], :, past[b]+t, :] = x[b,t,:,:] for past[b]+t < min(len[b], capacity): the keys
     * of one head lie one after the other. No output; writes in[0]. in state[slots,G,capacity,D]
     * f32, f16 or bf16 (rounds to nearest even), x[B,T,G,D], past[B], len[B], slot?[B] (b where
     * missing) */
    TSR_OP_KV_APPEND = 11,
    /** Elementwise; b broadcasts to a where a size of b is 1 or b has fewer dimensions. in a, b out
       y */
    TSR_OP_ADD = 12,
    TSR_OP_MUL = 13,
    TSR_OP_SCALE = 14, /**< y = alpha x. attrs tsr_scale_attrs. in x  out y */
    TSR_OP_CAST = 15,  /**< to the dtype of y. attrs tsr_cast_attrs. in x  out y */
    TSR_OP_COPY = 16,  /**< any strides to contiguous. in x  out y */
    /** y[i,:] = x[index[i],:] over rows. in x[R,C], index[N] i32  out y[N,C] */
    TSR_OP_GATHER = 17,
    TSR_OP_RELU = 18, /**< in x  out y */
    TSR_OP_GELU = 19, /**< x/2 (1 + erf(x/sqrt 2)) */
    TSR_OP_GELU_TANH = 20,
    TSR_OP_SILU = 21,
    TSR_OP_TANH = 22,
    TSR_OP_SIGMOID = 23,
    TSR_OP_ARGMAX = 24, /**< first largest of the last dimension; NaN counts as smallest. in x[R,V]
                           out y[R] i32 */
    /** The k largest of the last dimension, largest first, equal ones by index; and log sum exp of
     * the whole row. attrs tsr_topk_attrs. in x[R,V]  out values[R,k] f32, indices[R,k] i32,
     * lse?[R] f32 */
    TSR_OP_TOPK = 25,
    /** What a decoder layer does between its first product and attention: y = rope(q), k rotated
     * likewise and appended to `keys`, v to `values`, each as kv_append has it. Without q,
     * positions and inv_freq nothing is rotated and there is no y. Writes in[0] and in[1]. attrs
     * tsr_rope_attrs. in keys[slots,G,capacity,D], values[slots,G,capacity,Dv], k[B,T,G,D],
     * v[B,T,G,Dv], past[B], len[B], slot?[B], q?[B,T,H,D], positions?[B,T] i32,
     * inv_freq?[rotary/2] f32  out y?[B,T,H,D] */
    TSR_OP_QKV_APPEND = 26,
    /** T steps of a gated recurrent unit from state h (zeros where it is missing): r = sigmoid(x_r
     * + w_r h + b_r), z = sigmoid(x_z + w_z h + b_z), n = tanh(x_n + r (w_n h + b_n)), h' = (1 - z)
     * n + z h. Step t reads gates_x[b,t,:], which holds x_r, x_z, x_n side by side (W_ih x + b_ih);
     * y[b,t,:] is the state after it. Steps with t >= len[b] leave the state and give 0. attrs
     * tsr_gru_cell_attrs. in gates_x[B,T,3E], state?[B,E], w[3E,E] (a weight: r, z, n), b[3E],
     * len?[B]  out y[B,T,E] */
    TSR_OP_GRU_CELL = 27,
    /** y[b,t,:] = sum_s p[b,t,s] values[j,s,:],  p = softmax over s < len[b] of sum_a v[a]
     * tanh(q[b,t,a] + k[j,s,a]); j = slot[b] where given, else b. A query that sees nothing gives
     * 0. in q[B,T,A], k[J,S,A], v[A], values[J,S,E], len?[B], slot?[B]  out y[B,T,E],
     * probabilities?[B,T,S] */
    TSR_OP_ADDITIVE_ATTENTION = 28,
    /** One vector of those of each sequence, over t < len[b]. A sequence of none gives 0. attrs
     * tsr_pool_attrs. in x[B,T,C], len?[B]  out y[B,C] */
    TSR_OP_POOL = 29,
    /** y = the inputs side by side along the last dimension. in 2 to 4 of x[..,C_i]  out y[..,sum
     * of C_i] */
    TSR_OP_CONCAT = 30,
    TSR_OP_COUNT = 31 /**< one more than the largest id of this header */
} tsr_op_id;

typedef enum tsr_activation {
    TSR_ACT_NONE = 0,
    TSR_ACT_RELU = 1,
    TSR_ACT_GELU = 2,
    TSR_ACT_GELU_TANH = 3,
    TSR_ACT_SILU = 4,
    TSR_ACT_TANH = 5,
    TSR_ACT_SIGMOID = 6
} tsr_activation;

typedef enum tsr_norm { TSR_NORM_LAYER = 0, TSR_NORM_RMS = 1 } tsr_norm;

typedef struct tsr_matmul_attrs {
    uint32_t struct_size;
    uint32_t trans_a, trans_b; /**< a is [..,K,M]; b is [..,N,K] */
    float alpha;               /**< 0 means 1 */
} tsr_matmul_attrs;

/** How a linear op forms its products. */
typedef enum tsr_compute {
    TSR_COMPUTE_F32 = 0, /**< x and the weight as f32, one chain of fma a sum, k upwards */
    /** x and the weight are rounded to half; the products of 8 inputs, from a multiple of 8 on, are
     * formed and summed in half precision, and these sums are added in f32, k upwards; then bias,
     * activation and residual in f32. A sum is within 10 * 2^-11 of the sum of its terms'
     * magnitudes (a rounding each of x, w and the product, seven of sums), and 2^-14 for each
     * factor, product or sum below 2^-14; where one is above 65504 it may be an infinity or a NaN.
     * A device without such arithmetic computes as F32, which is within the same bound. */
    TSR_COMPUTE_F16 = 1,
    /** Weights of TSR_GGML_Q8_0 or TSR_GGML_Q4_0 alone. Each row of x becomes 8-bit integers, q =
     * rint(x * (127 / a)) with a = max |x| of the row; the integer sums of each block of 32 are
     * exact, are multiplied by the block's scale and added in one chain of fma, k upwards; the
     * result times a / 127; then bias, activation and residual. A row with a < 2^-120 counts as
     * zeros; one that holds an infinity or a NaN may give anything. */
    TSR_COMPUTE_INT8 = 2
} tsr_compute;

typedef struct tsr_linear_attrs {
    uint32_t struct_size;
    uint32_t trans_w;
    uint32_t activation; /**< tsr_activation */
    uint32_t compute;    /**< tsr_compute */
} tsr_linear_attrs;

typedef struct tsr_glu_linear_attrs {
    uint32_t struct_size;
    uint32_t trans_w;
    uint32_t activation;
    uint32_t compute;
} tsr_glu_linear_attrs;

typedef struct tsr_attention_attrs {
    uint32_t struct_size;
    uint32_t causal;
    uint32_t window; /**< keys a query sees, itself counted; 0: all */
    float scale;
} tsr_attention_attrs;

typedef struct tsr_norm_attrs { /* add_norm, layer_norm, rms_norm */
    uint32_t struct_size;
    uint32_t norm; /**< tsr_norm; add_norm only */
    float eps;
} tsr_norm_attrs;

typedef struct tsr_softmax_attrs {
    uint32_t struct_size;
    uint32_t causal;
    uint32_t window;
    float scale; /**< 0 means 1 */
} tsr_softmax_attrs;

typedef struct tsr_rope_attrs {
    uint32_t struct_size;
    uint32_t rotary; /**< even, <= D */
    uint32_t interleaved;
    float magnitude; /**< 0 means 1 */
} tsr_rope_attrs;

typedef struct tsr_embed_attrs {
    uint32_t struct_size;
    float scale; /**< 0 means 1 */
} tsr_embed_attrs;

typedef struct tsr_scale_attrs {
    uint32_t struct_size;
    float alpha;
} tsr_scale_attrs;

typedef struct tsr_cast_attrs {
    uint32_t struct_size;
    uint32_t dtype; /**< tsr_dtype of y */
} tsr_cast_attrs;

typedef struct tsr_topk_attrs {
    uint32_t struct_size;
    uint32_t k; /**< 1 .. V */
} tsr_topk_attrs;

typedef struct tsr_gru_cell_attrs {
    uint32_t struct_size;
    uint32_t reverse; /**< from step len[b] - 1 to step 0 */
} tsr_gru_cell_attrs;

typedef enum tsr_pool {
    TSR_POOL_MEAN = 0,
    TSR_POOL_FIRST = 1,
    TSR_POOL_MAX = 2, /**< of each element; NaN counts as smallest */
    TSR_POOL_LAST = 3
} tsr_pool;

typedef struct tsr_pool_attrs {
    uint32_t struct_size;
    uint32_t kind; /**< tsr_pool */
} tsr_pool_attrs;

/** Of an op without attributes: none are given. */
typedef struct tsr_no_attrs {
    uint32_t struct_size;
} tsr_no_attrs;

/** Every op once, X(ID, name, attributes): tables by op are made from it, so an op is listed here
 * alone. */
#define TSR_OP_LIST(X)                                      \
    X(MATMUL, matmul, tsr_matmul_attrs)                     \
    X(LINEAR, linear, tsr_linear_attrs)                     \
    X(GLU_LINEAR, glu_linear, tsr_glu_linear_attrs)         \
    X(ATTENTION, attention, tsr_attention_attrs)            \
    X(ADD_NORM, add_norm, tsr_norm_attrs)                   \
    X(LAYER_NORM, layer_norm, tsr_norm_attrs)               \
    X(RMS_NORM, rms_norm, tsr_norm_attrs)                   \
    X(SOFTMAX, softmax, tsr_softmax_attrs)                  \
    X(ROPE, rope, tsr_rope_attrs)                           \
    X(EMBED, embed, tsr_embed_attrs)                        \
    X(KV_APPEND, kv_append, tsr_no_attrs)                   \
    X(ADD, add, tsr_no_attrs)                               \
    X(MUL, mul, tsr_no_attrs)                               \
    X(SCALE, scale, tsr_scale_attrs)                        \
    X(CAST, cast, tsr_cast_attrs)                           \
    X(COPY, copy, tsr_no_attrs)                             \
    X(GATHER, gather, tsr_no_attrs)                         \
    X(RELU, relu, tsr_no_attrs)                             \
    X(GELU, gelu, tsr_no_attrs)                             \
    X(GELU_TANH, gelu_tanh, tsr_no_attrs)                   \
    X(SILU, silu, tsr_no_attrs)                             \
    X(TANH, tanh, tsr_no_attrs)                             \
    X(SIGMOID, sigmoid, tsr_no_attrs)                       \
    X(ARGMAX, argmax, tsr_no_attrs)                         \
    X(TOPK, topk, tsr_topk_attrs)                           \
    X(QKV_APPEND, qkv_append, tsr_rope_attrs)               \
    X(GRU_CELL, gru_cell, tsr_gru_cell_attrs)               \
    X(ADDITIVE_ATTENTION, additive_attention, tsr_no_attrs) \
    X(POOL, pool, tsr_pool_attrs)                           \
    X(CONCAT, concat, tsr_no_attrs)

/** Smallest and largest value that each symbol takes in the runs of a plan, in the order B T S U N.
 */
typedef struct tsr_bounds {
    uint32_t struct_size, reserved;
    int64_t lowest[TSR_SYMBOLS], highest[TSR_SYMBOLS];
} tsr_bounds;

typedef struct tsr_op {
    uint32_t struct_size;
    uint32_t id; /**< tsr_op_id */
    uint32_t n_in, n_out;
    const tsr_tensor *const *in; /**< entries may be NULL where optional */
    const tsr_tensor *const *out;
    const void *attrs; /**< the op's attribute struct, or NULL where it has none */
    const tsr_bounds *bounds;
    const char *label; /**< what a person calls it ("layers.3.attention"); may be NULL */
} tsr_op;

#ifdef __cplusplus
}
#endif
#endif
