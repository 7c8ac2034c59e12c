/* tests/graph/make.h - short forms for the graphs that tests make. */
#ifndef TESTS_GRAPH_MAKE_H
#define TESTS_GRAPH_MAKE_H

#include "graph/graph.h"
#include "graph/ops.h"
#include "tensor/shape.h"

static const tsr_dim B = {.factor = 1, .symbols = TSR_SYM_B},
                     T = {.factor = 1, .symbols = TSR_SYM_T};

static inline tsr_dim n(int64_t size) {
    return tsri_tensor_const(size);
}

static inline tsri_value input(tsri_graph *g, uint32_t id, uint32_t rank, const tsr_dim *dims) {
    return tsri_graph_leaf(g, TSR_KIND_INPUT, id, "x", TSR_F32, rank, dims);
}

static inline bool contains(const tsri_graph *g, tsr_op_id id) {
    for (size_t i = 0; i < tsri_graph_node_count(g); i++)
        if (tsri_graph_node_at(g, i)->id == id)
            return true;
    return false;
}

/* For tsri_graph_lower: a device that takes no op that can be made of others. */
static inline bool refuse_fused(void *data, const tsri_graph *graph, const tsri_graph_node *node,
                                const tsr_op *op) {
    (void)data;
    (void)graph;
    (void)op;
    return !tsri_graph_op_find(node->id)->decompose;
}

#endif
