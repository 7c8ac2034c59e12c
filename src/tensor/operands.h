/* tensor/operands.h - the operands and results of every op, as include/tessera/op.h documents them.
 *
 * Each op has one list, below. A line of it is
 *
 *     IN(NAME, name, dimensions, dtype, role, flags)     an operand
 *     OUT(NAME, name, dimensions, dtype, flags)          a result
 *
 * dimensions  one word each, as in op.h: a letter, possibly with a factor ("3E"), or a name
 *             ("capacity"); ".." stands for any number of leading dimensions, "1|B" for 1 or B
 * dtype       F32, I32, BF16; FLOATS: f32, f16 or bf16; WEIGHT: these and blocks; ANY
 * role        what its values mean: tsri_tensor_role. Where they count something, its dimension's
 *             word is given in brackets: INDEX_OF("V") is one of 0 .. V - 1
 * flags       tsri_tensor_operand_flag. An operand whose last two dimensions an attribute
 *             exchanges names that attribute after its flags.
 *
 * TSRI_OPERANDS(op) at the top of a file names the numbers of that op's operands and results. */
#ifndef TSRI_TENSOR_OPERANDS_H
#define TSRI_TENSOR_OPERANDS_H

#include "tessera/op.h"

#include <stdbool.h>

/* clang-format off */
#define TSRI_OPERANDS_unary(IN, OUT)          \
    IN(X, x, "..", F32, NUMBERS, OVERWRITTEN) \
    OUT(Y, y, "..", F32, 0)
#define TSRI_OPERANDS_binary(IN, OUT)         \
    IN(A, a, "..", F32, NUMBERS, OVERWRITTEN) \
    IN(B, b, "..", F32, NUMBERS, 0)           \
    OUT(Y, y, "..", F32, 0)

#define TSRI_OPERANDS_matmul(IN, OUT)                                            \
    IN(A, a, ".. M K", F32, NUMBERS, 0, EXCHANGED(tsr_matmul_attrs, trans_a))    \
    IN(B, b, ".. K N", FLOATS, NUMBERS, 0, EXCHANGED(tsr_matmul_attrs, trans_b)) \
    OUT(Y, y, ".. M N", F32, 0)
#define TSRI_OPERANDS_linear(IN, OUT)                                         \
    IN(X, x, ".. K", F32, NUMBERS, 0)                                         \
    IN(W, w, "K N", WEIGHT, NUMBERS, 0, EXCHANGED(tsr_linear_attrs, trans_w)) \
    IN(BIAS, bias, "N", F32, NUMBERS, OPTIONAL)                               \
    IN(RESIDUAL, residual, ".. N", F32, NUMBERS, OPTIONAL | OVERWRITTEN)      \
    IN(NORM, norm, "K", F32, ODD, OPTIONAL)                                   \
    OUT(Y, y, ".. N", F32, 0)
#define TSRI_OPERANDS_glu_linear(IN, OUT)                                          \
    IN(X, x, ".. K", F32, NUMBERS, 0)                                              \
    IN(W, w, "K 2F", WEIGHT, NUMBERS, 0, EXCHANGED(tsr_glu_linear_attrs, trans_w)) \
    IN(BIAS, bias, "2F", F32, NUMBERS, OPTIONAL)                                   \
    IN(NORM, norm, "K", F32, ODD, OPTIONAL)                                        \
    OUT(Y, y, ".. F", F32, 0)
#define TSRI_OPERANDS_attention(IN, OUT)                     \
    IN(Q, q, "B T H D", F32, NUMBERS, 0)                     \
    IN(K, k, "J S G D", FLOATS, NUMBERS, 0)                  \
    IN(V, v, "J S G Dv", FLOATS, NUMBERS, 0)                 \
    IN(PAST, past, "B", I32, PAST_OF("S"), OPTIONAL)         \
    IN(LEN, len, "B", I32, LENGTH_OF("S"), OPTIONAL)         \
    IN(SLOT, slot, "B", I32, SLOT_OF("J"), OPTIONAL)         \
    IN(SOURCE, source, "B S", I32, SLOT_OF("J"), OPTIONAL)   \
    IN(BIAS, bias, "1|B H T S", F32, NUMBERS, OPTIONAL)      \
    IN(RELATIVE, relative, "H 2R+1", F32, NUMBERS, OPTIONAL) \
    IN(SINKS, sinks, "H", F32, NUMBERS, OPTIONAL)            \
    IN(PAGES, pages, "B pages", I32, SLOT_OF("J"), OPTIONAL) \
    OUT(Y, y, "B T H Dv", F32, 0)                            \
    OUT(LSE, lse, "B H T", F32, ON_REQUEST)
