/* cases/graph.c - the graph that computes a case: its leaves, views of them, its op. */
#include "cases/cases.h"

#include "base/error.h"
#include "graph/ops.h"
#include "tensor/quantize.h"

/* Operand i as the op reads it: a leaf, or a view of one. */
static tsri_value operand_value(tsri_graph *graph, const tsri_case *c, uint32_t i, uint32_t id) {
    static const char *const names[TSRI_CASE_MAX_IN] = {"in0", "in1", "in2", "in3", "in4", "in5",
                                                        "in6", "in7", "in8", "in9", "in10"};
    const tsri_case_operand *operand = &c->in[i];
    if (!operand->present)
        return TSRI_GRAPH_NONE;
    tsr_dim dims[TSR_MAX_RANK];
    tsri_case_leaf_dims(operand, dims);
    tsri_value x =
        tsri_graph_leaf(graph, operand->kind, id, names[i], operand->dtype, operand->rank, dims);
    if (operand->view == TSRI_CASE_SLICED)
        x = tsri_graph_slice(graph, x, operand->rank - 1, TSRI_CASE_MARGIN,
                             operand->dim[operand->rank - 1].factor);
    if (operand->view == TSRI_CASE_AMONG)
        x = tsri_graph_slice(graph, x, operand->rank - 2, TSRI_CASE_MARGIN,
                             operand->dim[operand->rank - 2].factor);
    if (operand->view == TSRI_CASE_SWAPPED) {
        uint32_t order[TSR_MAX_RANK] = {0, 1, 2, 3, 4, 5};
        const uint32_t a = operand->rank > 2 ? operand->rank - 3 : 0;
        order[a] = a + 1;
        order[a + 1] = a;
        x = tsri_graph_permute(graph, x, order);
    }
    return x;
}

/* A state as an output: as it is, or blocks as the numbers that they hold. */
static tsri_value read_state(tsri_graph *graph, tsri_value state) {
    const tsr_cast_attrs to_f32 = {.struct_size = sizeof to_f32, .dtype = TSR_F32};
    const bool blocks =
        tsri_tensor_is_kept_blocks((tsr_dtype)tsri_graph_value_at(graph, state)->tensor.dtype);
    return blocks ? tsri_graph_op1(graph, TSR_OP_CAST, &to_f32, &state, 1)
                  : tsri_graph_op1(graph, TSR_OP_COPY, NULL, &state, 1);
}

void tsri_case_append(tsri_graph *graph, const tsri_case *c, const tsri_case_attrs *attrs,
                      uint32_t first_id) {
    static const char *const names[TSRI_CASE_MAX_OUT] = {"out0", "out1", "out2", "out3"};
    tsri_value in[TSRI_CASE_MAX_IN], results[TSRI_GRAPH_MAX_OPERANDS];
    for (int i = 0; i < TSRI_GRAPH_MAX_OPERANDS; i++)
        results[i] = TSRI_GRAPH_NONE;
    for (uint32_t i = 0; i < c->n_in; i++)
        in[i] = operand_value(graph, c, i, first_id + i);
    if (c->reads_state) { /* the states first, then the result of the op */
        tsri_value made = TSRI_GRAPH_NONE;
        int n = 0;
        tsri_graph_op(graph, c->op, attrs->struct_size ? attrs : NULL, in, c->n_in, c->want, &made);
        for (uint32_t i = 0; i < c->n_in; i++)
            if (tsri_tensor_input_is(c->op, i, TSRI_TENSOR_WRITTEN) && in[i] != TSRI_GRAPH_NONE)
                results[n++] = read_state(graph, in[i]);
        results[n] = made;
    } else {
        tsri_graph_op(graph, c->op, attrs->struct_size ? attrs : NULL, in, c->n_in, c->want,
                      results);
    }
    for (uint32_t i = 0; i < TSRI_CASE_MAX_OUT; i++)
        if (results[i] != TSRI_GRAPH_NONE)
            tsri_graph_output(graph, first_id + i, names[i], results[i]);
}

tsr_status tsri_case_graph(const tsri_case *c, const tsri_case_attrs *attrs, tsri_graph **out) {
    tsri_graph *graph;
    TRY(tsri_graph_create(&graph));
    tsri_case_append(graph, c, attrs, 0);
    const tsr_status status = tsri_graph_status(graph);
    if (status != TSR_OK)
        tsri_graph_destroy(&graph);
    *out = graph;
    return status;
}

void tsri_case_bounds(const tsri_case *c, tsr_bounds *bounds) {
    *bounds = (tsr_bounds){.struct_size = sizeof *bounds};
    for (int i = 0; i < TSR_SYMBOLS; i++) {
        bounds->lowest[i] = c->sizes[i];
        bounds->highest[i] =
            c->sizes[i] > 1 ? c->sizes[i] : 1; /* a plan for sizes of 0 is made for 1 */
        if (c->most[i] > bounds->highest[i])
            bounds->highest[i] = c->most[i];
    }
}
