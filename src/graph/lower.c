/* graph/lower.c - replaces ops that a backend does not offer: by their decompositions, or by the same op
 * on packed copies of its operands. */
#include "base/error.h"
#include "graph/copying.h"
#include "graph/ops.h"
#include "tensor/shape.h"

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

static void decompose(tsri_graph_copying *c, const tsri_graph_node *node) {
    tsri_value in[TSRI_GRAPH_MAX_OPERANDS], out[TSRI_GRAPH_MAX_OPERANDS];
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = tsri_graph_copied(c, node->in[i]);
    for (uint32_t i = 0; i < TSRI_GRAPH_MAX_OPERANDS; i++)
        out[i] = TSRI_GRAPH_NONE;
    tsri_graph_scope(c->to, node->layer, node->label);
    if (tsri_graph_status(c->to) == TSR_OK)
        tsri_graph_op_find(node->id)->decompose(c->to, node, in, out);
    for (uint32_t i = 0; i < node->n_out && tsri_graph_status(c->to) == TSR_OK; i++)
        if (node->out[i] != TSRI_GRAPH_NONE)
            c->map[node->out[i]] = as_storage(c->to, out[i]);
}

static tsr_status pass(const tsri_graph *from, tsri_graph_keep keep, void *data, tsri_graph **out,
                       bool *changed) {
    tsri_graph_copying c;
    const tsr_status status = tsri_graph_copy_begin(from, &c);
    for (size_t i = 0; status == TSR_OK && i < tsri_graph_node_count(from); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(from, i);
        tsri_graph_op_store store;
        const tsr_op *op = tsri_graph_as_op(from, node, &store);
        if (!tsri_graph_op_decomposes(op) || keep(data, from, node, op)) {
            tsri_graph_copy_node(&c, node);
            continue;
        }
        *changed = true;
        decompose(&c, node);
    }
    return tsri_graph_copy_end(&c, status, out);
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

/* Whether an operand is a computed value in a view with gaps. */
static bool has_gaps(const tsri_graph *graph, tsri_value x) {
    if (x == TSRI_GRAPH_NONE)
        return false;
    const tsri_graph_value *v = tsri_graph_value_at(graph, x);
    return v->producer >= 0 && !tsri_tensor_is_packed(&v->tensor);
}

static bool is_packed(const tsri_graph *graph, const tsri_graph_node *node, tsri_graph_packs packs,
                      void *data) {
    tsri_graph_op_store views, copies;
    tsr_tensor packed[TSRI_GRAPH_MAX_OPERANDS];
    bool any = false;
    tsri_graph_as_op(graph, node, &views);
    tsri_graph_as_op(graph, node, &copies);
    for (uint32_t i = 0; i < node->n_in; i++) {
        if (!has_gaps(graph, node->in[i]))
            continue;
        packed[i] = *views.in[i];
        packed[i].offset = 0;
        tsri_tensor_pack(&packed[i]);
        copies.in[i] = &packed[i];
        any = true;
    }
    return any && packs(data, graph, node, &views.op, &copies.op);
}

tsr_status tsri_graph_pack_operands(const tsri_graph *graph, tsri_graph_packs packs, void *data,
                                    tsri_graph **out) {
    tsri_graph_copying c;
    const tsr_status status = tsri_graph_copy_begin(graph, &c);
    for (size_t i = 0; status == TSR_OK && i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        if (is_packed(graph, node, packs, data))
            for (uint32_t j = 0; j < node->n_in; j++)
                if (has_gaps(graph, node->in[j])) {
                    tsri_graph_scope(c.to, node->layer, node->label);
                    const tsri_value view = tsri_graph_copied(&c, node->in[j]);
                    c.map[node->in[j]] = tsri_graph_op1(c.to, TSR_OP_COPY, NULL, &view, 1);
                }
        tsri_graph_copy_node(&c, node);
    }
    return tsri_graph_copy_end(&c, status, out);
}
