/* run/work.c - the least work of a plan and of its ops: flops, and bytes. */
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

/* Ops that read rows of a weight that ids name. */
static bool reads_rows(const tsri_graph_node *node) {
    return node->id == TSR_OP_EMBED || node->id == TSR_OP_GATHER;
}

/* What an op reads and writes besides weights; `cost` has the bytes of both. */
static double other_bytes(const tsri_graph_node *node, const tsr_op *op, double cost,
                          const int64_t sizes[TSR_SYMBOLS]) {
    if (node->id == TSR_OP_ATTENTION)
        return tsri_graph_tensor_bytes(op->in[0], sizes) +
               tsri_graph_tensor_bytes(op->out[0], sizes);
    if (reads_rows(node)) /* the cost has these rows alone */
        return cost;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i] && op->in[i]->kind == TSR_KIND_WEIGHT)
            cost -= tsri_graph_tensor_bytes(op->in[i], sizes);
    return cost > 0 ? cost : 0;
}

/* Sums of bytes are short: one for each block. */
static double terms_of(const tsri_graph_node *node, const tsr_op *op) {
    const bool product = node->id == TSR_OP_LINEAR || node->id == TSR_OP_GLU_LINEAR;
    return product && tsri_run_compute_of(node) != TSR_COMPUTE_INT8
               ? (double)op->in[0]->dim[op->in[0]->rank - 1].factor
               : 0;
}

void tsri_run_each_op(const tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                      tsri_run_op_visitor *visit, void *data) {
    const tsri_graph *graph = plan->placed->graph;
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        const tsri_graph_op_row *row = tsri_graph_op_find(node->id);
        tsri_graph_op_store store;
        const tsr_op *op = tsri_graph_as_op(graph, node, &store);
        const tsri_graph_cost cost = row->cost ? row->cost(op, sizes) : (tsri_graph_cost){0};
        visit(data, &(tsri_run_op_work){.op = node->id,
                                        .compute = tsri_run_compute_of(node),
                                        .flops = node->id == TSR_OP_ATTENTION ? 0 : cost.flops,
                                        .weight_bytes =
                                            reads_rows(node)
                                                ? 0
                                                : (uint64_t)((double)weights_read(plan, i, node) *
                                                             share_read(op, sizes)),
                                        .other_bytes = other_bytes(node, op, cost.bytes, sizes),
                                        .terms = terms_of(node, op)});
    }
}

static void add_op(void *data, const tsri_run_op_work *work) {
    tsri_run_work *all = data;
    all->flops[work->compute] += work->flops;
    all->weight_bytes += work->weight_bytes;
}

void tsri_run_work_of(const tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                      tsri_run_work *out) {
    *out = (tsri_run_work){0};
    tsri_run_each_op(plan, sizes, add_op, out);
}
