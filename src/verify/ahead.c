/* verify/ahead.c - builds what all cases of a kernel variant need at once: one program instead of
 * one for each case. */
#include "base/error.h"
#include "tensor/convert.h"
#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

static bool keep_others(void *data, const tsri_graph *graph, const tsri_graph_node *node,
                        const tsr_op *op) {
    (void)graph, (void)node;
    return op->id != *(const uint32_t *)data;
}

tsr_status tsri_verify_decompose(tsr_op_id op, tsri_graph **graph) {
    uint32_t fused = (uint32_t)op;
    tsri_graph *lowered = NULL;
    tsr_status status = tsri_graph_lower(*graph, keep_others, &fused, &lowered);
    tsri_graph_destroy(graph);
    for (size_t i = 0; status == TSR_OK && i < tsri_graph_node_count(lowered); i++)
        if (tsri_graph_node_at(lowered, i)->id == op)
            status = tsri_base_fail(TSR_E_UNSUPPORTED, "this form of the op has no decomposition");
    if (status != TSR_OK)
        tsri_graph_destroy(&lowered);
    *graph = lowered;
    return status;
}

/* The case with its sizes as constants, so that cases of different sizes fit into one graph. */
static tsri_case fixed(const tsri_case *c) {
    tsri_case copy = *c;
    for (uint32_t i = 0; i < copy.n_in; i++)
        for (uint32_t d = 0; copy.in[i].present && d < copy.in[i].rank; d++) {
            const int64_t size = tsri_tensor_value(copy.in[i].dim[d], c->sizes);
            copy.in[i].dim[d] = tsri_tensor_const(size > 0 ? size : 1);
        }
    return copy;
}

bool tsri_verify_decomposes(const tsri_case *c) {
    tsri_graph *graph = NULL;
    tsr_status status = tsri_case_graph(c, &c->attrs, &graph);
    if (status == TSR_OK)
        status = tsri_verify_decompose(c->op, &graph);
    tsri_graph_destroy(&graph);
    return status != TSR_E_UNSUPPORTED;
}

/* Weights are zeros, because nothing runs. */
static tsr_status give_zeros(void *data, uint32_t id, int64_t first, int64_t count, tsr_dtype dtype,
                             void *out) {
    const tsri_case *const *cases = data;
    const tsri_case *c = cases[id / TSRI_CASE_MAX_IN];
    const tsri_case_operand *operand = &c->in[id % TSRI_CASE_MAX_IN];
    const int64_t columns = tsri_tensor_value(operand->dim[operand->rank - 1], c->sizes);
    uint64_t bytes = 0;
    (void)first;
    if (tsri_tensor_bytes(dtype, (uint64_t)(count * columns), &bytes))
        memset(out, 0, (size_t)bytes);
    return TSR_OK;
}

static tsr_status plan(const tsri_graph *graph, const tsri_case *const *cases,
                       const tsri_verify_place *place) {
    const tsri_run_options options = {
        .devices = &place->device, .n_devices = 1, .set = place->set, .kernels = place->kernels};
    const tsri_run_source source = {.data = (void *)(uintptr_t)cases, .rows = give_zeros};
    const tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 1, 1, 1, 1}};
    tsri_run_context *context = NULL;
    tsri_run_plan *made;
    tsr_status status = tsri_run_create(&options, &context);
    if (status == TSR_OK)
        status = tsri_run_load(context, graph, &bounds, &source);
    if (status == TSR_OK)
        status = tsri_run_prepare(context, graph, &bounds, &made);
    tsri_run_destroy(&context);
    return status;
}

tsr_status tsri_verify_build_ahead(const tsri_case *const *cases, size_t n,
                                   const tsri_verify_place *place) {
    tsri_graph *graph = NULL;
    TRY(tsri_graph_create(&graph));
    for (size_t i = 0; i < n; i++) {
        if (place->decomposed && !tsri_verify_decomposes(cases[i]))
            continue;
        const tsri_case c = fixed(cases[i]);
        tsri_case_append(graph, &c, &c.attrs, (uint32_t)i * TSRI_CASE_MAX_IN);
    }
    tsr_status status = tsri_graph_status(graph);
    if (status == TSR_OK && n && place->decomposed)
        status = tsri_verify_decompose(cases[0]->op, &graph);
    if (status == TSR_OK)
        status = plan(graph, cases, place);
    tsri_graph_destroy(&graph);
    return status;
}
