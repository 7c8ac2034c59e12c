/* run/work.c - the least work of a plan: flops, and bytes of weights. */
#include "graph/ops.h"
#include "run/context.h"
#include "tensor/shape.h"

uint32_t tsri_run_compute_of(const tsri_graph_node *node) {
    const uint32_t compute = node->id == TSR_OP_LINEAR || node->id == TSR_OP_EXPERT_LINEAR
                                 ? ((const tsr_linear_attrs *)node->attrs)->compute
                             : node->id == TSR_OP_GLU_LINEAR || node->id == TSR_OP_EXPERT_GLU_LINEAR
                                 ? ((const tsr_glu_linear_attrs *)node->attrs)->compute
                             : node->id == TSR_OP_MATMUL || node->id == TSR_OP_MATMUL_ADD
                                 ? ((const tsr_matmul_attrs *)node->attrs)->compute
                                 : TSR_COMPUTE_F32;
    return compute < TSRI_RUN_COMPUTES ? compute : TSR_COMPUTE_F32;
}

static uint64_t weights_read(const tsri_run_plan *plan, size_t number,
                             const tsri_graph_node *node) {
    const tsri_graph *graph = plan->placed->graph;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < node->n_in; i++) {
        if (node->in[i] == TSRI_GRAPH_NONE)
            continue;
        const tsri_graph_value *v =
            tsri_graph_value_at(graph, tsri_graph_value_at(graph, node->in[i])->storage);
        const tsri_run_weight *weight =
            v->tensor.kind == TSR_KIND_WEIGHT
                ? tsri_run_weight_find(plan->context, v->id, plan->placed->device[number])
                : NULL;
        for (; weight; weight = tsri_run_weight_next(plan->context, weight))
            bytes += weight->layout.bytes;
    }
    return bytes;
}

/* The share of its weight that an op reads: of experts, at most one for each row that takes it. */
static double share_read(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    if (op->id != TSR_OP_EXPERT_LINEAR && op->id != TSR_OP_EXPERT_GLU_LINEAR)
        return 1;
    const double all = (double)tsri_tensor_value(tsri_tensor_size(op, "E"), sizes),
                 pairs = (double)tsri_tensor_value(tsri_tensor_size(op, "R"), sizes) *
                         (double)tsri_tensor_value(tsri_tensor_size(op, "J"), sizes);
    return pairs < all ? pairs / all : 1;
}

void tsri_run_work_of(const tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                      tsri_run_work *out) {
    const tsri_graph *graph = plan->placed->graph;
    *out = (tsri_run_work){0};
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        const tsri_graph_op_row *row = tsri_graph_op_find(node->id);
        tsri_graph_op_store store;
        const tsr_op *op = tsri_graph_as_op(graph, node, &store);
        if (node->id != TSR_OP_ATTENTION && row->cost)
            out->flops[tsri_run_compute_of(node)] += row->cost(op, sizes).flops;
        if (node->id != TSR_OP_EMBED && node->id != TSR_OP_GATHER)
            out->weight_bytes +=
                (uint64_t)((double)weights_read(plan, i, node) * share_read(op, sizes));
    }
}
