/* graph/lower.c - replaces ops that a backend does not offer by their decompositions. */
#include "base/error.h"
#include "base/memory.h"
#include "graph/graph.h"
#include "graph/ops.h"
#include "tensor/shape.h"

#include <stdlib.h>

typedef struct copying {
    const tsri_graph *from;
    tsri_graph *to;
    tsri_value *map; /* value of `from` -> value of `to`, NONE where that has not been made yet */
} copying;

/* Makes leaves and views when they are first asked for; results of ops are in the map by then. */
static tsri_value mapped(copying *c, tsri_value x) {
    if (x == TSRI_GRAPH_NONE || c->map[x] != TSRI_GRAPH_NONE)
        return x == TSRI_GRAPH_NONE ? x : c->map[x];
    const tsri_graph_value *v = tsri_graph_value_at(c->from, x);
    if (v->storage == x)
        c->map[x] = tsri_graph_leaf(c->to, (tsr_kind)v->tensor.kind, v->id, v->name,
                                    (tsr_dtype)v->tensor.dtype, v->tensor.rank, v->tensor.dim);
    else
        c->map[x] = tsri_graph_same_view(c->to, mapped(c, v->storage), &v->tensor);
    return c->map[x];
}

/* Makes the result of a decomposition a whole packed storage, because views of the old one are
 * rebuilt on it. */
static tsri_value as_storage(tsri_graph *graph, tsri_value x) {
    if (x == TSRI_GRAPH_NONE)
        return x;
    const tsri_graph_value *v = tsri_graph_value_at(graph, x);
    if (v->producer >= 0 && v->tensor.offset == 0 && tsri_tensor_is_packed(&v->tensor))
        return x;
    return tsri_graph_op1(graph, TSR_OP_COPY, NULL, &x, 1);
}

static void copy_node(copying *c, const tsri_graph_node *node, bool decompose) {
    const tsri_graph_op_row *row = tsri_graph_op_find(node->id);
    tsri_value in[TSRI_GRAPH_MAX_OPERANDS], out[TSRI_GRAPH_MAX_OPERANDS];
    uint32_t want = 0;
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = mapped(c, node->in[i]);
    for (uint32_t i = 0; i < TSRI_GRAPH_MAX_OPERANDS; i++)
        out[i] = TSRI_GRAPH_NONE;
    for (uint32_t i = 0; i < node->n_out; i++)
        want |= (uint32_t)(node->out[i] != TSRI_GRAPH_NONE) << i;
    tsri_graph_scope(c->to, node->layer, node->label);
    if (tsri_graph_status(c->to) != TSR_OK)
        return;
    if (decompose)
        row->decompose(c->to, node, in, out);
    else
        tsri_graph_op(c->to, node->id, node->attrs, in, node->n_in, want, out);
    for (uint32_t i = 0; i < node->n_out && tsri_graph_status(c->to) == TSR_OK; i++)
        if (node->out[i] != TSRI_GRAPH_NONE)
            c->map[node->out[i]] = decompose ? as_storage(c->to, out[i]) : out[i];
}

static tsr_status pass(const tsri_graph *from, tsri_graph_keep keep, void *data, tsri_graph **out,
                       bool *changed) {
    copying c = {.from = from};
    tsr_status status = tsri_graph_create(&c.to);
    if (status == TSR_OK)
        status = tsri_base_new(tsri_graph_value_count(from), sizeof *c.map, &c.map);
    if (status != TSR_OK)
        goto out;
    for (size_t i = 0; i < tsri_graph_value_count(from); i++)
        c.map[i] = TSRI_GRAPH_NONE;
    for (size_t i = 0; i < tsri_graph_node_count(from); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(from, i);
        tsri_graph_op_store store;
        const tsr_op *op = tsri_graph_as_op(from, node, &store);
        const bool decompose = tsri_graph_op_decomposes(op) && !keep(data, from, node, op);
        *changed |= decompose;
        copy_node(&c, node, decompose);
    }
    for (size_t i = 0; i < tsri_graph_output_count(from); i++) {
        const tsri_graph_output_mark *mark = tsri_graph_output_at(from, i);
        tsri_graph_output(c.to, mark->id, mark->name, mapped(&c, mark->value));
    }
    status = tsri_graph_status(c.to);
out:
    free(c.map);
    if (status != TSR_OK)
        tsri_graph_destroy(&c.to);
    *out = c.to;
    return status;
}

tsr_status tsri_graph_lower(const tsri_graph *graph, tsri_graph_keep keep, void *data,
                            tsri_graph **out) {
    bool changed = false;
    tsri_graph *current, *next;
    TRY(tsri_graph_status(graph));
    TRY(pass(graph, keep, data, &current, &changed));
    while (changed) {
        changed = false;
        const tsr_status status = pass(current, keep, data, &next, &changed);
        tsri_graph_destroy(&current);
        if (status != TSR_OK)
            return status;
        current = next;
    }
    *out = current;
    return TSR_OK;
}
