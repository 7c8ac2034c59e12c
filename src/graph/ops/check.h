/* graph/ops/check.h - checks that the shape rules of several ops share. */
#ifndef TSRI_GRAPH_OPS_CHECK_H
#define TSRI_GRAPH_OPS_CHECK_H

#include "base/error.h"
#include "graph/ops.h"
#include "tensor/shape.h"

/* Fails with "<op>: <what> is <shape> <dtype>; <wanted>". */
tsr_status tsri_graph_refuse(const char *op, const char *what, const tsr_tensor *tensor,
                             const char *wanted);

/* Whether an operand is f32; has a dtype of weights (f32, f16, bf16); is an int32 vector [n].
 * Missing operands pass. */
bool tsri_graph_is_f32(const tsr_tensor *tensor);
bool tsri_graph_is_float(const tsr_tensor *tensor);
/* Whether it has a dtype of keys and values: a float, or q8_0 in whole blocks along its last dimension. */
bool tsri_graph_is_kv(const tsr_tensor *tensor);
/* Whether each element has a place of its own: no blocks. */
bool tsri_graph_is_numbers(const tsr_tensor *tensor);
/* Whether it is a matrix of whole blocks along its last dimension, of a type that weights stay in. */
bool tsri_graph_is_blocks(const tsr_tensor *tensor);
/* Checks the weight of a linear op, [N,K] (trans) or [K,N] with x's K, and its compute dtype; *n
 * becomes N. `wanted` names both shapes: [0] is that without trans. */
tsr_status tsri_graph_check_weight(const char *op, const tsr_tensor *w, const tsr_tensor *x,
                                   bool trans, uint32_t compute, const char *const wanted[2],
                                   tsr_dim *n);
/* Checks the compute dtype of an op that forms products of its inputs alone. */
tsr_status tsri_graph_check_compute(const char *op, uint32_t compute);
/* Checks the norm of a linear op, if it has one: f32 [K] with x's K, and eps of 0 or more. */
tsr_status tsri_graph_check_norm(const char *op, const tsr_tensor *norm, float eps,
                                 const tsr_tensor *x);
/* Checks the activation of a gated op, and its limit, alpha and shift. */
tsr_status tsri_graph_check_gates(const char *op, const tsr_activation_attrs *form);
/* The attributes of the glu that follows the products of glu_linear or expert_glu_linear. */
tsr_activation_attrs tsri_graph_gates_of(const tsr_glu_linear_attrs *attrs);
bool tsri_graph_is_ints(const tsr_tensor *tensor, tsr_dim n);
/* Whether they are the pages of B sequences: i32 [B,pages]. */
bool tsri_graph_is_pages(const tsr_tensor *tensor, tsr_dim B);
/* Whether each of B sequences has a row of its own among `rows`, as far as both are known. */
bool tsri_graph_has_rows(tsr_dim rows, tsr_dim B);
/* Whether it is a table that positions add to the scores of H heads: f32 [H,2R+1]. */
bool tsri_graph_is_relative(const tsr_tensor *tensor, tsr_dim H);
bool tsri_graph_is_vector(const tsr_tensor *tensor, tsr_dim n); /* f32 [n] */
bool tsri_graph_is_number(const tsr_tensor *tensor);            /* f32 [1] */
/* Whether it is f32 in the shape of `like`; in a given dtype with one element for each row of
 * `like`. Missing operands pass. */
bool tsri_graph_is_like(const tsr_tensor *tensor, const tsr_tensor *like);
bool tsri_graph_is_by_row(const tsr_tensor *tensor, tsr_dtype dtype, const tsr_tensor *like);

/* Whether it can be repeated to the shape of `to`: it has no more dimensions, and its sizes, aligned at the
 * last one, are equal or 1. Missing operands pass. */
bool tsri_graph_broadcasts(const tsr_tensor *tensor, const tsr_tensor *to);
/* A number of keys, of which there are as many as queries where it has T's symbol, counted as S in its
 * place: see tsri_graph_as_keys. */
tsr_dim tsri_graph_counted_keys(tsr_dim keys, tsr_dim T);
/* Whether it is a bias of the scores of q with so many keys: f32 [B,H,T,S], where sizes of 1 are repeated.
 * Missing operands pass. */
