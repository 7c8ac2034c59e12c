/* run/parts.c - weights in parts: how many rows each has, and the op of a part. */
#include "run/parts.h"

#include "run/context.h"
#include "tensor/convert.h"
#include "tensor/operands.h"
#include "tensor/shape.h"

#include <string.h>

TSRI_OPERANDS(linear);

enum {
    TABLE = 0,
    EXPERT_BIAS = 3
};                  /* of embed; of products by experts, whose weight is linear's W */
enum { TILE = 64 }; /* rows: a multiple of what any layout takes together */

static const uint64_t MOST_ELEMENTS = TSRI_GRAPH_MOST_ELEMENTS;

uint32_t tsri_run_part_operand(tsr_op_id op) {
    return op == TSR_OP_EMBED ? TABLE : W;
}

static bool is_of_experts(tsr_op_id op) {
    return op == TSR_OP_EXPERT_LINEAR || op == TSR_OP_EXPERT_GLU_LINEAR;
}

int64_t tsri_run_part_unit(tsr_op_id op, const tsr_tensor *operand) {
    return is_of_experts(op) ? operand->dim[1].factor : TILE;
}

int64_t tsri_run_part_rows(const tsr_facts *facts, const tsr_tensor *weight, int64_t unit) {
    tsr_layout plain;
    uint64_t tile = 0;
    if (!facts->max_allocation || weight->rank != 2)
        return 0;
    tsri_run_plain_layout(weight, &plain);
    if (!plain.columns || (uint64_t)plain.columns > MOST_ELEMENTS / (2 * TILE) ||
        !tsri_tensor_bytes((tsr_dtype)weight->dtype, (uint64_t)(unit * plain.columns), &tile) ||
        !tile)
        return 0;
    const uint64_t tiles = (uint64_t)((plain.rows + unit - 1) / unit),
                   held = facts->max_allocation / tile,
                   counted = (MOST_ELEMENTS - (uint64_t)(TILE * plain.columns)) /
                             (uint64_t)(unit * plain.columns),
                   most = held < counted ? held : counted;
    if (!most || tiles <= most)
        return 0;
    const uint64_t parts = (tiles + most - 1) / most;
    return (int64_t)((tiles + parts - 1) / parts) * unit;
}

bool tsri_run_is_whole(const tsr_tensor *operand, const tsr_tensor *weight) {
    return !operand->offset && tsri_tensor_is_packed(operand) &&
           tsri_tensor_same_dim(tsri_tensor_columns(operand), tsri_tensor_columns(weight)) &&
           tsri_tensor_same_dim(tsri_tensor_rows(operand), tsri_tensor_rows(weight));
}

bool tsri_run_stays_plain(const tsri_graph *graph, tsri_value value) {
    const tsri_value leaf = tsri_graph_value_at(graph, value)->storage;
    const tsr_tensor *weight = &tsri_graph_value_at(graph, leaf)->tensor;
    if (weight->kind != TSR_KIND_WEIGHT)
        return false;
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        for (uint32_t j = 0; j < node->n_in; j++) {
            const tsri_graph_value *v =
                node->in[j] == TSRI_GRAPH_NONE ? NULL : tsri_graph_value_at(graph, node->in[j]);
            if (v && v->storage == leaf && !tsri_run_is_whole(&v->tensor, weight))
                return true;
        }
    }
    return false;
}

int64_t tsri_run_node_part_rows(const tsr_facts *facts, const tsri_graph *graph,
                                const tsri_graph_node *node) {
    const bool taken =
        node->id == TSR_OP_EMBED || is_of_experts(node->id) ||
        (node->id == TSR_OP_LINEAR && ((const tsr_linear_attrs *)node->attrs)->trans_w);
    int64_t found = 0;
    for (uint32_t i = 0; i < node->n_in; i++) {
        if (node->in[i] == TSRI_GRAPH_NONE)
            continue;
        const tsri_graph_value *operand = tsri_graph_value_at(graph, node->in[i]);
        const tsr_tensor *leaf = &tsri_graph_value_at(graph, operand->storage)->tensor;
        const bool weight = taken && i == tsri_run_part_operand(node->id);
        const int64_t rows =
            leaf->kind != TSR_KIND_WEIGHT ? 0
            : weight
                ? tsri_run_part_rows(facts, leaf, tsri_run_part_unit(node->id, &operand->tensor))
                : tsri_run_part_rows(facts, leaf, TILE);
        if (rows && (!weight || !tsri_run_is_whole(&operand->tensor, leaf)))
            return -1;
        found = rows ? rows : found;
    }
    return found;
}