#define TSRI_OPERANDS_add_norm(IN, OUT)                       \
    IN(X, x, ".. C", F32, NUMBERS, OVERWRITTEN)               \
    IN(RESIDUAL, residual, ".. C", F32, NUMBERS, OVERWRITTEN) \
    IN(WEIGHT, weight, "C", F32, NUMBERS, 0)                  \
    IN(BIAS, bias, "C", F32, NUMBERS, OPTIONAL)               \
    OUT(SUM, sum, ".. C", F32, 0)                             \
    OUT(Y, y, ".. C", F32, 0)
#define TSRI_OPERANDS_layer_norm(IN, OUT)       \
    IN(X, x, ".. C", F32, NUMBERS, OVERWRITTEN) \
    IN(WEIGHT, weight, "C", F32, NUMBERS, 0)    \
    IN(BIAS, bias, "C", F32, NUMBERS, OPTIONAL) \
    OUT(Y, y, ".. C", F32, 0)
#define TSRI_OPERANDS_rms_norm(IN, OUT)         \
    IN(X, x, ".. C", F32, NUMBERS, OVERWRITTEN) \
    IN(WEIGHT, weight, "C", F32, NUMBERS, 0)    \
    OUT(Y, y, ".. C", F32, 0)
#define TSRI_OPERANDS_softmax(IN, OUT)                       \
    IN(X, x, "B .. T S", F32, NUMBERS, OVERWRITTEN)          \
    IN(PAST, past, "B", I32, PAST_OF("S"), OPTIONAL)         \
    IN(LEN, len, "B", I32, LENGTH_OF("S"), OPTIONAL)         \
    IN(BIAS, bias, ".. T S", F32, NUMBERS, OPTIONAL)         \
    IN(RELATIVE, relative, "H 2R+1", F32, NUMBERS, OPTIONAL) \
    IN(SINKS, sinks, "H", F32, NUMBERS, OPTIONAL) \
    OUT(Y, y, "B .. T S", F32, 0)
#define TSRI_OPERANDS_rope(IN, OUT)                     \
    IN(X, x, "B T H D", F32, NUMBERS, OVERWRITTEN)      \
    IN(POSITIONS, positions, "B T", I32, POSITION, 0)   \
    IN(INV_FREQ, inv_freq, "rotary/2", F32, NUMBERS, 0) \
    OUT(Y, y, "B T H D", F32, 0)
#define TSRI_OPERANDS_embed(IN, OUT)            \
    IN(TABLE, table, "V C", WEIGHT, NUMBERS, 0) \
    IN(IDS, ids, "..", I32, INDEX_OF("V"), 0)   \
    OUT(Y, y, ".. C", F32, 0)
#define TSRI_OPERANDS_kv_append(IN, OUT)                             \
    IN(STATE, state, "slots G capacity D", FLOATS, NUMBERS, WRITTEN) \
    IN(X, x, "B T G D", F32, NUMBERS, 0)                             \
    IN(PAST, past, "B", I32, PAST_OF("capacity"), 0)                 \
    IN(LEN, len, "B", I32, LENGTH_OF("capacity"), 0)                 \
    IN(SLOT, slot, "B", I32, SLOT_OF("slots"), OPTIONAL)             \
    IN(PAGES, pages, "B pages", I32, SLOT_OF("slots"), OPTIONAL)
#define TSRI_OPERANDS_add TSRI_OPERANDS_binary
#define TSRI_OPERANDS_mul TSRI_OPERANDS_binary
#define TSRI_OPERANDS_scale TSRI_OPERANDS_unary
#define TSRI_OPERANDS_cast(IN, OUT)    \
    IN(X, x, "..", FLOATS, NUMBERS, 0) \
    OUT(Y, y, "..", FLOATS, 0)
#define TSRI_OPERANDS_copy(IN, OUT) \
    IN(X, x, "..", ANY, NUMBERS, 0) \
    OUT(Y, y, "..", ANY, 0)
