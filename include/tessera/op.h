/* tessera/op.h - the ops of a graph and their attributes. Types only.
 *
 * An op reads in[0 .. n_in) and writes out[0 .. n_out). An optional operand that is missing is a
 * NULL pointer; trailing missing operands may be left out of n_in. A backend that does not know an
 * op's id answers TSR_E_UNSUPPORTED, or offers no kernel variant for it. Structs of attributes
 * start with struct_size and grow at the end; zero is the default.
 *
 * Indices that a run reads (ids, targets, slots, pages, experts, places) lie within the array that they
 * count, unless an op says more. The reference refuses most others (TSR_E_ARGUMENT). Other devices don't
 * check them: results are undefined, and a wrong slot or page may read or write memory outside the array.
 *
 * Letters: B sequences, T queries, S keys, H heads, G key/value heads, D head size, Dv value size,
 * C width, F feed-forward width, V vocabulary, R rows of any leading shape; M N K as in matrix
 * products.
 */
#ifndef TESSERA_OP_H
#define TESSERA_OP_H

#include "tessera/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The ops. `?` marks an operand that may be missing. The numbers never change. */
typedef enum tsr_op_id {
    TSR_OP_NONE = 0,
    /**
     * y[..,M,N] = alpha * sum_k a[..,M,K] b[..,K,N]. Up to 3 leading dimensions, which broadcast.
     *
     * attrs  tsr_matmul_attrs
     * in     a, b: any strides
     * out    y
     * exact  each sum is accumulated by fma, in the order of increasing k; or as `compute` says
     */
    TSR_OP_MATMUL = 1,
    /**
     * y[R,N] = act(sum_k z[R,k] w[k,N] + bias[N]) + residual[R,N], where z is x or, with norm, the
     * result of TSR_OP_RMS_NORM for x, norm and norm_eps. With norm the op has no gradient.
     *
     * attrs  tsr_linear_attrs
     * in     x, w, bias?, residual?, norm?[K]
     * out    y
     * shape  w: [N,K] where trans_w, else [K,N]
     * dtype  w, a weight: f32, f16, bf16 or, where trans_w is set and K is a multiple of their
     *        size, blocks along K: Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, MXFP4 (of 32), Q2_K to
     *        Q6_K, IQ4_XS (of 256)
     */
    TSR_OP_LINEAR = 2,
    /**
     * y[R,F] = act(z w_gate + b_gate) * (z w_up + b_up), or glu of these sums as its attributes say.
     * w has 2F outputs, the gate's first; z is as for linear.
     *
     * attrs  tsr_glu_linear_attrs
     * in     x, w, bias?[2F], norm?[K]
     * out    y
     * shape  w: [2F,K] where trans_w, else [K,2F]
     * dtype  w: as for linear
     */
    TSR_OP_GLU_LINEAR = 3,
    /**
     * y[b,t,h,:] = sum_s p[b,h,t,s] v[j,s,g,:], where p is the softmax over the visible s of
     *
     *     scale <q[b,t,h,:], k[j,s,g,:]> + bias + relative[h, clamp(s - (past[b] + t), -R, R) + R]
     *
     * and g = h / (H / G); j = source[b,s] where given, else slot[b], else b (J >= B then). With pages,
     * in place of both, keys and values lie in pages of S keys: key s of a sequence is key s % S of page
     * j = pages[b,s / S], and a sequence has up to `pages` S keys, which is S below and in bias. With a
     * soft cap c, the first term x = scale <q, k> is c tanh(x / c). With sinks, the sum that the softmax
     * of query head h divides by has exp(sinks[h]) besides, as if there were one more key, whose value
     * is 0.
     *
     * Key s is visible to query t of sequence b where s < len[b] (S without len) and, where causal,
     * s <= past[b] + t and, where window > 0, |past[b] + t - s| < window (a missing past is 0). A
     * query that sees no key gives 0. A query past the end of its sequence (causal, and past[b] + t
     * >= len[b]) may give any finite numbers.
     *
     * compute F16 or BF16: matrix units, and CPUs with AVX512-BF16, round q, k, v and the exponentials,
     * which are relative to a running maximum, to that type; their products are exact and are summed in
     * f32. A score is then off by 2.01 r of |scale| sum_d |q k|, with r = 2^-11 (F16) or 2^-8 (BF16),
     * and y by twice that and 2.01 r of sum_s p |v|. In F16, numbers of q, k and v below 2^-14 and
     * exponentials below 2^-29 may count as 0, and where a number is above 65504, the result may be an
     * infinity or a NaN. A device without such a unit computes as F32.
     *
     * attrs  tsr_attention_attrs
     * in     q[B,T,H,D], k[J,S,G,D], v[J,S,G,Dv], past?[B], len?[B], slot?[B], source?[B,S],
     *        bias?[1|B,H,T,S] f32 (sizes of 1 are repeated), relative?[H,2R+1] f32, sinks?[H] f32
     *        (finite numbers), pages?[B,pages] i32
     * out    y[B,T,H,Dv], lse?[B,H,T] f32 (log of the sum of exponentials, of the sink's too; without
     *        sinks, -inf where no key is visible)
     * dtype  k, v: f32, f16, bf16, or q8_0 in whole blocks along D, which is multiplied as F32
     */
    TSR_OP_ATTENTION = 4,
    /**
     * sum = x + residual; y = norm(sum).
     *
     * attrs  tsr_norm_attrs
     * in     x, residual, weight[C], bias?[C]
     * out    sum, y
     */
    TSR_OP_ADD_NORM = 5,
    /**
     * y = (x - mean) / sqrt(variance + eps) * weight + bias over the last dimension.
     *
     * attrs  tsr_norm_attrs
     * in     x, weight, bias?
     * out    y
     */
    TSR_OP_LAYER_NORM = 6,
    /**
     * y = x / sqrt(mean(x^2) + eps) * weight over the last dimension.
     *
     * attrs  tsr_norm_attrs
     * in     x, weight
     * out    y
     */
    TSR_OP_RMS_NORM = 7,
    /**
     * y = softmax of scale * x + bias + relative over the visible part of the last dimension, with
     * sinks as defined for attention; 0 elsewhere.
     *
     * attrs  tsr_softmax_attrs
     * in     x[B,..,T,S], past?[B], len?[B], bias?[..,T,S] (broadcast to x), relative?[H,2R+1] f32,
     *        sinks?[H] f32 (x is with either of them [B,H,T,S])
     * out    y
     */
    TSR_OP_SOFTMAX = 8,
    /**
     * Rotates pairs of the first `rotary` elements of each head by the angle positions[b,t] *
     * inv_freq[p], and multiplies them by `magnitude`. Pair p is (p, p + rotary/2), or (2p, 2p+1)
     * where interleaved.
     *
     * attrs  tsr_rope_attrs
     * in     x[B,T,H,D], positions[B,T] i32, inv_freq[rotary/2] f32
     * out    y[B,T,H,D]
     */
    TSR_OP_ROPE = 9,
    /**
     * y[b,t,:] = scale * table[ids[b,t],:].
     *
     * The table may be a part of a larger one, its rows first .. first + V - 1 of `whole`: then ids
     * are 0 .. whole - 1, and the rows of y whose ids are not in the part are left as they are.
     *
     * attrs  tsr_embed_attrs
     * in     table[V,C], ids[..] i32
     * out    y[..,C] f32
     * dtype  table, a weight: f32, f16, bf16 or, where C is a multiple of their size, blocks as
     *        of linear
     */
    TSR_OP_EMBED = 10,
    /**
     * state[slot[b], :, past[b]+t, :] = x[b,t,:,:] for past[b]+t < min(len[b], capacity). The keys
     * of one head are adjacent. With pages, in place of slot, a sequence has `pages` times as many
     * positions: position s is row s % capacity of slot pages[b,s / capacity]. With neither, slots >= B.
     *
     * in     state[slots,G,capacity,D], x[B,T,G,D], past[B], len[B], slot?[B] (b where missing),
     *        pages?[B,pages] i32
     * out    none: writes in[0]
     * dtype  state: f32, f16 or bf16, which round to nearest even; q8_0, where D is a multiple of
     *        32: the scale of a block is its largest magnitude over 127, as f16
     */
    TSR_OP_KV_APPEND = 11,
    /**
     * y = a + b for each element; b broadcasts to a where a size of b is 1 or b has fewer
     * dimensions.
     *
     * in     a, b
     * out    y
     */
    TSR_OP_ADD = 12,
    TSR_OP_MUL = 13,       /**< y = a * b, otherwise as add */
    TSR_OP_SCALE = 14,     /**< y = alpha x. attrs tsr_scale_attrs, in x, out y */
    TSR_OP_CAST = 15,      /**< x, also q8_0, as y's dtype. attrs tsr_cast_attrs, in x, out y */
    TSR_OP_COPY = 16,      /**< copies x, numbers of any strides, to contiguous y. in x, out y */
    TSR_OP_GATHER = 17,    /**< y[i,:] = x[index[i],:]. in x[R,C], index[N] i32, out y[N,C] */
    TSR_OP_RELU = 18,      /**< y = max(x, 0). in x, out y; so do the next five */
    TSR_OP_GELU = 19,      /**< y = x/2 (1 + erf(x/sqrt 2)) */
    TSR_OP_GELU_TANH = 20, /**< GELU's approximation by tanh */
    TSR_OP_SILU = 21,      /**< y = x sigmoid(x) */
    TSR_OP_TANH = 22,
    TSR_OP_SIGMOID = 23,
    /**
     * The index of the largest of the last dimension, the first of equal ones; NaN counts as
     * smallest. Where the largest is not finite, y is -1 (NaN), -2 (-inf) or -3 (inf).
     *
     * in     x[R,V]
     * out    y[R] i32
     */
    TSR_OP_ARGMAX = 24,
    /**
     * The k largest of the last dimension, largest first, equal ones by index; and the log of the
     * sum of exponentials of the whole row.
     *
     * attrs  tsr_topk_attrs
     * in     x[R,V]
     * out    values[R,k] f32, indices[R,k] i32, lse?[R] f32
     */
    TSR_OP_TOPK = 25,
    /**
     * What a decoder layer does between its first product and attention: y = rope(q); k, rotated in
     * the same way, is appended to `keys`, and v to `values`, each as kv_append does it. Without q,
     * positions and inv_freq nothing is rotated and there is no y; with them y is always made.
     *
     * attrs  tsr_rope_attrs
     * in     keys[slots,G,capacity,D], values[slots,G,capacity,Dv], k[B,T,G,D], v[B,T,G,Dv],
     *        past[B], len[B], slot?[B], q?[B,T,H,D], positions?[B,T] i32, inv_freq?[rotary/2] f32,
     *        pages?[B,pages] i32
     * out    y?[B,T,H,D]; writes in[0] and in[1]
     * dtype  keys, values: as the state of kv_append
     */
    TSR_OP_QKV_APPEND = 26,
    /**
     * T steps of a gated recurrent unit from state h (zeros where it is missing):
     *
     *     r  = sigmoid(x_r + w_r h + bias_r)
     *     z  = sigmoid(x_z + w_z h + bias_z)
     *     n  = tanh(x_n + r (w_n h + bias_n))
     *     h' = (1 - z) n + z h
     *
     * Step t reads gates_x[b,t,:], which holds x_r, x_z, x_n side by side (W_ih x + b_ih), and
     * y[b,t,:] is the state after it. Steps with t >= len[b] do not change the state and give 0.
     *
     * attrs  tsr_gru_cell_attrs
     * in     gates_x[B,T,3E], state?[B,E], w[3E,E] (a weight: r, z, n), bias[3E], len?[B]
     * out    y[B,T,E]
     */
    TSR_OP_GRU_CELL = 27,
    /**
     * y[b,t,:] = sum_s p[b,t,s] values[j,s,:], where p is the softmax over s < len[b] of
     * sum_a v[a] tanh(q[b,t,a] + k[j,s,a]), and j = slot[b] where given, else b (J >= B then). A query
     * that sees no key gives 0.
     *
     * in     q[B,T,A], k[J,S,A], v[A], values[J,S,E], len?[B], slot?[B]
     * out    y[B,T,E], probabilities?[B,T,S]
     */
    TSR_OP_ADDITIVE_ATTENTION = 28,
    /**
     * One vector for each sequence, from its vectors at t < len[b]. A sequence of length 0 gives 0.
     *
     * attrs  tsr_pool_attrs
     * in     x[B,T,C], len?[B]
     * out    y[B,C]
     */
    TSR_OP_POOL = 29,
    /**
     * y = the inputs side by side along the last dimension, C = C0 + C1 + .. wide. x3, or both x2
     * and x3, may be left out, but no input is NULL.
     *
     * in     x0[..,C0], x1[..,C1], x2[..,C2], x3[..,C3]
     * out    y[..,C]
     */
    TSR_OP_CONCAT = 30,
    /* ---- training: the parts of gradients, losses, optimizers ----
     *
     * An op that writes in[0] leaves beta * in[0] + what it computes there. beta is a number [1];
     * it is 1 where it is missing; where it is 0, the old contents are not read. The order of a sum
     * depends on the shapes alone. */

    /**
     * state = beta * state + x.
     *
     * in     state[..], x (the same shape), beta?[1]
     * out    none: writes in[0]
     */
    TSR_OP_ACCUMULATE = 31,
    /**
     * state[M,N] = beta * state + alpha * sum_k a b: the gradient of a matrix.
     *
     * attrs  tsr_matmul_attrs
     * in     state[M,N] f32, a (2 dimensions), b (2 dimensions), beta?[1]; any strides of a and b
     * out    none: writes in[0]
     * exact  each sum is accumulated by fma, in the order of increasing k, and is added to beta *
     *        state at its end
     */
    TSR_OP_MATMUL_ADD = 32,
    /**
     * state[v,:] = beta * state[v,:] + scale * sum over r with ids[r] = v of dy[r,:]: the gradient
     * of embed. Rows that no id names become beta * state. Ids outside 0 .. V-1 add nothing, nor
     * does `padding`.
     *
     * attrs  tsr_embed_attrs
     * in     state[V,C] f32, ids[..] i32, dy[..,C], beta?[1]
     * out    none: writes in[0]
     * exact  sums run in the order of increasing r
     */
    TSR_OP_EMBED_ADD = 33,
    /**
     * y[C] = sum over r of x[r,:].
     *
     * in     x[..,C]
     * out    y[C]
     * exact  r increases, in blocks of a fixed size
     */
    TSR_OP_SUM_ROWS = 34,
    /**
     * dx = addend + the gradient of norm(x), given dy.
     *
     * attrs  tsr_norm_attrs
     * in     x[..,C], weight[C], dy[..,C], addend?[..,C]
     * out    dx[..,C], stats?[..,2]: the mean (0 for rms), and 1/sqrt(variance + eps) or
     *        1/sqrt(mean square + eps)
     */
    TSR_OP_NORM_GRAD = 35,
    /**
     * dweight[c] = sum over rows of dy * (x - mean) * deviation, dbias[c] = sum of dy, with the
     * stats that norm_grad gives: mean, deviation.
     *
     * in     x[..,C], dy[..,C], stats[..,2]
     * out    dweight[C], dbias?[C]
     */
    TSR_OP_NORM_WEIGHT_GRAD = 36,
    /**
     * dx = dy * act'(x). At the kink of relu the derivative is 0.
     *
     * attrs  tsr_activation_attrs
     * in     x, dy (the same shape)
     * out    dx
     */
    TSR_OP_ACTIVATION_GRAD = 37,
    /**
     * y = act(g) * u with the gates g = x[..,:F] and the ups u = x[..,F:]. With a limit L, g is min(g, L)
     * and u is max(min(u, L), -L) in its place; then, with alpha, act(g) becomes act(alpha g) / alpha,
     * and with a shift, u becomes u + shift.
     *
     * attrs  tsr_activation_attrs
     * in     x[..,2F]
     * out    y[..,F]
     */
    TSR_OP_GLU = 38,
    /**
     * The gradient of glu. What a limit holds back gets 0.
     *
     * attrs  tsr_activation_attrs
     * in     x[..,2F], dy[..,F]
     * out    dx[..,2F]
     */
    TSR_OP_GLU_GRAD = 39,
    /**
     * The gradient of softmax: dx = scale * y * (dy - sum over the last dimension of y dy).
     *
     * attrs  tsr_scale_attrs
     * in     y, dy (the same shape)
     * out    dx
     */
    TSR_OP_SOFTMAX_GRAD = 40,
    /**
     * The gradient of attention, from its inputs, its result y and its lse, which knows of sinks. With
     * p[b,h,t,s] = exp(score - lse) and ds = p * (<dy, v> - <dy, y>):
     *
     *     dv += p dy;  dq += scale ds k;  dk += scale ds q;  drelative += ds where it was read
     *
     * With a soft cap, scale is multiplied by 1 - tanh^2(scale <q, k> / soft_cap), each pair's own.
     *
     * Probabilities are computed again, in tiles. A query that sees no key, and where causal one
     * past the end of its sequence (past[b] + t >= len[b]), adds nothing, whatever its operands
     * hold, and its dq is 0.
     *
     * attrs  tsr_attention_attrs
     * in     q[B,T,H,D], k[B,S,G,D], v[B,S,G,Dv], y[B,T,H,Dv], lse[B,H,T], dy[B,T,H,Dv], past?[B],
     *        len?[B], bias?[1|B,H,T,S] (sizes of 1 are repeated), relative?[H,2R+1]
     * out    dq, dk, dv, drelative?[H,2R+1]
     */
    TSR_OP_ATTENTION_GRAD = 41,
    /**
     * The gradient of gru_cell, from its inputs and its result. Steps with t >= len[b] give 0.
     *
     * attrs  tsr_gru_cell_attrs
     * in     gates_x[B,T,3E], state?[B,E], w[3E,E], bias[3E], y[B,T,E], dy[B,T,E], len?[B]
     * out    dgates_x[B,T,3E], dgates_h[B,T,3E] (of w h + bias, so that dw = dgates_h^T before),
     *        before[B,T,E] (the state that each step began with), dstate?[B,E]
     */
    TSR_OP_GRU_CELL_GRAD = 42,
    /**
     * The gradient of additive_attention, from its inputs and its probabilities.
     *
     * in     q[B,T,A], k[B,S,A], v[A], values[B,S,E], probabilities[B,T,S], dy[B,T,E], len?[B]
     * out    dq[B,T,A], dk[B,S,A], dv[B,A] (one partial sum for each sequence: sum_rows adds them),
     *        dvalues[B,S,E]
     */
    TSR_OP_ADDITIVE_ATTENTION_GRAD = 43,
    /**
     * dx[r,:] = sum over i with index[i] = r of dy[i,:]: the gradient of gather. x gives the shape
     * and is not read.
     *
     * in     x[R,C], index[N] i32, dy[N,C]
     * out    dx[R,C]
     * exact  sums run in the order of increasing i
     */
    TSR_OP_SCATTER = 44,
    /**
     * The gradient of pool.
     *
     * attrs  tsr_pool_attrs
     * in     x[B,T,C] (read for max: the first of the largest gets all), len?[B], dy[B,C]
     * out    dx[B,T,C]
     */
    TSR_OP_POOL_GRAD = 45,
    /**
     * loss[r] = (1 - e) * -log p[r,target] + e * mean over v of -log p[r,v], where p is the softmax
     * of logits[r,:] and e the label smoothing; lse is the log of the sum of exponentials. Both are
     * 0 where the target is `ignore`.
     *
     * attrs  tsr_cross_entropy_attrs
     * in     logits[..,V], targets[..] i32 (0 .. V-1, or ignore)
     * out    loss[..], lse[..]
     */
    TSR_OP_CROSS_ENTROPY = 46,
    /**
     * dlogits = addend + scale * the gradient of the sum of cross_entropy's losses. It holds no
     * array of probabilities besides dlogits.
     *
     * attrs  tsr_cross_entropy_attrs
     * in     logits[..,V], targets[..], lse[..], scale[1], addend?[..,V]
     * out    dlogits[..,V]
     */
    TSR_OP_CROSS_ENTROPY_GRAD = 47,
    /**
     * loss[r] = T^2 * KL(teacher || student) = T^2 * sum_v pt (log pt - log ps), where p =
     * softmax(logits / T) and T is the temperature. Without a teacher, the uniform distribution
     * takes its place and T is 1: KL(u || student) = - log V - mean of log ps. 0 where targets[r]
     * is `ignore`.
     *
     * attrs  tsr_kl_divergence_attrs
     * in     logits[..,V], targets?[..] i32, teacher?[..,V]
     * out    loss[..]
     */
    TSR_OP_KL_DIVERGENCE = 48,
    /**
     * dlogits = addend + scale * the gradient of the sum of kl_divergence's losses with respect to
     * the student's logits.
     *
     * attrs  tsr_kl_divergence_attrs
     * in     logits[..,V], targets?[..], teacher?[..,V], scale[1], addend?[..,V]
     * out    dlogits[..,V]
     */
    TSR_OP_KL_DIVERGENCE_GRAD = 49,
    /**
     * y = x * keep / (1 - rate). Element i (row-major) takes word i % 4 of Philox 4x32-10 with the
     * key (seed[0], seed[1]) and the counter words (i / 4, site, seed[2], seed[3]), low word first;
     * it is kept where word * 2^-32 >= rate. Applied to dy, the op is its own gradient.
     *
     * attrs  tsr_dropout_attrs
     * in     x, seed[4] i32
     * out    y
     */
    TSR_OP_DROPOUT = 50,
    /**
     * sums[first + j] = sum of x^2 over the j-th of `parts` stretches of ceil(n / parts) elements
     * (0 for an empty one).
     *
     * attrs  tsr_sumsq_attrs
     * in     sums[parts] f32 (more are allowed), x (packed, f32)
     * out    none: writes in[0]
     * exact  sums are in f32, in a fixed order
     */
    TSR_OP_SUMSQ = 51,
    /**
     * AdamW, with rates = {learning rate, 1 - beta1^t, 1 - beta2^t, factor of the gradient}:
     *
     *     g *= factor;  p *= 1 - lr * decay
     *     m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
     *     p -= lr * (m / rates[1]) / (sqrt(v / rates[2]) + eps)
     *
     * `rounded` receives p, rounded to nearest even.
     *
     * attrs  tsr_adamw_attrs
     * in     p f32, m f32, v f32, gradient f32, rates[4], rounded? bf16
     * out    none: writes in[0], in[1], in[2] and in[5]
     * source Loshchilov, Hutter 2019, Decoupled weight decay regularization
     */
    TSR_OP_ADAMW = 52,
    /**
     * Stochastic gradient descent, with rates as for adamw:
     *
     *     g = factor * gradient + decay * p
     *     velocity = momentum * velocity + g
     *     p -= lr * (velocity; with nesterov g + momentum * velocity)
     *
     * Without a velocity, momentum is 0. `rounded` receives p as for adamw.
     *
     * attrs  tsr_sgd_attrs
     * in     p f32, velocity? f32, gradient f32, rates[4], rounded? bf16
     * out    none: writes in[0], in[1] and in[4]
     */
    TSR_OP_SGD = 53,
    /**
     * Draws one of k logits for each row, which fall. With the 32-bit words {top_k, top_p, min_p, random} of
     * settings[r,:], of which the last three are unsigned, and entries i of values[r,:]:
     *
     *     weight[i] = floor(2^31 exp(min(0, rate[r] (values[r,i] - values[r,0]))))
     *
     * Of the first top_k entries (all where it is below 1 or above k), those are kept before the first,
     * besides entry 0, whose weight is below min_p, or before which the sum of weights is at least
     * floor(S top_p / 2^32), S being the sum of all of them (top_p = 2^32 - 1: never). y[r] is indices[r,i]
     * of the first i at which the sum of weights exceeds floor(K random / 2^32), K being the sum of those
     * that are kept. A NaN has weight 0. Where values[r,0] is not finite, y is -1 (NaN), -2 (-inf) or -3
     * (inf); else, where rate[r] is 0, y is indices[r,0]. So with rate = 1 / temperature the settings
     * are a sampler's, min_p in units of 2^-31, top_p of 2^-32.
     *
     * in     values[R,k] f32, indices[R,k] i32, rate[R] f32 (>= 0), settings[R,4] i32
     * out    y[R] i32
     * exact  the exponential is made of fma: rows are drawn alike on every device
     */
    TSR_OP_SAMPLE = 54,
    /* ---- experts: layers of which each row takes a few ---- */

    /**
     * linear by one of E weights, whichever `experts` names: with e = experts[r,j],
     *
     *     y[r,j,n] = act(sum_k x[r,j,k] w[e,k,n] + bias[e,n])
     *
     * Where x has one row for all j, each of them reads it. The weights may be a part of more, those
     * of the experts first .. first + E - 1 of `whole`: then experts[r,j] is 0 .. whole - 1, and the
     * rows of y whose experts are not in the part are left as they are.
     *
     * attrs  tsr_linear_attrs (norm_eps is not read)
     * in     x[R,1|J,K], w[E,K,N], experts[R,J] i32 (0 .. E-1), bias?[E,N]
     * out    y[R,J,N]
     * shape  w: [E,N,K] where trans_w
     * dtype  w: as for linear
     * exact  as linear: a row gives the same bytes whatever experts other rows take
     * source Shazeer et al. 2017, arXiv:1701.06538
     */
    TSR_OP_EXPERT_LINEAR = 55,
    /**
     * glu_linear by one of E weights, as expert_linear; an expert's gates come before its ups.
     *
     * attrs  tsr_glu_linear_attrs (norm_eps is not read)
     * in     x[R,1|J,K], w[E,K,2F], experts[R,J] i32 (0 .. E-1), bias?[E,2F]
     * out    y[R,J,F]
     * shape  w: [E,2F,K] where trans_w
     * dtype  w: as for linear
     */
    TSR_OP_EXPERT_GLU_LINEAR = 56,
    /**
     * The gradient of the weights of expert_linear: with the pairs (r,j) whose experts[r,j] is e,
     *
     *     state[e,m,n] = beta * state[e,m,n] + sum over these pairs of a[r,j,m] b[r,j,n]
     *
     * Where a or b has one row for all j, each of them reads it. Those of experts that no pair names
     * become beta * state.
     *
     * in     state[E,M,N] f32, a[R,1|J,M], b[R,1|J,N], experts[R,J] i32 (0 .. E-1), beta?[1]
     * out    none: writes in[0]
     * exact  each sum is accumulated by fma, in the order of increasing r, then j, and is added to beta *
     *        state at its end
     */
    TSR_OP_EXPERT_MATMUL_ADD = 57,
    /**
     * dx[r,v] = dvalues[r,i] where indices[r,i] = v, else 0: the gradient of topk's values. x gives the
     * shape and is not read; no index occurs twice in a row.
     *
     * in     x[R,V], indices[R,k] i32 (0 .. V-1), dvalues[R,k]
     * out    dx[R,V]
     */
    TSR_OP_TOPK_GRAD = 58,
    /* ---- scores by distance ---- */

    /**
     * What attention's scores have besides <q, k> where they depend on the distance of query and key, and on
     * what is at one of the two: with p = place[clamp(s - t, -R, R) + R],
     *
     *     y[b,h,t,s] = by_query[b,h,t,p] + by_key[b,h,s,p]
     *
     * in     by_query[B,H,T,P], by_key[B,H,S,P], place[2R+1] i32 (0 .. P-1)
     * out    y[B,H,T,S]
     * source He et al. 2021, DeBERTa, arXiv:2006.03654
     */
    TSR_OP_DISTANCE_SCORES = 59,
    /**
     * The gradient of distance_scores: with p as there,
     *
     *     dby_query[b,h,t,p] += dy[b,h,t,s];  dby_key[b,h,s,p] += dy[b,h,t,s]
     *
     * by_query and by_key give the shapes and are not read.
     *
     * in     by_query[B,H,T,P], by_key[B,H,S,P], place[2R+1] i32 (0 .. P-1), dy[B,H,T,S]
     * out    dby_query[B,H,T,P], dby_key[B,H,S,P]
     * exact  sums run in the order of increasing s, or of increasing t
     */
    TSR_OP_DISTANCE_SCORES_GRAD = 60,
    /**
     * The gradient of attention's sinks, from its result and its lse: what each query adds to it.
     *
     *     dsinks[b,t,h] = -exp(sinks[h] - lse[b,h,t]) <dy[b,t,h,:], y[b,t,h,:]>
     *
     * The exponential is the sink's share of the query's probabilities. The sum over b and t (sum_rows) is
     * the gradient. A query past the end of a causal sequence (past[b] + t >= len[b]) adds 0, whatever its
     * operands hold.
     *
     * attrs  tsr_attention_attrs (only `causal` is read)
     * in     sinks[H], y[B,T,H,Dv], lse[B,H,T], dy[B,T,H,Dv], past?[B], len?[B]
     * out    dsinks[B,T,H]
     */
    TSR_OP_ATTENTION_SINKS_GRAD = 61,
    /**
     * Which experts each row takes, and their factors. An expert's choice is its score plus its bias. Only
     * the experts of the best `groups_used` of `groups` groups can be chosen, where a group is E / groups
     * neighbours, and the best are those with the largest choice or, with `by_two`, with the largest sum of
     * their two largest choices. The k experts with the largest choices are taken, largest first; equal ones,
     * of groups too, by index; NaN counts as smallest. A factor is the expert's score, without the bias; with
     * `shares` it is divided by (the sum of the k scores + 1e-20).
     *
     * attrs  tsr_choose_experts_attrs
     * in     scores[R,E], bias?[E]
     * out    factors[R,k] f32, experts[R,k] i32
     * exact  choices, and sums of two of them, are rounded to f32 once; the k scores are added in the order
     *        in which they are taken
     * source DeepSeek-AI 2024, arXiv:2412.19437, section 2.1.2; with groups: arXiv:2405.04434
     */
    TSR_OP_CHOOSE_EXPERTS = 62,
    /**
     * The gradient of choose_experts' scores where its factors are shares of their sum:
     *
     *     dscores[r,e] = (dfactors[r,i] - sum_j dfactors[r,j] factors[r,j]) / (sum_j scores[r,experts[r,j]] + 1e-20)
     *
     * where experts[r,i] = e, else 0. No expert occurs twice in a row. Without shares it is topk_grad.
     *
     * in     scores[R,E], experts[R,k] i32 (0 .. E-1), factors[R,k], dfactors[R,k]
     * out    dscores[R,E]
     * exact  sums run in the order of increasing j
     */
    TSR_OP_CHOOSE_EXPERTS_GRAD = 63,
    TSR_OP_COUNT = 64 /**< one more than the largest id of this header */
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

/** How a matrix product is computed. */
typedef enum tsr_compute {
    /** x and the weight as f32; each sum is accumulated by fma, in the order of increasing k. */
    TSR_COMPUTE_F32 = 0,
    /** x and the weight are rounded to half. With matrix units their products are exact and are
     * summed in f32, in an order of the unit's own. Elsewhere the products of 8 inputs, starting at
     * a multiple of 8, are computed and summed in half precision, and these sums are added in f32,
     * in the order of increasing k. Then come bias, activation and residual in f32. The error of a
     * sum is at most 10 * 2^-11 of the sum of its terms' magnitudes (one rounding each of x, w and
     * the product, and seven of sums), plus 2^-14 for each factor, product or sum below 2^-14, plus
     * what the K additions in f32 round. Where one of these is above 65504, the result may be an
     * infinity or a NaN. A device with neither computes as F32, which is within the same bound. */
    TSR_COMPUTE_F16 = 1,
    /** For weights of blocks only. Each block of 32 inputs of a row of x becomes 8-bit integers, q =
     * rint(x * (127 / a)) with a = max |x| of the block. The integer sum of a block is exact; it is
     * multiplied by a / 127, whose last two bits are cleared, and accumulated by an fma with the
     * scale of the weight's block, in the order of increasing k; then come bias, activation and
     * residual. A block with a < 2^-120 counts as zeros; a row with an infinity or a NaN may give
     * anything. Weights with a scale for 16 inputs (Q6_K, Q3_K, Q2_K) have two such sums for 32
     * inputs; those with minima (Q4_K, Q5_K, Q2_K, Q4_1, Q5_1) multiply their unsigned integers,
     * and after each sum minus that of its q, times a / 127, follows by an fma with the minimum;
     * that of Q4_1 and Q5_1 is minus the number that they add. The integers of MXFP4 are twice its
     * 4-bit numbers, and its scale is half of the power of two that it stores; those of IQ4_NL and
     * IQ4_XS are the numbers that their codes stand for. */
    TSR_COMPUTE_INT8 = 2,
    /** x and the weight are rounded to bf16; their products are exact and are summed in f32 by
     * matrix units, or by a CPU's instructions for bf16, in an order of their own; then come bias,
     * activation and residual in f32.
     * The error of a sum is at most 2.01 * 2^-8 of the sum of its terms' magnitudes (one rounding
     * each of x and w), plus what the K additions in f32 round; gelu may add 9e-5 of its argument, from
     * an erf that is off by up to 1.7e-4. A device without either computes as F32, which is within the
     * same bound. */
    TSR_COMPUTE_BF16 = 3
} tsr_compute;

typedef struct tsr_matmul_attrs {
    uint32_t struct_size;
    uint32_t trans_a, trans_b; /**< a is [..,K,M]; b is [..,N,K] */
    float alpha;               /**< 0 means 1 */
    uint32_t compute;          /**< TSR_COMPUTE_F32 or TSR_COMPUTE_BF16; a and b stand for x and the
                                    weight */
} tsr_matmul_attrs;

typedef struct tsr_linear_attrs { /* linear, expert_linear */
    uint32_t struct_size;
    uint32_t trans_w;
    uint32_t activation; /**< tsr_activation */
    uint32_t compute;    /**< tsr_compute */
    float norm_eps;      /**< of the norm; not read without one */
    uint32_t first; /**< of a part of the weights: the expert of its first. expert_linear only */
    uint32_t whole; /**< of how many; 0: the weights are whole. expert_linear only */
} tsr_linear_attrs;

typedef struct tsr_glu_linear_attrs { /* glu_linear, expert_glu_linear */
    uint32_t struct_size;
    uint32_t trans_w;
    uint32_t activation;
    uint32_t compute;
    float norm_eps;
    uint32_t first; /**< as of tsr_linear_attrs. expert_glu_linear only */
    uint32_t whole; /**< likewise */
    float limit;    /**< of gates and ups, as of tsr_activation_attrs; so are alpha and shift */
    float alpha;
    float shift;
} tsr_glu_linear_attrs;

typedef struct tsr_attention_attrs {
    uint32_t struct_size;
    uint32_t causal;
    uint32_t window;  /**< keys that a query sees to each side, its own included; 0: all */
    float scale;      /**< not 0; mostly 1 / sqrt(D) */
    uint32_t compute; /**< tsr_compute: F32, F16 or BF16. attention only */
    float soft_cap;   /**< 0: none; else positive */
} tsr_attention_attrs;

typedef struct tsr_norm_attrs { /* add_norm, layer_norm, rms_norm, norm_grad */
    uint32_t struct_size;
    uint32_t norm; /**< tsr_norm; add_norm and norm_grad only */
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
    float magnitude;  /**< 0 means 1 */
    uint32_t inverse; /**< 1: rotates by minus the angle: the gradient. rope only */
} tsr_rope_attrs;

typedef struct tsr_embed_attrs {
    uint32_t struct_size;
    float scale;      /**< 0 means 1 */
    uint32_t padding; /**< 1 + the id whose row gets no gradient; 0: none. embed_add only */
    uint32_t first;   /**< of a part of a table: the id of its first row. embed only */
    uint32_t whole;   /**< the rows of that table; 0: the table is not a part. embed only */
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

typedef struct tsr_choose_experts_attrs {
    uint32_t struct_size;
    uint32_t k;           /**< 1 .. groups_used * E / groups */
    uint32_t groups;      /**< divides E; 0 means 1 */
    uint32_t groups_used; /**< 1 .. groups; 0 means all */
    uint32_t by_two; /**< 1: a group counts as much as its two largest together (E / groups >= 2) */
    uint32_t shares; /**< 1: factors are shares of their sum */
} tsr_choose_experts_attrs;

typedef struct tsr_gru_cell_attrs {
    uint32_t struct_size;
    uint32_t reverse; /**< 1: from step len[b] - 1 down to step 0 */
} tsr_gru_cell_attrs;

typedef enum tsr_pool {
    TSR_POOL_MEAN = 0,
    TSR_POOL_FIRST = 1,
    TSR_POOL_MAX = 2, /**< of each column; NaN counts as smallest */
    TSR_POOL_LAST = 3
} tsr_pool;

typedef struct tsr_pool_attrs {
    uint32_t struct_size;
    uint32_t kind; /**< tsr_pool */
} tsr_pool_attrs;

typedef struct tsr_activation_attrs { /* activation_grad, glu, glu_grad */
    uint32_t struct_size;
    uint32_t activation; /**< tsr_activation */
    float limit;         /**< 0: none; else positive. glu and glu_grad only, as the next two */
    float alpha;         /**< 0 means 1 */
    float shift;
} tsr_activation_attrs;

typedef struct tsr_cross_entropy_attrs {
    uint32_t struct_size;
    int32_t ignore;        /**< the target value whose row has no loss; negative */
    float label_smoothing; /**< 0 <= e < 1 */
} tsr_cross_entropy_attrs;

typedef struct tsr_kl_divergence_attrs {
    uint32_t struct_size;
    int32_t ignore;
    float temperature; /**< 0 means 1 */
} tsr_kl_divergence_attrs;

typedef struct tsr_dropout_attrs {
    uint32_t struct_size;
    uint32_t site; /**< the dropout's number in its graph: equal ones draw the same */
    float rate;    /**< 0 <= rate < 1 */
} tsr_dropout_attrs;

typedef struct tsr_sumsq_attrs {
    uint32_t struct_size;
    uint32_t first, parts; /**< parts >= 1 */
} tsr_sumsq_attrs;

typedef struct tsr_adamw_attrs {
    uint32_t struct_size;
    float beta1, beta2, eps, decay;
} tsr_adamw_attrs;

typedef struct tsr_sgd_attrs {
    uint32_t struct_size;
    uint32_t nesterov;
    float momentum, decay;
} tsr_sgd_attrs;

/** Stands for the attributes of an op that has none. */
typedef struct tsr_no_attrs {
    uint32_t struct_size;
} tsr_no_attrs;

/** Every op of this version, once: X(ID, name, attributes). Tables by op are made from this list,
 * so a new op is added here and nowhere else. */
#define TSR_OP_LIST(X)                                                 \
    X(MATMUL, matmul, tsr_matmul_attrs)                                \
    X(LINEAR, linear, tsr_linear_attrs)                                \
    X(GLU_LINEAR, glu_linear, tsr_glu_linear_attrs)                    \
    X(ATTENTION, attention, tsr_attention_attrs)                       \
    X(ADD_NORM, add_norm, tsr_norm_attrs)                              \
    X(LAYER_NORM, layer_norm, tsr_norm_attrs)                          \
    X(RMS_NORM, rms_norm, tsr_norm_attrs)                              \
    X(SOFTMAX, softmax, tsr_softmax_attrs)                             \
    X(ROPE, rope, tsr_rope_attrs)                                      \
    X(EMBED, embed, tsr_embed_attrs)                                   \
    X(KV_APPEND, kv_append, tsr_no_attrs)                              \
    X(ADD, add, tsr_no_attrs)                                          \
    X(MUL, mul, tsr_no_attrs)                                          \
    X(SCALE, scale, tsr_scale_attrs)                                   \
    X(CAST, cast, tsr_cast_attrs)                                      \
    X(COPY, copy, tsr_no_attrs)                                        \
    X(GATHER, gather, tsr_no_attrs)                                    \
    X(RELU, relu, tsr_no_attrs)                                        \
    X(GELU, gelu, tsr_no_attrs)                                        \
    X(GELU_TANH, gelu_tanh, tsr_no_attrs)                              \
    X(SILU, silu, tsr_no_attrs)                                        \
    X(TANH, tanh, tsr_no_attrs)                                        \
    X(SIGMOID, sigmoid, tsr_no_attrs)                                  \
    X(ARGMAX, argmax, tsr_no_attrs)                                    \
    X(TOPK, topk, tsr_topk_attrs)                                      \
    X(QKV_APPEND, qkv_append, tsr_rope_attrs)                          \
    X(GRU_CELL, gru_cell, tsr_gru_cell_attrs)                          \
    X(ADDITIVE_ATTENTION, additive_attention, tsr_no_attrs)            \
    X(POOL, pool, tsr_pool_attrs)                                      \
    X(CONCAT, concat, tsr_no_attrs)                                    \
    X(MATMUL_ADD, matmul_add, tsr_matmul_attrs)                        \
    X(EMBED_ADD, embed_add, tsr_embed_attrs)                           \
    X(SUM_ROWS, sum_rows, tsr_no_attrs)                                \
    X(NORM_GRAD, norm_grad, tsr_norm_attrs)                            \
    X(NORM_WEIGHT_GRAD, norm_weight_grad, tsr_no_attrs)                \
    X(SOFTMAX_GRAD, softmax_grad, tsr_scale_attrs)                     \
    X(ATTENTION_GRAD, attention_grad, tsr_attention_attrs)             \
    X(GRU_CELL_GRAD, gru_cell_grad, tsr_gru_cell_attrs)                \
    X(ADDITIVE_ATTENTION_GRAD, additive_attention_grad, tsr_no_attrs)  \
    X(SCATTER, scatter, tsr_no_attrs)                                  \
    X(POOL_GRAD, pool_grad, tsr_pool_attrs)                            \
    X(ACCUMULATE, accumulate, tsr_no_attrs)                            \
    X(ACTIVATION_GRAD, activation_grad, tsr_activation_attrs)          \
    X(GLU, glu, tsr_activation_attrs)                                  \
    X(GLU_GRAD, glu_grad, tsr_activation_attrs)                        \
    X(CROSS_ENTROPY, cross_entropy, tsr_cross_entropy_attrs)           \
    X(CROSS_ENTROPY_GRAD, cross_entropy_grad, tsr_cross_entropy_attrs) \
    X(KL_DIVERGENCE, kl_divergence, tsr_kl_divergence_attrs)           \
    X(KL_DIVERGENCE_GRAD, kl_divergence_grad, tsr_kl_divergence_attrs) \
    X(DROPOUT, dropout, tsr_dropout_attrs)                             \
    X(SUMSQ, sumsq, tsr_sumsq_attrs)                                   \
    X(ADAMW, adamw, tsr_adamw_attrs)                                   \
    X(SGD, sgd, tsr_sgd_attrs)                                         \
    X(SAMPLE, sample, tsr_no_attrs)                                    \
    X(EXPERT_LINEAR, expert_linear, tsr_linear_attrs)                  \
    X(EXPERT_GLU_LINEAR, expert_glu_linear, tsr_glu_linear_attrs)      \
    X(EXPERT_MATMUL_ADD, expert_matmul_add, tsr_no_attrs)              \
    X(TOPK_GRAD, topk_grad, tsr_no_attrs)                              \
    X(DISTANCE_SCORES, distance_scores, tsr_no_attrs)                  \
    X(DISTANCE_SCORES_GRAD, distance_scores_grad, tsr_no_attrs)        \
    X(ATTENTION_SINKS_GRAD, attention_sinks_grad, tsr_attention_attrs) \
    X(CHOOSE_EXPERTS, choose_experts, tsr_choose_experts_attrs)        \
    X(CHOOSE_EXPERTS_GRAD, choose_experts_grad, tsr_no_attrs)

/** The smallest and the largest value that each symbol takes in the runs of a plan, in the order B
 * T S U N. */
typedef struct tsr_bounds {
    uint32_t struct_size, reserved;
    int64_t lowest[TSR_SYMBOLS], highest[TSR_SYMBOLS];
} tsr_bounds;

/** An op with its operands. */
typedef struct tsr_op {
    uint32_t struct_size;
    uint32_t id; /**< tsr_op_id */
    uint32_t n_in, n_out;
    const tsr_tensor *const *in; /**< entries may be NULL where optional */
    const tsr_tensor *const *out;
    const void *attrs; /**< the op's struct of attributes; NULL where it has none */
    const tsr_bounds *bounds;
    const char *label; /**< its name for people ("layers.3.attention"); may be NULL */
} tsr_op;

#ifdef __cplusplus
}
#endif
#endif