/* Columns first .. first + count - 1. */
static const tsr_tensor *columns(const tsr_tensor *whole, int64_t first, int64_t count,
                                 tsr_tensor *out) {
    if (!whole)
        return NULL;
    const uint32_t last = whole->rank - 1;
    *out = *whole;
    out->dim[last] = tsri_tensor_const(count);
    out->offset += first * whole->stride[last].factor;
    return out;
}

/* Other rows of y are left to the other parts. */
static void make_embed(const tsr_op *whole, int64_t first, tsri_run_part *out) {
    out->embed = *(const tsr_embed_attrs *)whole->attrs;
    out->embed.struct_size = sizeof out->embed;
    out->embed.first = (uint32_t)first;
    out->embed.whole = (uint32_t)whole->in[TABLE]->dim[0].factor;
    out->op.attrs = &out->embed;
    out->out[0] = whole->out[0];
}

/* Other rows of y are left to the other parts. */
static void make_experts(const tsr_op *whole, int64_t first, int64_t count, tsri_run_part *out) {
    const tsr_tensor *weight = whole->in[W],
                     *bias = whole->n_in > EXPERT_BIAS ? whole->in[EXPERT_BIAS] : NULL;
    const uint32_t of = (uint32_t)weight->dim[0].factor,
                   at = (uint32_t)(first / weight->dim[1].factor);
    const tsr_dim experts = tsri_tensor_const(count / weight->dim[1].factor);
    out->weight.dim[0] = experts;
    if (bias) {
        out->bias = *bias;
        out->bias.dim[0] = experts;
        out->bias.offset += at * bias->stride[0].factor;
        out->in[EXPERT_BIAS] = &out->bias;
    }
    if (whole->id == TSR_OP_EXPERT_LINEAR) {
        out->linear = *(const tsr_linear_attrs *)whole->attrs;
        out->linear.first = at;
        out->linear.whole = of;
        out->op.attrs = &out->linear;
    } else {
        out->glu = *(const tsr_glu_linear_attrs *)whole->attrs;
        out->glu.first = at;
        out->glu.whole = of;
        out->op.attrs = &out->glu;
    }
    out->out[Y] = whole->out[Y];
}

static void make_linear(const tsr_op *whole, int64_t first, int64_t count, tsri_run_part *out) {
    if (whole->n_in > BIAS)
        out->in[BIAS] = columns(whole->in[BIAS], first, count, &out->bias);
    if (whole->n_in > RESIDUAL)
        out->in[RESIDUAL] = columns(whole->in[RESIDUAL], first, count, &out->residual);
    out->out[Y] = columns(whole->out[Y], first, count, &out->result);
}

void tsri_run_part_make(const tsr_op *whole, int64_t first, int64_t count, tsri_run_part *out) {
    const uint32_t weight = tsri_run_part_operand((tsr_op_id)whole->id);
    memset(out, 0, sizeof *out);
    out->op = *whole;
    out->op.in = out->in;
    out->op.out = out->out;
    memcpy(out->in, whole->in, whole->n_in * sizeof *out->in);
    out->weight = *whole->in[weight];
    out->weight.dim[0] = tsri_tensor_const(count);
    out->in[weight] = &out->weight;
    if (whole->id == TSR_OP_EMBED)
        make_embed(whole, first, out);
    else if (is_of_experts((tsr_op_id)whole->id))
        make_experts(whole, first, count, out);
    else
        make_linear(whole, first, count, out);
}