#define TSRI_OPERANDS_gather(IN, OUT)            \
    IN(X, x, "R C", ANY, NUMBERS, 0)             \
    IN(INDEX, index, "N", I32, INDEX_OF("R"), 0) \
    OUT(Y, y, "N C", ANY, 0)
#define TSRI_OPERANDS_relu TSRI_OPERANDS_unary
#define TSRI_OPERANDS_gelu TSRI_OPERANDS_unary
#define TSRI_OPERANDS_gelu_tanh TSRI_OPERANDS_unary
#define TSRI_OPERANDS_silu TSRI_OPERANDS_unary
#define TSRI_OPERANDS_tanh TSRI_OPERANDS_unary
#define TSRI_OPERANDS_sigmoid TSRI_OPERANDS_unary
#define TSRI_OPERANDS_argmax(IN, OUT) \
    IN(X, x, "R V", F32, NUMBERS, 0)  \
    OUT(Y, y, "R", I32, 0)
#define TSRI_OPERANDS_topk(IN, OUT)      \
    IN(X, x, "R V", F32, NUMBERS, 0)     \
    OUT(VALUES, values, "R k", F32, 0)   \
    OUT(INDICES, indices, "R k", I32, 0) \
    OUT(LSE, lse, "R", F32, ON_REQUEST)
#define TSRI_OPERANDS_sample(IN, OUT)             \
    IN(VALUES, values, "R k", F32, NUMBERS, 0)    \
    IN(INDICES, indices, "R k", I32, POSITION, 0) \
    IN(RATE, rate, "R", F32, POSITIVE, 0)         \
    IN(SETTINGS, settings, "R 4", I32, BITS, 0)   \
    OUT(Y, y, "R", I32, 0)
#define TSRI_OPERANDS_qkv_append(IN, OUT)                               \
    IN(KEYS, keys, "slots G capacity D", FLOATS, NUMBERS, WRITTEN)      \
    IN(VALUES, values, "slots G capacity Dv", FLOATS, NUMBERS, WRITTEN) \
    IN(K, k, "B T G D", F32, NUMBERS, 0)                                \
    IN(V, v, "B T G Dv", F32, NUMBERS, 0)                               \
    IN(PAST, past, "B", I32, PAST_OF("capacity"), 0)                    \
    IN(LEN, len, "B", I32, LENGTH_OF("capacity"), 0)                    \
    IN(SLOT, slot, "B", I32, SLOT_OF("slots"), OPTIONAL)                \
    IN(Q, q, "B T H D", F32, NUMBERS, OPTIONAL)                         \
    IN(POSITIONS, positions, "B T", I32, POSITION, OPTIONAL)            \
    IN(INV_FREQ, inv_freq, "rotary/2", F32, NUMBERS, OPTIONAL)          \
    IN(PAGES, pages, "B pages", I32, SLOT_OF("slots"), OPTIONAL)        \
    OUT(Y, y, "B T H D", F32, ON_REQUEST)
#define TSRI_OPERANDS_gru_cell(IN, OUT)              \
    IN(GATES_X, gates_x, "B T 3E", F32, NUMBERS, 0)  \
    IN(STATE, state, "B E", F32, NUMBERS, OPTIONAL)  \
    IN(W, w, "3E E", FLOATS, NUMBERS, 0)             \
    IN(BIAS, bias, "3E", F32, NUMBERS, 0)            \
    IN(LEN, len, "B", I32, LENGTH_OF("T"), OPTIONAL) \
    OUT(Y, y, "B T E", F32, 0)
#define TSRI_OPERANDS_additive_attention(IN, OUT)    \
    IN(Q, q, "B T A", F32, NUMBERS, 0)               \
    IN(K, k, "J S A", FLOATS, NUMBERS, 0)            \
    IN(V, v, "A", F32, NUMBERS, 0)                   \
    IN(VALUES, values, "J S E", FLOATS, NUMBERS, 0)  \
    IN(LEN, len, "B", I32, LENGTH_OF("S"), OPTIONAL) \
    IN(SLOT, slot, "B", I32, SLOT_OF("J"), OPTIONAL) \
    OUT(Y, y, "B T E", F32, 0)                       \
    OUT(PROBABILITIES, probabilities, "B T S", F32, ON_REQUEST)
