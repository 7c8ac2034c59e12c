/* graph/ops/check.c - rules on shapes, dtypes and attributes that several ops share. */
#include "graph/ops/check.h"

#include "tensor/convert.h"
#include "tensor/quantize.h"

#include <float.h>
#include <math.h>
#include <string.h>

tsr_status tsri_graph_refuse(const char *op, const char *what, const tsr_tensor *tensor,
                             const char *wanted) {
    char shape[96];
    if (!tensor)
        return tsri_base_fail(TSR_E_ARGUMENT, "%s: %s is missing; wanted %s", op, what, wanted);
    return tsri_base_fail(TSR_E_ARGUMENT, "%s: %s is %s %s; wanted %s", op, what,
                          tsri_tensor_dtype_name((tsr_dtype)tensor->dtype),
                          tsri_tensor_print(tensor, shape), wanted);
}

bool tsri_graph_is_f32(const tsr_tensor *tensor) {
    return !tensor || tensor->dtype == TSR_F32;
}

bool tsri_graph_is_float(const tsr_tensor *tensor) {
    return !tensor || tensor->dtype == TSR_F32 || tensor->dtype == TSR_F16 ||
           tensor->dtype == TSR_BF16;
}

bool tsri_graph_is_kv(const tsr_tensor *tensor) {
    if (tsri_graph_is_float(tensor))
        return true;
    const tsr_dim last = tsri_tensor_columns(tensor);
    return tensor->dtype == TSR_GGML_Q8_0 && tensor->rank > 0 && !last.symbols &&
           last.factor % TSRI_TENSOR_BLOCK == 0 &&
           tsri_tensor_is_one(tensor->stride[tensor->rank - 1]);
}

bool tsri_graph_is_numbers(const tsr_tensor *tensor) {
    return tsri_tensor_dtype_info((tsr_dtype)tensor->dtype)->block == 1;
}

bool tsri_graph_is_blocks(const tsr_tensor *tensor) {
    return tsri_tensor_is_kept_blocks((tsr_dtype)tensor->dtype) && tensor->rank == 2 &&
           tsri_tensor_is_one(tensor->stride[1]) && !tensor->dim[1].symbols &&
           tensor->dim[1].factor % tsri_tensor_dtype_info((tsr_dtype)tensor->dtype)->block == 0;
}

tsr_status tsri_graph_check_weight(const char *op, const tsr_tensor *w, const tsr_tensor *x,
                                   bool trans, uint32_t compute, const char *const wanted[2],
                                   tsr_dim *n) {
    const bool blocks = tsri_tensor_is_kept_blocks((tsr_dtype)w->dtype);
    if ((!tsri_graph_is_float(w) && !blocks) || w->rank != 2 ||
        !tsri_tensor_same_dim(w->dim[trans ? 1 : 0], tsri_tensor_columns(x)))
        return tsri_graph_refuse(op, "the weight", w, wanted[trans]);
    if (blocks && (!trans || !tsri_graph_is_blocks(w)))
        return tsri_graph_refuse(op, "the weight", w,
                                 "blocks along K, as [outputs, K], K a multiple of their size");
    if (compute > TSR_COMPUTE_BF16)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s: compute %u is not known to this version", op,
                              compute);
    if (compute == TSR_COMPUTE_INT8 && !blocks)
        return tsri_graph_refuse(op, "the weight of int8 products", w,
                                 "blocks: q8_0, q4_K, mxfp4 ...");
    *n = w->dim[trans ? 0 : 1];
    return TSR_OK;
}

tsr_status tsri_graph_check_compute(const char *op, uint32_t compute) {
    return compute == TSR_COMPUTE_F32 || compute == TSR_COMPUTE_BF16
               ? TSR_OK
               : tsri_base_fail(TSR_E_UNSUPPORTED,
                                "%s: compute %u; it forms products of f32 (0) or bf16 (3) alone",
                                op, compute);
}

tsr_status tsri_graph_check_norm(const char *op, const tsr_tensor *norm, float eps,
                                 const tsr_tensor *x) {
    if (!tsri_graph_is_vector(norm, tsri_tensor_columns(x)))
        return tsri_graph_refuse(op, "the norm", norm, "f32 [K] with x's K");
    if (norm && !(eps >= 0))
        return tsri_base_fail(TSR_E_ARGUMENT, "%s: norm_eps is %g; wanted 0 or more", op,
                              (double)eps);
    return TSR_OK;
}

bool tsri_graph_is_ints(const tsr_tensor *tensor, tsr_dim n) {
    return !tensor || (tensor->dtype == TSR_I32 && tensor->rank == 1 &&
                       tsri_tensor_same_dim(tensor->dim[0], n));
}

bool tsri_graph_is_pages(const tsr_tensor *tensor, tsr_dim B) {
    return !tensor || (tensor->dtype == TSR_I32 && tensor->rank == 2 &&
                       tsri_tensor_same_dim(tensor->dim[0], B));
}