bool tsri_graph_is_score_bias(const tsr_tensor *tensor, const tsr_tensor *q, tsr_dim keys);

/* Whether rank and sizes are the same. */
bool tsri_graph_same_shape(const tsr_tensor *a, const tsr_tensor *b);

/* out = dtype, the dims of `like` with the last one replaced by `last`. */
void tsri_graph_shape_like(tsr_tensor *out, tsr_dtype dtype, const tsr_tensor *like, tsr_dim last);

/* out = dtype, one element for each row of `like`. */
void tsri_graph_shape_of_rows(tsr_tensor *out, tsr_dtype dtype, const tsr_tensor *like);

/* The name of an op's input, for messages. */
const char *tsri_graph_input_name(tsr_op_id op, uint32_t i);
/* The operand, or NULL where it is missing. */
const tsr_tensor *tsri_graph_operand(const tsri_graph_signature *signature, uint32_t i);

/* How many pairs of a query, of any head, and a key visible to it there are in the batch. */
double tsri_graph_seen_pairs(const tsr_attention_attrs *attrs, const tsr_tensor *q,
                             const tsr_tensor *k, const int64_t sizes[TSR_SYMBOLS]);

/* y = f(x): y is f32 in the shape of x; its cost is `flops` for each element. */
tsr_status tsri_graph_infer_unary(tsri_graph_signature *signature);
tsri_graph_cost tsri_graph_cost_unary(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]);
/* y = a (op) b, b broadcast to a. */
tsr_status tsri_graph_infer_binary(tsri_graph_signature *signature);

/* The bytes of all operands and results, each counted once; the elements of one operand. */
double tsri_graph_bytes(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]);
double tsri_graph_elements(const tsr_tensor *tensor, const int64_t sizes[TSR_SYMBOLS]);
/* What the norm of a linear op's x costs; 0 where operand number `norm` is missing. */
double tsri_graph_norm_flops(const tsr_op *op, uint32_t norm, const int64_t sizes[TSR_SYMBOLS]);

/* Refuses an `ignore` that could be a target, and smoothing outside 0 <= e < 1. */
tsr_status tsri_graph_check_loss(const char *op, int32_t ignore, float label_smoothing);
/* The same for a divergence; also refuses a temperature that is not above 0, and one other than 1
 * without a teacher. */
tsr_status tsri_graph_check_divergence(const char *op, const tsr_kl_divergence_attrs *attrs,
                                       bool teacher);
/* Checks the rounded copy of p that an optimizer writes for products: bf16 of p's shape, packed, or
 * missing. */
tsr_status tsri_graph_check_rounded(const char *op, const tsr_tensor *rounded, const tsr_tensor *p);
/* Refuses a number that is not a tsr_activation. */
tsr_status tsri_graph_check_activation(const char *op, uint32_t activation);

/* ---- gradients that several ops share ---- */

/* Fails for a linear op with a norm, which has no gradient, and gives true. */
bool tsri_graph_refuse_normed(tsri_graph_backward *backward, const tsri_graph_node *node,
                              uint32_t norm);

/* Gives d to a value that was broadcast to d's shape, summed over the dimensions that the value is
 * repeated along. */
void tsri_graph_give_broadcast(tsri_graph_backward *backward, tsri_value value, tsri_value d);
/* dy * act'(x) */
tsri_value tsri_graph_activation_gradient(tsri_graph_backward *backward, uint32_t activation,
                                          tsri_value x, tsri_value dy);
/* Gives x (in[0]), the weight (in[1]) and the bias (in[2]) of a matrix product their gradients from
 * dz, that of x w + bias, by products of `compute`. */
void tsri_graph_linear_gradient(tsri_graph_backward *backward, const tsri_graph_node *node,
                                bool trans_w, uint32_t compute, tsri_value dz);
/* The tsr_compute of the products that a linear op of `compute` consists of in matmul's terms: bf16, or
 * f32 for all others. */
uint32_t tsri_graph_matmul_compute(uint32_t compute);
/* Gives weight and bias their gradients; returns addend + the gradient of x. */
tsri_value tsri_graph_norm_gradient(tsri_graph_backward *backward, tsr_norm norm,
                                    const tsr_norm_attrs *attrs, tsri_value x, tsri_value weight,
                                    tsri_value bias, tsri_value dy, tsri_value addend);

#endif