#define TSRI_OPERANDS_pool(IN, OUT)                  \
    IN(X, x, "B T C", F32, NUMBERS, 0)               \
    IN(LEN, len, "B", I32, LENGTH_OF("T"), OPTIONAL) \
    OUT(Y, y, "B C", F32, 0)
#define TSRI_OPERANDS_concat(IN, OUT)           \
    IN(X0, x0, ".. C0", F32, NUMBERS, 0)        \
    IN(X1, x1, ".. C1", F32, NUMBERS, 0)        \
    IN(X2, x2, ".. C2", F32, NUMBERS, TRAILING) \
    IN(X3, x3, ".. C3", F32, NUMBERS, TRAILING) \
    OUT(Y, y, ".. C", F32, 0)

#define TSRI_OPERANDS_accumulate(IN, OUT)         \
    IN(STATE, state, "..", F32, NUMBERS, WRITTEN) \
    IN(X, x, "..", F32, NUMBERS, 0)               \
    IN(BETA, beta, "1", F32, NUMBERS, OPTIONAL)
#define TSRI_OPERANDS_matmul_add(IN, OUT)                                     \
    IN(STATE, state, "M N", F32, NUMBERS, WRITTEN)                            \
    IN(A, a, "M K", F32, NUMBERS, 0, EXCHANGED(tsr_matmul_attrs, trans_a))    \
    IN(B, b, "K N", FLOATS, NUMBERS, 0, EXCHANGED(tsr_matmul_attrs, trans_b)) \
    IN(BETA, beta, "1", F32, NUMBERS, OPTIONAL)
#define TSRI_OPERANDS_embed_add(IN, OUT)           \
    IN(STATE, state, "V C", F32, NUMBERS, WRITTEN) \
    IN(IDS, ids, "..", I32, INDEX_OF("V"), 0)      \
    IN(DY, dy, ".. C", F32, NUMBERS, 0)            \
    IN(BETA, beta, "1", F32, NUMBERS, OPTIONAL)
#define TSRI_OPERANDS_sum_rows(IN, OUT) \
    IN(X, x, ".. C", F32, NUMBERS, 0)   \
    OUT(Y, y, "C", F32, 0)
#define TSRI_OPERANDS_norm_grad(IN, OUT)                             \
    IN(X, x, ".. C", F32, NUMBERS, OVERWRITTEN)                      \
    IN(WEIGHT, weight, "C", F32, NUMBERS, 0)                         \
    IN(DY, dy, ".. C", F32, NUMBERS, OVERWRITTEN)                    \
    IN(ADDEND, addend, ".. C", F32, NUMBERS, OPTIONAL | OVERWRITTEN) \
    OUT(DX, dx, ".. C", F32, 0)                                      \
    OUT(STATS, stats, ".. 2", F32, ON_REQUEST)
#define TSRI_OPERANDS_norm_weight_grad(IN, OUT) \
    IN(X, x, ".. C", F32, NUMBERS, 0)           \
    IN(DY, dy, ".. C", F32, NUMBERS, 0)         \
    IN(STATS, stats, ".. 2", F32, NUMBERS, 0)   \
    OUT(DWEIGHT, dweight, "C", F32, 0)          \
    OUT(DBIAS, dbias, "C", F32, ON_REQUEST)
#define TSRI_OPERANDS_activation_grad(IN, OUT)  \
    IN(X, x, "..", F32, NUMBERS, OVERWRITTEN)   \
    IN(DY, dy, "..", F32, NUMBERS, OVERWRITTEN) \
    OUT(DX, dx, "..", F32, 0)
#define TSRI_OPERANDS_glu(IN, OUT)     \
    IN(X, x, ".. 2F", F32, NUMBERS, 0) \
    OUT(Y, y, ".. F", F32, 0)
#define TSRI_OPERANDS_glu_grad(IN, OUT)          \
    IN(X, x, ".. 2F", F32, NUMBERS, OVERWRITTEN) \
    IN(DY, dy, ".. F", F32, NUMBERS, 0)          \
    OUT(DX, dx, ".. 2F", F32, 0)
#define TSRI_OPERANDS_softmax_grad(IN, OUT)     \
    IN(Y, y, "..", F32, NUMBERS, OVERWRITTEN)   \
    IN(DY, dy, "..", F32, NUMBERS, OVERWRITTEN) \
    OUT(DX, dx, "..", F32, 0)