bool tsri_graph_has_rows(tsr_dim rows, tsr_dim B) {
    return rows.symbols != B.symbols || rows.factor >= B.factor;
}

bool tsri_graph_is_vector(const tsr_tensor *tensor, tsr_dim n) {
    return !tensor || (tensor->dtype == TSR_F32 && tensor->rank == 1 &&
                       tsri_tensor_same_dim(tensor->dim[0], n));
}

bool tsri_graph_is_relative(const tsr_tensor *tensor, tsr_dim H) {
    return !tensor || (tensor->dtype == TSR_F32 && tensor->rank == 2 &&
                       tsri_tensor_same_dim(tensor->dim[0], H) && !tensor->dim[1].symbols &&
                       tensor->dim[1].factor % 2 == 1);
}

bool tsri_graph_same_shape(const tsr_tensor *a, const tsr_tensor *b) {
    bool same = a->rank == b->rank;
    for (uint32_t i = 0; same && i < a->rank; i++)
        same = tsri_tensor_same_dim(a->dim[i], b->dim[i]);
    return same;
}

bool tsri_graph_broadcasts(const tsr_tensor *tensor, const tsr_tensor *to) {
    bool fits = !tensor || tensor->rank <= to->rank;
    for (uint32_t i = 1; tensor && fits && i <= tensor->rank; i++) {
        const tsr_dim size = tensor->dim[tensor->rank - i];
        fits = tsri_tensor_is_one(size) || tsri_tensor_same_dim(size, to->dim[to->rank - i]);
    }
    return fits;
}

tsr_dim tsri_graph_counted_keys(tsr_dim keys, tsr_dim T) {
    if (keys.symbols & T.symbols)
        keys.symbols = (keys.symbols & ~T.symbols) | tsri_tensor_symbol(TSR_SYM_S).symbols;
    return keys;
}

bool tsri_graph_is_score_bias(const tsr_tensor *tensor, const tsr_tensor *q, tsr_dim keys) {
    const tsr_tensor scores = {
        .rank = 4,
        .dim = {q->dim[0], q->dim[2], q->dim[1], tsri_graph_counted_keys(keys, q->dim[1])}};
    return !tensor || (tensor->dtype == TSR_F32 && tensor->rank == 4 &&
                       tsri_graph_broadcasts(tensor, &scores));
}

void tsri_graph_shape_like(tsr_tensor *out, tsr_dtype dtype, const tsr_tensor *like, tsr_dim last) {
    out->dtype = dtype;
    out->rank = like->rank;
    memcpy(out->dim, like->dim, sizeof out->dim);
    if (out->rank)
        out->dim[out->rank - 1] = last;
}

const char *tsri_graph_input_name(tsr_op_id op, uint32_t i) {
    return tsri_tensor_operands_of(op)->in[i].name;
}

const tsr_tensor *tsri_graph_operand(const tsri_graph_signature *signature, uint32_t i) {
    return i < signature->n_in ? signature->in[i] : NULL;
}

tsr_status tsri_graph_infer_unary(tsri_graph_signature *s) {
    if (!tsri_graph_is_f32(s->in[0]))
        return tsri_graph_refuse("elementwise", "x", s->in[0], "f32");
    tsri_graph_shape_like(&s->out[0], TSR_F32, s->in[0], tsri_tensor_columns(s->in[0]));
    return TSR_OK;
}

tsr_status tsri_graph_infer_binary(tsri_graph_signature *s) {
    const tsr_tensor *a = s->in[0], *b = s->in[1];
    if (!tsri_graph_is_f32(a) || !tsri_graph_is_f32(b) || b->rank > a->rank)
        return tsri_graph_refuse("elementwise", "b", b, "f32 of no more dimensions than a");
    if (!tsri_graph_broadcasts(b, a))
        return tsri_graph_refuse("elementwise", "b", b, "sizes equal to a's, or 1");
    tsri_graph_shape_like(&s->out[0], TSR_F32, a, tsri_tensor_columns(a));
    return TSR_OK;
}

double tsri_graph_elements(const tsr_tensor *tensor, const int64_t sizes[TSR_SYMBOLS]) {
    double n = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        n *= (double)tsri_tensor_value(tensor->dim[i], sizes);
    return n;
}

double tsri_graph_norm_flops(const tsr_op *op, uint32_t norm, const int64_t sizes[TSR_SYMBOLS]) {
    return op->n_in > norm && op->in[norm] ? 4 * tsri_graph_elements(op->in[0], sizes) : 0;
}

double tsri_graph_seen_pairs(const tsr_attention_attrs *attrs, const tsr_tensor *q,
                             const tsr_tensor *k, const int64_t sizes[TSR_SYMBOLS]) {
    const double T = (double)tsri_tensor_value(q->dim[1], sizes);
    double seen = (double)tsri_tensor_value(k->dim[1], sizes);
    if (attrs->causal && T > 1)
        seen -= (T - 1) / 2;
    const double sides = attrs->causal ? attrs->window : 2 * (double)attrs->window - 1;
    if (attrs->window && seen > sides)
        seen = sides;
    return seen * tsri_graph_elements(q, sizes) / (double)q->dim[3].factor;
}

