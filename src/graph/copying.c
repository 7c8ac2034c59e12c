/* graph/copying.c - copies a graph node by node. */
#include "graph/copying.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

tsr_status tsri_graph_copy_begin(const tsri_graph *from, tsri_graph_copying *out) {
    *out = (tsri_graph_copying){.from = from};
    TRY(tsri_graph_create(&out->to));
    TRY(tsri_base_new(tsri_graph_value_count(from), sizeof *out->map, &out->map));
    for (size_t i = 0; i < tsri_graph_value_count(from); i++)
        out->map[i] = TSRI_GRAPH_NONE;
    return TSR_OK;
}

tsri_value tsri_graph_copied(tsri_graph_copying *c, tsri_value x) {
    if (x == TSRI_GRAPH_NONE || c->map[x] != TSRI_GRAPH_NONE)
        return x == TSRI_GRAPH_NONE ? x : c->map[x];
    const tsri_graph_value *v = tsri_graph_value_at(c->from, x);
    if (v->storage == x)
        c->map[x] = tsri_graph_leaf(c->to, (tsr_kind)v->tensor.kind, v->id, v->name,
                                    (tsr_dtype)v->tensor.dtype, v->tensor.rank, v->tensor.dim);
    else
        c->map[x] = tsri_graph_same_view(c->to, tsri_graph_copied(c, v->storage), &v->tensor);
    return c->map[x];
}

void tsri_graph_copy_node(tsri_graph_copying *c, const tsri_graph_node *node) {
    tsri_value in[TSRI_GRAPH_MAX_OPERANDS], out[TSRI_GRAPH_MAX_OPERANDS];
    uint32_t want = 0;
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = tsri_graph_copied(c, node->in[i]);
    for (uint32_t i = 0; i < TSRI_GRAPH_MAX_OPERANDS; i++)
        out[i] = TSRI_GRAPH_NONE;
    for (uint32_t i = 0; i < node->n_out; i++)
        want |= (uint32_t)(node->out[i] != TSRI_GRAPH_NONE) << i;
    tsri_graph_scope(c->to, node->layer, node->label);
    if (tsri_graph_status(c->to) == TSR_OK)
        tsri_graph_op(c->to, node->id, node->attrs, in, node->n_in, want, out);
    for (uint32_t i = 0; i < node->n_out && tsri_graph_status(c->to) == TSR_OK; i++)
        if (node->out[i] != TSRI_GRAPH_NONE)
            c->map[node->out[i]] = out[i];
}

tsr_status tsri_graph_copy_end(tsri_graph_copying *c, tsr_status status, tsri_graph **out) {
    for (size_t i = 0; status == TSR_OK && i < tsri_graph_output_count(c->from); i++) {
        const tsri_graph_output_mark *mark = tsri_graph_output_at(c->from, i);
        tsri_graph_output(c->to, mark->id, mark->name, tsri_graph_copied(c, mark->value));
    }
    return tsri_graph_copy_give(c, status, out);
}

tsr_status tsri_graph_copy_give(tsri_graph_copying *c, tsr_status status, tsri_graph **out) {
    if (status == TSR_OK)
        status = tsri_graph_status(c->to);
    free(c->map);
    if (status != TSR_OK)
        tsri_graph_destroy(&c->to);
    *out = c->to;
    return status;
}