#define TSRI_OPERANDS_attention_grad(IN, OUT)                \
    IN(Q, q, "B T H D", F32, NUMBERS, 0)                     \
    IN(K, k, "B S G D", F32, NUMBERS, 0)                     \
    IN(V, v, "B S G Dv", F32, NUMBERS, 0)                    \
    IN(Y, y, "B T H Dv", F32, NUMBERS, 0)                    \
    IN(LSE, lse, "B H T", F32, NUMBERS, 0)                   \
    IN(DY, dy, "B T H Dv", F32, NUMBERS, 0)                  \
    IN(PAST, past, "B", I32, PAST_OF("S"), OPTIONAL)         \
    IN(LEN, len, "B", I32, CUT_LENGTH_OF("S"), OPTIONAL)     \
    IN(BIAS, bias, "1|B H T S", F32, NUMBERS, OPTIONAL)      \
    IN(RELATIVE, relative, "H 2R+1", F32, NUMBERS, OPTIONAL) \
    OUT(DQ, dq, "B T H D", F32, 0)                           \
    OUT(DK, dk, "B S G D", F32, 0)                           \
    OUT(DV, dv, "B S G Dv", F32, 0)                          \
    OUT(DRELATIVE, drelative, "H 2R+1", F32, ON_REQUEST)
#define TSRI_OPERANDS_gru_cell_grad(IN, OUT)         \
    IN(GATES_X, gates_x, "B T 3E", F32, NUMBERS, 0)  \
    IN(STATE, state, "B E", F32, NUMBERS, OPTIONAL)  \
    IN(W, w, "3E E", FLOATS, NUMBERS, 0)             \
    IN(BIAS, bias, "3E", F32, NUMBERS, 0)            \
    IN(Y, y, "B T E", F32, NUMBERS, 0)               \
    IN(DY, dy, "B T E", F32, NUMBERS, 0)             \
    IN(LEN, len, "B", I32, LENGTH_OF("T"), OPTIONAL) \
    OUT(DGATES_X, dgates_x, "B T 3E", F32, 0)        \
    OUT(DGATES_H, dgates_h, "B T 3E", F32, 0)        \
    OUT(BEFORE, before, "B T E", F32, 0)             \
    OUT(DSTATE, dstate, "B E", F32, ON_REQUEST)
#define TSRI_OPERANDS_additive_attention_grad(IN, OUT)         \
    IN(Q, q, "B T A", F32, NUMBERS, 0)                         \
    IN(K, k, "B S A", F32, NUMBERS, 0)                         \
    IN(V, v, "A", F32, NUMBERS, 0)                             \
    IN(VALUES, values, "B S E", F32, NUMBERS, 0)               \
    IN(PROBABILITIES, probabilities, "B T S", F32, NUMBERS, 0) \
    IN(DY, dy, "B T E", F32, NUMBERS, 0)                       \
    IN(LEN, len, "B", I32, LENGTH_OF("S"), OPTIONAL)           \
    OUT(DQ, dq, "B T A", F32, 0)                               \
    OUT(DK, dk, "B S A", F32, 0)                               \
    OUT(DV, dv, "B A", F32, 0)                                 \
    OUT(DVALUES, dvalues, "B S E", F32, 0)
#define TSRI_OPERANDS_scatter(IN, OUT)           \
    IN(X, x, "R C", ANY, NUMBERS, 0)             \
    IN(INDEX, index, "N", I32, INDEX_OF("R"), 0) \
    IN(DY, dy, "N C", F32, NUMBERS, 0)           \
    OUT(DX, dx, "R C", F32, 0)
#define TSRI_OPERANDS_pool_grad(IN, OUT)             \
    IN(X, x, "B T C", F32, NUMBERS, OVERWRITTEN)     \
    IN(LEN, len, "B", I32, LENGTH_OF("T"), OPTIONAL) \
    IN(DY, dy, "B C", F32, NUMBERS, 0)               \
    OUT(DX, dx, "B T C", F32, 0)
