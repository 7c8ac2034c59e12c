/* The lists of operands against the shape rules of the ops: operands of the listed dimensions and
 * dtypes are taken and give the listed results; other dtypes, and missing operands that are not
 * optional, are refused. */
#include "graph/graph.h"
#include "graph/ops.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <string.h>

/* A size for each word; ".." is two dimensions, in softmax the heads. Of attention the keys of all pages are
 * as many as a source or a bias has: one page of S. */
static const struct {
    const char *word;
    int64_t size;
} sizes[] = {{"B", 2},    {"1|B", 2}, {"1|J", 5},      {"T", 3},  {"S", 6},     {"H", 4},
             {"G", 2},    {"D", 8},   {"Dv", 6},       {"J", 5},  {"slots", 5}, {"capacity", 9},
             {"2R+1", 7}, {"M", 3},   {"N", 64},       {"K", 32}, {"F", 32},    {"2F", 64},
             {"V", 16},   {"C", 32},  {"rotary/2", 2}, {"R", 7},  {"k", 3},     {"E", 4},
             {"3E", 12},  {"A", 5},   {"parts", 4},    {"C0", 8}, {"C1", 8},    {"C2", 8},
             {"C3", 8},   {"1", 1},   {"2", 2},        {"4", 4},  {"P", 5},     {"pages", 1}};

static int64_t size_of(const char *word, size_t length) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strlen(sizes[i].word) == length && !memcmp(sizes[i].word, word, length))
            return sizes[i].size;
    cr_assert(false, "no size for the word %.*s", (int)length, word);
    return 0;
}

/* The dimensions of an operand; returns their number. */
static uint32_t dims_of(tsr_op_id op, const tsri_tensor_operand *o, bool exchanged,
                        tsr_dim dims[TSR_MAX_RANK]) {
    uint32_t rank = 0;
    for (const char *p = o->dimensions; *p;) {
        const size_t length = strcspn(p, " ");
        if (length == 2 && !memcmp(p, "..", 2)) {
            dims[rank++] = tsri_tensor_const(op == TSR_OP_SOFTMAX ? 4 : 2);
            if (op != TSR_OP_SOFTMAX)
                dims[rank++] = tsri_tensor_const(3);
        } else {
            dims[rank++] = tsri_tensor_const(size_of(p, length));
        }
        p += length + (p[length] == ' ');
    }
    if (exchanged && o->exchanged_by) {
        const tsr_dim last = dims[rank - 1];
        dims[rank - 1] = dims[rank - 2];
        dims[rank - 2] = last;
    }
    return rank;
}

typedef union attributes {
    uint32_t struct_size;
#define X(id, name, attrs) attrs name;
    TSR_OP_LIST(X)
#undef X
} attributes;

static attributes attributes_of(const tsri_graph_op_row *row, bool exchanged) {
    attributes all = {.struct_size = row->attrs_size};
    const tsri_tensor_operands *operands = tsri_tensor_operands_of(row->id);
    for (uint32_t i = 0; i < operands->n_in; i++)
        if (operands->in[i].exchanged_by && exchanged)
            memcpy((char *)&all + operands->in[i].exchanged_by, &(uint32_t){1}, sizeof(uint32_t));
    switch (row->id) {
    case TSR_OP_ROPE:
    case TSR_OP_QKV_APPEND:
        all.rope.rotary = 4;
        break;
    case TSR_OP_ATTENTION:
        all.attention.scale = 1;
        break;
    case TSR_OP_CAST:
        all.cast.dtype = TSR_F16;
        break;
    case TSR_OP_CHOOSE_EXPERTS:
        all.choose_experts.k = 3;
        break;
    case TSR_OP_TOPK:
        all.topk.k = 3;
        break;
    case TSR_OP_CROSS_ENTROPY:
    case TSR_OP_CROSS_ENTROPY_GRAD:
        all.cross_entropy.ignore = -100;
        break;
    case TSR_OP_KL_DIVERGENCE:
    case TSR_OP_KL_DIVERGENCE_GRAD:
        all.kl_divergence.ignore = -100;
        break;
    case TSR_OP_SUMSQ:
        all.sumsq.parts = 4;
        break;
    default:
        break;
    }
    return all;
}

static tsr_dtype usual(const tsri_tensor_operand *o) {
    return o->dtype == TSRI_TENSOR_I32    ? TSR_I32
           : o->dtype == TSRI_TENSOR_BF16 ? TSR_BF16
                                          : TSR_F32;
}

/* What differs from the usual operands of an op. */
typedef struct change {
    bool exchanged;
    int operand; /* -1: none */
    bool missing;
    tsr_dtype dtype;
} change;