double tsri_graph_tensor_bytes(const tsr_tensor *tensor, const int64_t sizes[TSR_SYMBOLS]) {
    const tsri_tensor_dtype *type =
        tensor ? tsri_tensor_dtype_info((tsr_dtype)tensor->dtype) : NULL;
    return type ? tsri_graph_elements(tensor, sizes) * type->bytes / type->block : 0;
}

double tsri_graph_bytes(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    double all = 0;
    for (uint32_t i = 0; i < op->n_in; i++)
        all += tsri_graph_tensor_bytes(op->in[i], sizes);
    for (uint32_t i = 0; i < op->n_out; i++)
        all += tsri_graph_tensor_bytes(op->out[i], sizes);
    return all;
}

tsri_graph_cost tsri_graph_cost_unary(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = tsri_graph_elements(op->out[0], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

tsr_status tsri_graph_check_loss(const char *op, int32_t ignore, float label_smoothing) {
    if (ignore >= 0)
        return tsri_base_fail(TSR_E_ARGUMENT, "%s: ignore is %d; wanted a negative number", op,
                              (int)ignore);
    if (!(label_smoothing >= 0 && label_smoothing < 1))
        return tsri_base_fail(TSR_E_ARGUMENT, "%s: label smoothing is %g; wanted 0 <= e < 1", op,
                              (double)label_smoothing);
    return TSR_OK;
}

tsr_status tsri_graph_check_divergence(const char *op, const tsr_kl_divergence_attrs *attrs,
                                       bool teacher) {
    const float t = attrs->temperature;
    if (!(t >= 0 && t <= FLT_MAX))
        return tsri_base_fail(TSR_E_ARGUMENT, "%s: temperature is %g; wanted a number above 0", op,
                              (double)t);
    if (!teacher && t != 0 && t != 1)
        return tsri_base_fail(TSR_E_ARGUMENT, "%s: temperature is %g; without a teacher it is 1",
                              op, (double)t);
    return tsri_graph_check_loss(op, attrs->ignore, 0);
}

tsr_status tsri_graph_check_activation(const char *op, uint32_t activation) {
    if (activation <= TSR_ACT_SIGMOID)
        return TSR_OK;
    return tsri_base_fail(TSR_E_UNSUPPORTED, "%s: activation %u is not known to this version", op,
                          activation);
}

tsr_status tsri_graph_check_gates(const char *op, const tsr_activation_attrs *form) {
    if (!(form->limit >= 0) || !isfinite(form->alpha) || !isfinite(form->shift))
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "%s: limit is %g, alpha %g and shift %g; wanted a limit of 0 (none) or "
            "more, and numbers",
            op, (double)form->limit, (double)form->alpha, (double)form->shift);
    return tsri_graph_check_activation(op, form->activation);
}

tsr_activation_attrs tsri_graph_gates_of(const tsr_glu_linear_attrs *attrs) {
    return (tsr_activation_attrs){.struct_size = sizeof(tsr_activation_attrs),
                                  .activation = attrs->activation,
                                  .limit = attrs->limit,
                                  .alpha = attrs->alpha,
                                  .shift = attrs->shift};
}

static bool same_dims(const tsr_tensor *a, const tsr_tensor *b, uint32_t n) {
    bool same = true;
    for (uint32_t i = 0; i < n && same; i++)
        same = tsri_tensor_same_dim(a->dim[i], b->dim[i]);
    return same;
}

bool tsri_graph_is_number(const tsr_tensor *tensor) {
    return tsri_graph_is_vector(tensor, tsri_tensor_const(1));
}

bool tsri_graph_is_like(const tsr_tensor *tensor, const tsr_tensor *like) {
    return !tensor || (tensor->dtype == TSR_F32 && tensor->rank == like->rank &&
                       same_dims(tensor, like, like->rank));
}

bool tsri_graph_is_by_row(const tsr_tensor *tensor, tsr_dtype dtype, const tsr_tensor *like) {
    return !tensor || (tensor->dtype == (uint32_t)dtype && tensor->rank + 1 == like->rank &&
                       same_dims(tensor, like, like->rank - 1));
}

void tsri_graph_shape_of_rows(tsr_tensor *out, tsr_dtype dtype, const tsr_tensor *like) {
    out->dtype = dtype;
    out->rank = like->rank - 1;
    for (uint32_t i = 0; i + 1 < like->rank; i++)
        out->dim[i] = like->dim[i];
}

tsr_status tsri_graph_check_rounded(const char *op, const tsr_tensor *rounded,
                                    const tsr_tensor *p) {
    if (!rounded || (rounded->dtype == TSR_BF16 && rounded->rank == p->rank &&
                     same_dims(rounded, p, p->rank) && tsri_tensor_is_packed(rounded)))
        return TSR_OK;
    return tsri_graph_refuse(op, "rounded", rounded, "bf16 of p's shape, packed");
}