#define TSRI_OPERANDS_cross_entropy(IN, OUT)          \
    IN(LOGITS, logits, ".. V", F32, NUMBERS, 0)       \
    IN(TARGETS, targets, "..", I32, INDEX_OF("V"), 0) \
    OUT(LOSS, loss, "..", F32, 0)                     \
    OUT(LSE, lse, "..", F32, 0)
#define TSRI_OPERANDS_cross_entropy_grad(IN, OUT)                    \
    IN(LOGITS, logits, ".. V", F32, NUMBERS, OVERWRITTEN)            \
    IN(TARGETS, targets, "..", I32, INDEX_OF("V"), 0)                \
    IN(LSE, lse, "..", F32, NUMBERS, 0)                              \
    IN(SCALE, scale, "1", F32, NUMBERS, 0)                           \
    IN(ADDEND, addend, ".. V", F32, NUMBERS, OPTIONAL | OVERWRITTEN) \
    OUT(DLOGITS, dlogits, ".. V", F32, 0)
#define TSRI_OPERANDS_kl_divergence(IN, OUT)                 \
    IN(LOGITS, logits, ".. V", F32, NUMBERS, 0)              \
    IN(TARGETS, targets, "..", I32, INDEX_OF("V"), OPTIONAL) \
    IN(TEACHER, teacher, ".. V", F32, NUMBERS, OPTIONAL)     \
    OUT(LOSS, loss, "..", F32, 0)
#define TSRI_OPERANDS_kl_divergence_grad(IN, OUT)                    \
    IN(LOGITS, logits, ".. V", F32, NUMBERS, OVERWRITTEN)            \
    IN(TARGETS, targets, "..", I32, INDEX_OF("V"), OPTIONAL)         \
    IN(TEACHER, teacher, ".. V", F32, NUMBERS, OPTIONAL)             \
    IN(SCALE, scale, "1", F32, NUMBERS, 0)                           \
    IN(ADDEND, addend, ".. V", F32, NUMBERS, OPTIONAL | OVERWRITTEN) \
    OUT(DLOGITS, dlogits, ".. V", F32, 0)
#define TSRI_OPERANDS_dropout(IN, OUT)        \
    IN(X, x, "..", F32, NUMBERS, OVERWRITTEN) \
    IN(SEED, seed, "4", I32, SEED, 0)         \
    OUT(Y, y, "..", F32, 0)
#define TSRI_OPERANDS_sumsq(IN, OUT)               \
    IN(SUMS, sums, "parts", F32, NUMBERS, WRITTEN) \
    IN(X, x, "..", F32, NUMBERS, 0)
#define TSRI_OPERANDS_adamw(IN, OUT)              \
    IN(P, p, "..", F32, NUMBERS, WRITTEN)         \
    IN(M, m, "..", F32, NUMBERS, WRITTEN)         \
    IN(V, v, "..", F32, POSITIVE, WRITTEN)        \
    IN(GRADIENT, gradient, "..", F32, NUMBERS, 0) \
    IN(RATES, rates, "4", F32, POSITIVE, 0)       \
    IN(ROUNDED, rounded, "..", BF16, NUMBERS, OPTIONAL | WRITTEN)
#define TSRI_OPERANDS_sgd(IN, OUT)                                 \
    IN(P, p, "..", F32, NUMBERS, WRITTEN)                          \
    IN(VELOCITY, velocity, "..", F32, NUMBERS, OPTIONAL | WRITTEN) \
    IN(GRADIENT, gradient, "..", F32, NUMBERS, 0)                  \
    IN(RATES, rates, "4", F32, POSITIVE, 0)                        \
    IN(ROUNDED, rounded, "..", BF16, NUMBERS, OPTIONAL | WRITTEN)
#define TSRI_OPERANDS_expert_linear(IN, OUT)                                    \
    IN(X, x, "R 1|J K", F32, NUMBERS, 0)                                        \
    IN(W, w, "E K N", WEIGHT, NUMBERS, 0, EXCHANGED(tsr_linear_attrs, trans_w)) \
    IN(EXPERTS, experts, "R J", I32, INDEX_OF("E"), 0)                          \
    IN(BIAS, bias, "E N", F32, NUMBERS, OPTIONAL)                               \
    OUT(Y, y, "R J N", F32, 0)