/* Builds a graph of the op alone, with every result; whether it was taken. */
static bool takes(const tsri_graph_op_row *row, change c, bool check) {
    const tsri_tensor_operands *o = tsri_tensor_operands_of(row->id);
    const attributes attrs = attributes_of(row, c.exchanged);
    tsri_value in[TSRI_GRAPH_MAX_OPERANDS], out[TSRI_GRAPH_MAX_OPERANDS];
    tsr_dim dims[TSR_MAX_RANK];
    tsri_graph *g;
    cr_assert_eq(tsri_graph_create(&g), TSR_OK);
    for (uint32_t i = 0; i < o->n_in; i++) {
        const bool changed = (int)i == c.operand;
        const uint32_t rank = dims_of(row->id, &o->in[i], c.exchanged, dims);
        in[i] =
            changed && c.missing
                ? TSRI_GRAPH_NONE
                : tsri_graph_leaf(
                      g, o->in[i].flags & TSRI_TENSOR_WRITTEN ? TSR_KIND_STATE : TSR_KIND_WEIGHT, i,
                      o->in[i].name, changed ? c.dtype : usual(&o->in[i]), rank, dims);
    }
    tsri_graph_op(g, row->id, row->attrs_size ? &attrs : NULL, in, o->n_in, UINT32_MAX, out);
    const bool taken = tsri_graph_status(g) == TSR_OK;
    for (uint32_t i = 0; taken && check && i < o->n_out; i++) {
        const tsr_tensor *t = &tsri_graph_value_at(g, out[i])->tensor;
        const uint32_t rank = dims_of(row->id, &o->out[i], false, dims);
        cr_assert_eq(t->rank, rank, "%s: the rank of %s", row->name, o->out[i].name);
        for (uint32_t d = 0; d < rank; d++)
            cr_assert(tsri_tensor_same_dim(t->dim[d], dims[d]), "%s: dimension %u of %s is %lld",
                      row->name, d, o->out[i].name, (long long)t->dim[d].factor);
        const tsr_dtype dtype = row->id == TSR_OP_CAST ? TSR_F16 : usual(&o->out[i]);
        cr_assert_eq(t->dtype, dtype, "%s: the dtype of %s", row->name, o->out[i].name);
    }
    tsri_graph_destroy(&g);
    return taken;
}

static bool allows(const tsri_tensor_operand *o, tsr_dtype dtype) {
    const bool is_float = dtype == TSR_F32 || dtype == TSR_F16 || dtype == TSR_BF16;
    return o->dtype == TSRI_TENSOR_ANY || usual(o) == dtype ||
           (is_float && (o->dtype == TSRI_TENSOR_FLOATS || o->dtype == TSRI_TENSOR_WEIGHT)) ||
           (dtype == TSR_GGML_Q8_0 && o->dtype == TSRI_TENSOR_WEIGHT);
}

/* Both or neither are given, with q. */
static bool in_company(tsr_op_id op, const tsri_tensor_operand *o) {
    return op == TSR_OP_QKV_APPEND &&
           (o->role == TSRI_TENSOR_POSITION || !strcmp(o->name, "inv_freq"));
}

Test(operands, the_lists_are_what_the_ops_take) {
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_I32, TSR_GGML_Q8_0};
    for (size_t r = 0; r < tsri_graph_op_count(); r++) {
        const tsri_graph_op_row *row = tsri_graph_op_at(r);
        const tsri_tensor_operands *o = tsri_tensor_operands_of(row->id);
        for (int exchanged = 0; exchanged < 2; exchanged++)
            cr_assert(takes(row, (change){.exchanged = exchanged, .operand = -1}, true), "%s: %s",
                      row->name, tsr_error_last());
        for (int i = 0; i < (int)o->n_in; i++) {
            const change without = {.exchanged = true, .operand = i, .missing = true};
            if (!in_company(row->id, &o->in[i]))
                cr_assert_eq(takes(row, without, false),
                             (o->in[i].flags & TSRI_TENSOR_OPTIONAL) != 0, "%s without %s",
                             row->name, o->in[i].name);
            for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
                const change other = {.exchanged = true, .operand = i, .dtype = dtypes[d]};
                if (dtypes[d] != TSR_GGML_Q8_0 || o->in[i].dtype != TSRI_TENSOR_ANY)
                    cr_assert_eq(takes(row, other, false), allows(&o->in[i], dtypes[d]),
                                 "%s with %s of dtype %s: %s", row->name, o->in[i].name,
                                 tsri_tensor_dtype_name(dtypes[d]), tsr_error_last());
            }
        }
    }
}