#define TSRI_OPERANDS_expert_glu_linear(IN, OUT)                                     \
    IN(X, x, "R 1|J K", F32, NUMBERS, 0)                                             \
    IN(W, w, "E K 2F", WEIGHT, NUMBERS, 0, EXCHANGED(tsr_glu_linear_attrs, trans_w)) \
    IN(EXPERTS, experts, "R J", I32, INDEX_OF("E"), 0)                               \
    IN(BIAS, bias, "E 2F", F32, NUMBERS, OPTIONAL)                                   \
    OUT(Y, y, "R J F", F32, 0)
#define TSRI_OPERANDS_expert_matmul_add(IN, OUT)       \
    IN(STATE, state, "E M N", F32, NUMBERS, WRITTEN)   \
    IN(A, a, "R 1|J M", F32, NUMBERS, 0)               \
    IN(B, b, "R 1|J N", F32, NUMBERS, 0)               \
    IN(EXPERTS, experts, "R J", I32, INDEX_OF("E"), 0) \
    IN(BETA, beta, "1", F32, NUMBERS, OPTIONAL)
#define TSRI_OPERANDS_topk_grad(IN, OUT)               \
    IN(X, x, "R V", F32, NUMBERS, 0)                   \
    IN(INDICES, indices, "R k", I32, INDEX_OF("V"), 0) \
    IN(DVALUES, dvalues, "R k", F32, NUMBERS, 0)       \
    OUT(DX, dx, "R V", F32, 0)
#define TSRI_OPERANDS_choose_experts(IN, OUT)   \
    IN(SCORES, scores, "R E", F32, NUMBERS, 0)  \
    IN(BIAS, bias, "E", F32, NUMBERS, OPTIONAL) \
    OUT(FACTORS, factors, "R k", F32, 0)        \
    OUT(EXPERTS, experts, "R k", I32, 0)
#define TSRI_OPERANDS_choose_experts_grad(IN, OUT)     \
    IN(SCORES, scores, "R E", F32, NUMBERS, 0)         \
    IN(EXPERTS, experts, "R k", I32, INDEX_OF("E"), 0) \
    IN(FACTORS, factors, "R k", F32, NUMBERS, 0)       \
    IN(DFACTORS, dfactors, "R k", F32, NUMBERS, 0)     \
    OUT(DSCORES, dscores, "R E", F32, 0)
#define TSRI_OPERANDS_distance_scores(IN, OUT)         \
    IN(BY_QUERY, by_query, "B H T P", F32, NUMBERS, 0) \
    IN(BY_KEY, by_key, "B H S P", F32, NUMBERS, 0)     \
    IN(PLACE, place, "2R+1", I32, INDEX_OF("P"), 0)    \
    OUT(Y, y, "B H T S", F32, 0)
#define TSRI_OPERANDS_distance_scores_grad(IN, OUT)    \
    IN(BY_QUERY, by_query, "B H T P", F32, NUMBERS, 0) \
    IN(BY_KEY, by_key, "B H S P", F32, NUMBERS, 0)     \
    IN(PLACE, place, "2R+1", I32, INDEX_OF("P"), 0)    \
    IN(DY, dy, "B H T S", F32, NUMBERS, 0)             \
    OUT(DBY_QUERY, dby_query, "B H T P", F32, 0)       \
    OUT(DBY_KEY, dby_key, "B H S P", F32, 0)
#define TSRI_OPERANDS_attention_sinks_grad(IN, OUT)      \
    IN(SINKS, sinks, "H", F32, NUMBERS, 0)               \
    IN(Y, y, "B T H Dv", F32, NUMBERS, 0)                \
    IN(LSE, lse, "B H T", F32, NUMBERS, 0)               \
    IN(DY, dy, "B T H Dv", F32, NUMBERS, 0)              \
    IN(PAST, past, "B", I32, PAST_OF("T"), OPTIONAL)     \
    IN(LEN, len, "B", I32, CUT_LENGTH_OF("T"), OPTIONAL) \
    OUT(DSINKS, dsinks, "B T H", F32, 0)
/* clang-format on */

/* TSRI_OPERANDS(attention); is enum { Q, K, .. RELATIVE, attention_inputs }; enum { Y, LSE, .. }; */
#define TSRI_OPERANDS(op)                                                               \
    enum { TSRI_OPERANDS_##op(TSRI_OPERANDS_NAME, TSRI_OPERANDS_NOTHING) op##_inputs }; \
    enum { TSRI_OPERANDS_##op(TSRI_OPERANDS_NOTHING, TSRI_OPERANDS_NAME) op##_results }
#define TSRI_OPERANDS_NAME(NAME, ...) NAME,
#define TSRI_OPERANDS_NOTHING(...)

typedef enum tsri_tensor_role {
    TSRI_TENSOR_NUMBERS,  /* any */
    TSRI_TENSOR_POSITIVE, /* the op divides by them or takes their roots */
    TSRI_TENSOR_ODD,      /* factors of numbers that may then be quantised */
    TSRI_TENSOR_INDEX,    /* a place in what it counts; places may repeat */
    TSRI_TENSOR_SLOT,     /* the same, but sequences that write have slots of their own */
    TSRI_TENSOR_PAST,     /* how many positions of a sequence come before this run's */
    TSRI_TENSOR_LENGTH, /* how many positions of a sequence are valid, those of this run included */
    TSRI_TENSOR_CUT_LENGTH, /* the same; a sequence may end before the last position of this run */
    TSRI_TENSOR_POSITION,   /* a token's place in its text: 0 or more */
    TSRI_TENSOR_SEED,       /* any integers */
    TSRI_TENSOR_BITS        /* any bits of a word, those at its upper end, too */
} tsri_tensor_role;

/* What dtypes an operand may have. */
typedef enum tsri_tensor_dtype_rule {
    TSRI_TENSOR_F32,
    TSRI_TENSOR_BF16,
    TSRI_TENSOR_I32,
    TSRI_TENSOR_FLOATS, /* f32, f16, bf16 */
    TSRI_TENSOR_WEIGHT, /* the same, or q8_0 or q4_0 blocks */
    TSRI_TENSOR_ANY
} tsri_tensor_dtype_rule;

typedef enum tsri_tensor_operand_flag {
    TSRI_TENSOR_OPTIONAL = 1,    /* may be missing */
    TSRI_TENSOR_TRAILING = 2,    /* may be left out, with those that follow; else it is there */
    TSRI_TENSOR_WRITTEN = 4,     /* an operand that the op writes: a state */
    TSRI_TENSOR_OVERWRITTEN = 8, /* result 0 may take its memory, where both are packed and have the
                                    same number of bytes */
    TSRI_TENSOR_ON_REQUEST = 16  /* a result that is made only where it is asked for */
} tsri_tensor_operand_flag;

typedef struct tsri_tensor_operand {
    const char *name, *dimensions;
    const char *of; /* the dimension whose places or positions it counts; NULL: none */
    uint8_t role, dtype, flags;
    uint8_t exchanged_by; /* the offset of the attribute that exchanges the last two; 0: none */
} tsri_tensor_operand;

typedef struct tsri_tensor_operands {
    uint32_t n_in, n_out;
    const tsri_tensor_operand *in, *out;
} tsri_tensor_operands;

/* NULL for a number that is not an op of this version. */
const tsri_tensor_operands *tsri_tensor_operands_of(uint32_t op);
/* The fewest inputs that an op may be given. */
uint32_t tsri_tensor_least_inputs(uint32_t op);
/* Whether an input, or a result, has a flag; false for a number that it does not have. */
bool tsri_tensor_input_is(uint32_t op, uint32_t i, tsri_tensor_operand_flag flag);
bool tsri_tensor_result_is(uint32_t op, uint32_t i, tsri_tensor_operand_flag flag);
/* Whether the op writes an input. */
bool tsri_tensor_op_writes(uint32_t op);

/* An operand by its place: the inputs come first, then the results. NULL where it is missing. */
const tsr_tensor *tsri_tensor_operand_at(const tsr_op *op, uint32_t place);
/* Which of an operand's dimensions a word names, as the attributes say; -1: it has none. */
int tsri_tensor_axis(const tsr_op *op, uint32_t place, const char *word);
/* The size that a word names in the first operand that has it; 1 where none has. ".." names the
 * product of the leading dimensions. */
tsr_dim tsri_tensor_size(const tsr_op *op, const char *word);
/* The positions that a sequence may have, where `word` names those that lie one after the other: the same
 * number, or where the op has pages, that of all pages of a sequence. */
tsr_dim tsri_tensor_positions(const tsr_op *op, const char *word);

#endif
