/* run/graph.c - the public graph of tessera/graph.h, over graph/ and run/: constant shapes, and
 * arrays that belong to the caller. */
#include "tessera/graph.h"

#include "backend/opened.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "graph/gradient.h"
#include "graph/graph.h"
#include "graph/ops.h"
#include "run/run.h"
#include "tensor/convert.h"
#include "tensor/shape.h"

#include <stdlib.h>
#include <string.h>

struct tsr_graph {
    const tsri_backend_opened_device *opened;
    tsri_graph *graph;
    tsri_run_context *run;
    tsri_run_plan *plan;       /* NULL before the first run */
    tsri_run_binding *inputs;  /* in the order of their ids */
    const void **weights;      /* by id */
    tsri_run_binding *outputs; /* likewise */
    size_t n_inputs, n_weights, n_outputs, inputs_room, weights_room, outputs_room;
    uint32_t n_states;
};

/* Shapes are constants, so every size of a run is 1. */
static const int64_t ones[TSR_SYMBOLS] = {1, 1, 1, 1, 1};
static const tsr_bounds only_ones = {
    .struct_size = sizeof only_ones, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 1, 1, 1, 1}};

tsr_status tsr_graph_create(tsr_device *device, tsr_graph **out) {
    TRY(NEED(out));
    tsr_graph *graph;
    *out = NULL;
    if (!device)
        return tsri_base_fail(TSR_E_ARGUMENT, "the device is NULL; a graph needs one to run on");
    TRY(tsri_base_new(1, sizeof *graph, &graph));
    graph->opened = tsri_backend_opened(device);
    const tsr_status status = tsri_graph_create(&graph->graph);
    if (status != TSR_OK)
        tsr_graph_destroy(&graph);
    *out = graph;
    return status;
}

void tsr_graph_destroy(tsr_graph **graph) {
    tsr_graph *g = *graph;
    if (!g)
        return;
    tsri_run_destroy(&g->run);
    tsri_graph_destroy(&g->graph);
    free(g->inputs);
    free(g->weights);
    free(g->outputs);
    free(g);
    *graph = NULL;
}

tsr_status tsr_graph_status(const tsr_graph *graph) {
    TRY(NEED(graph));
    return tsri_graph_status(graph->graph);
}

/* Whether the graph can still be built; after a run it fails. */
static bool building(tsr_graph *graph) {
    if (graph->plan)
        tsri_graph_fail(graph->graph, TSR_E_STATE,
                        "the graph has run, so nothing can be added to it; build another graph");
    return tsri_graph_status(graph->graph) == TSR_OK;
}

static bool is_value(tsr_graph *graph, const char *what, tsr_value value) {
    if (value >= 0 && (size_t)value < tsri_graph_value_count(graph->graph))
        return true;
    tsri_graph_fail(graph->graph, TSR_E_ARGUMENT, "%s: this graph has no value %d", what,
                    (int)value);
    return false;
}

/* Kernels count elements in 32 bits. */
static bool is_countable(const int64_t *dims, uint32_t rank) {
    int64_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        if (dims[i] < 0 || dims[i] > INT32_MAX || !tsri_base_mul_i64(count, dims[i], &count) ||
            count > INT32_MAX)
            return false;
    return true;
}

/* Converts dims to constants; where they are not a valid shape, the graph fails and the result is
 * false. */
static bool constants(tsr_graph *graph, const char *what, uint32_t rank, const int64_t *dims,
                      tsr_dim out[TSR_MAX_RANK]) {
    if (rank > TSR_MAX_RANK || !is_countable(dims, rank)) {
        tsri_graph_fail(graph->graph, TSR_E_ARGUMENT,
                        "%s: a shape must have at most %d sizes, none of them negative, and at "
                        "most 2^31 - 1 elements",
                        what, TSR_MAX_RANK);
        return false;
    }
    for (uint32_t i = 0; i < rank; i++)
        out[i] = tsri_tensor_const(dims[i]);
    return true;
}

static uint64_t bytes_of(const tsr_graph *graph, tsr_value value) {
    const tsr_tensor *t = &tsri_graph_value_at(graph->graph, value)->tensor;
    uint64_t bytes = 0;
    tsri_tensor_bytes((tsr_dtype)t->dtype, (uint64_t)tsri_tensor_value(tsri_tensor_count(t), ones),
                      &bytes);
    return bytes;
}

/* Whether the caller's array is there; without elements there may be no memory. */
static bool is_given(tsr_graph *graph, const char *what, const char *name, tsr_value value,
                     const void *data) {
    const uint64_t bytes = bytes_of(graph, value);
    if (data || !bytes)
        return true;
    tsri_graph_fail(graph->graph, TSR_E_ARGUMENT,
                    "%s %s: data is NULL; give an array of %llu bytes", what, name,
                    (unsigned long long)bytes);
    return false;
}

/* ---- leaves ---- */

static tsr_value add_leaf(tsr_graph *graph, tsr_kind kind, uint32_t id, const char *name,
                          tsr_dtype dtype, uint32_t rank, const int64_t *dims) {
    tsr_dim sizes[TSR_MAX_RANK];
    if (!building(graph) || !constants(graph, name, rank, dims, sizes))
        return TSR_VALUE_NONE;
    const tsri_tensor_dtype *info = tsri_tensor_dtype_info(dtype);
    if (!info ||
        (info->block > 1 && (kind != TSR_KIND_WEIGHT || !rank || dims[rank - 1] % info->block))) {
        tsri_graph_fail(graph->graph, TSR_E_ARGUMENT, "%s: its elements can't be of dtype %s", name,
                        tsri_tensor_dtype_name(dtype));
        return TSR_VALUE_NONE;
    }
    return tsri_graph_leaf(graph->graph, kind, id, name, dtype, rank, sizes);
}

tsr_value tsr_graph_input(tsr_graph *graph, const char *name, tsr_dtype dtype, uint32_t rank,
                          const int64_t *dims, const void *data) {
    const uint32_t id = (uint32_t)graph->n_inputs;
    const tsr_value value = add_leaf(graph, TSR_KIND_INPUT, id, name, dtype, rank, dims);
    if (value == TSR_VALUE_NONE || !is_given(graph, "input", name, value, data))
        return TSR_VALUE_NONE;
    const tsr_status status =
        tsri_base_grow(&graph->inputs, &graph->inputs_room, id + 1, sizeof *graph->inputs);
    if (status != TSR_OK) {
        tsri_graph_fail(graph->graph, status, "%s", tsri_base_reported());
        return TSR_VALUE_NONE;
    }
    graph->inputs[graph->n_inputs++] =
        (tsri_run_binding){.id = id, .data = (void *)data, .bytes = (size_t)bytes_of(graph, value)};
    return value;
}

tsr_value tsr_graph_weight(tsr_graph *graph, const char *name, tsr_dtype dtype, uint32_t rank,
                           const int64_t *dims, const void *data) {
    const uint32_t id = (uint32_t)graph->n_weights;
    const tsr_value value = add_leaf(graph, TSR_KIND_WEIGHT, id, name, dtype, rank, dims);
    if (value == TSR_VALUE_NONE || !is_given(graph, "weight", name, value, data))
        return TSR_VALUE_NONE;
    const tsr_status status =
        tsri_base_grow(&graph->weights, &graph->weights_room, id + 1, sizeof *graph->weights);
    if (status != TSR_OK) {
        tsri_graph_fail(graph->graph, status, "%s", tsri_base_reported());
        return TSR_VALUE_NONE;
    }
    graph->weights[graph->n_weights++] = data;
    return value;
}

tsr_value tsr_graph_state(tsr_graph *graph, const char *name, tsr_dtype dtype, uint32_t rank,
                          const int64_t *dims) {
    if (rank < 1 || rank > 4) {
        tsri_graph_fail(graph->graph, TSR_E_ARGUMENT, "%s: %u sizes are given; a state has 1 to 4",
                        name, rank);
        return TSR_VALUE_NONE;
    }
    return add_leaf(graph, TSR_KIND_STATE, graph->n_states++, name, dtype, rank, dims);
}

/* ---- ops and views ---- */

/* Attributes may have the size of another version: they are read as far as this version knows
 * them. */
static void add_op(tsr_graph *graph, const tsri_graph_op_row *row, tsr_op_id op, const void *attrs,
                   const tsri_value *in, uint32_t n_in, uint32_t want, tsri_value *out) {
    void *known = NULL;
    tsr_status status = TSR_OK;
    if (row && row->attrs_size && attrs) {
        status = tsri_base_new(1, row->attrs_size, &known);
        if (status == TSR_OK)
            status = tsri_base_adopt(row->name, attrs, known, row->attrs_size);
        if (status == TSR_OK)
            memcpy(known, &row->attrs_size, sizeof row->attrs_size);
    }
    if (status == TSR_OK)
        tsri_graph_op(graph->graph, op, known, in, n_in, want, out);
    else
        tsri_graph_fail(graph->graph, status, "%s", tsri_base_reported());
    free(known);
}

void tsr_graph_op_outputs(tsr_graph *graph, tsr_op_id op, const void *attrs, const tsr_value *in,
                          uint32_t n_in, uint32_t want, tsr_value *out, uint32_t n_out) {
    const tsri_graph_op_row *row = tsri_graph_op_find(op);
    const tsri_tensor_operands *operands = tsri_tensor_operands_of(op);
    tsri_value made[TSRI_GRAPH_MAX_OPERANDS];
    for (uint32_t i = 0; i < n_out; i++)
        out[i] = TSR_VALUE_NONE;
    if (!building(graph))
        return;
    for (uint32_t i = 0; row && i < n_in && i < operands->n_in; i++)
        if (in[i] != TSR_VALUE_NONE && !is_value(graph, row->name, in[i]))
            return;
    add_op(graph, row, op, attrs, in, n_in, want, made);
    if (tsri_graph_status(graph->graph) != TSR_OK)
        return;
    for (uint32_t i = 0; i < operands->n_out; i++) {
        uint32_t rank;
        int64_t dims[TSR_MAX_RANK];
        if (made[i] == TSRI_GRAPH_NONE)
            continue;
        (void)tsr_graph_shape(graph, made[i], &rank, dims);
        if (!is_countable(dims, rank))
            tsri_graph_fail(graph->graph, TSR_E_UNSUPPORTED,
                            "%s: its result would have more than 2^31 - 1 elements", row->name);
    }
    for (uint32_t i = 0; i < n_out && i < operands->n_out; i++)
        out[i] = tsri_graph_status(graph->graph) == TSR_OK ? made[i] : TSR_VALUE_NONE;
}

tsr_value tsr_graph_op(tsr_graph *graph, tsr_op_id op, const void *attrs, const tsr_value *in,
                       uint32_t n_in) {
    tsr_value out;
    tsr_graph_op_outputs(graph, op, attrs, in, n_in, 0, &out, 1);
    return out;
}

tsr_value tsr_graph_reshape(tsr_graph *graph, tsr_value x, uint32_t rank, const int64_t *dims) {
    tsr_dim sizes[TSR_MAX_RANK];
    if (!building(graph) || !is_value(graph, "reshape", x) ||
        !constants(graph, "reshape", rank, dims, sizes))
        return TSR_VALUE_NONE;
    return tsri_graph_reshape(graph->graph, x, rank, sizes);
}

tsr_value tsr_graph_permute(tsr_graph *graph, tsr_value x, const uint32_t *order) {
    return building(graph) && is_value(graph, "permute", x)
               ? tsri_graph_permute(graph->graph, x, order)
               : TSR_VALUE_NONE;
}

tsr_value tsr_graph_slice(tsr_graph *graph, tsr_value x, uint32_t axis, int64_t first,
                          int64_t count) {
    return building(graph) && is_value(graph, "slice", x)
               ? tsri_graph_slice(graph->graph, x, axis, first, count)
               : TSR_VALUE_NONE;
}

tsr_status tsr_graph_shape(const tsr_graph *graph, tsr_value value, uint32_t *rank,
                           int64_t dims[TSR_MAX_RANK]) {
    TRY(NEED(graph));
    TRY(NEED(rank));
    TRY(NEED(dims));
    if (value < 0 || (size_t)value >= tsri_graph_value_count(graph->graph))
        return tsri_base_fail(TSR_E_ARGUMENT, "this graph has no value %d", (int)value);
    const tsr_tensor *t = &tsri_graph_value_at(graph->graph, value)->tensor;
    *rank = t->rank;
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = tsri_tensor_value(t->dim[i], ones);
    return TSR_OK;
}

/* ---- gradients ---- */

/* A gradient's state: f32, of the leaf's shape. */
static tsr_value gradient_state(tsr_graph *graph, tsr_value leaf) {
    uint32_t rank;
    int64_t dims[TSR_MAX_RANK];
    if (!is_value(graph, "gradients", leaf))
        return TSR_VALUE_NONE;
    const tsri_graph_value *v = tsri_graph_value_at(graph->graph, leaf);
    const bool is_leaf = v->producer < 0 && v->storage == leaf &&
                         (v->tensor.kind == TSR_KIND_WEIGHT || v->tensor.kind == TSR_KIND_INPUT);
    if (!is_leaf ||
        (v->tensor.dtype != TSR_F32 && v->tensor.dtype != TSR_F16 && v->tensor.dtype != TSR_BF16)) {
        tsri_graph_fail(graph->graph, TSR_E_ARGUMENT,
                        "gradients: value %d is not a weight or an input of f32, f16 or bf16",
                        (int)leaf);
        return TSR_VALUE_NONE;
    }
    (void)tsr_graph_shape(graph, leaf, &rank, dims);
    return tsr_graph_state(graph, "gradient", TSR_F32, rank, dims);
}

static bool fill_gradients(tsr_graph *graph, const tsr_value *leaves, uint32_t n,
                           const tsr_value *of, const tsr_value *seeds, uint32_t n_of,
                           tsri_graph_parameter *parameters, tsri_graph_seed *seeded) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < i; k++)
            if (leaves[k] == leaves[i])
                tsri_graph_fail(graph->graph, TSR_E_ARGUMENT,
                                "gradients: value %d is asked for twice", (int)leaves[i]);
        parameters[i] = (tsri_graph_parameter){leaves[i], gradient_state(graph, leaves[i])};
    }
    for (uint32_t i = 0; i < n_of; i++) {
        if (!is_value(graph, "gradients", of[i]) || !is_value(graph, "gradients", seeds[i]))
            return false;
        seeded[i] = (tsri_graph_seed){of[i], seeds[i]};
    }
    return tsri_graph_status(graph->graph) == TSR_OK;
}

void tsr_graph_gradients(tsr_graph *graph, const tsr_value *leaves, uint32_t n, const tsr_value *of,
                         const tsr_value *seeds, uint32_t n_of, tsr_value *gradients) {
    static const float nothing_before = 0;
    static const int64_t one = 1;
    tsri_graph_parameter *parameters = NULL;
    tsri_graph_seed *seeded = NULL;
    for (uint32_t i = 0; i < n; i++)
        gradients[i] = TSR_VALUE_NONE;
    if (!building(graph))
        return;
    const tsr_value beta = tsr_graph_input(graph, "beta", TSR_F32, 1, &one, &nothing_before);
    tsr_status status = tsri_base_new(n, sizeof *parameters, &parameters);
    if (status == TSR_OK)
        status = tsri_base_new(n_of, sizeof *seeded, &seeded);
    if (status != TSR_OK)
        tsri_graph_fail(graph->graph, status, "%s", tsri_base_reported());
    else if (fill_gradients(graph, leaves, n, of, seeds, n_of, parameters, seeded)) {
        const tsri_graph_gradients wanted = {.parameters = parameters,
                                             .n_parameters = n,
                                             .seeds = seeded,
                                             .n_seeds = n_of,
                                             .beta = beta};
        tsri_graph_add_gradients(graph->graph, &wanted);
    }
    for (uint32_t i = 0; i < n && tsri_graph_status(graph->graph) == TSR_OK; i++)
        gradients[i] = parameters[i].gradient;
    free(parameters);
    free(seeded);
}

/* ---- running ---- */

void tsr_graph_output(tsr_graph *graph, const char *name, tsr_value value, void *data,
                      size_t bytes) {
    if (!building(graph) || !is_value(graph, name, value))
        return;
    if (bytes != bytes_of(graph, value)) {
        tsri_graph_fail(graph->graph, TSR_E_ARGUMENT,
                        "output %s: room for %zu bytes is given, %llu are needed", name, bytes,
                        (unsigned long long)bytes_of(graph, value));
        return;
    }
    if (!is_given(graph, "output", name, value, data))
        return;
    const uint32_t id = (uint32_t)graph->n_outputs;
    const tsri_graph_value *v = tsri_graph_value_at(graph->graph, value);
    if (v->producer < 0 || !tsri_tensor_is_packed(&v->tensor))
        value = tsri_graph_op1(graph->graph, TSR_OP_COPY, NULL, &value, 1);
    const tsr_status status =
        tsri_base_grow(&graph->outputs, &graph->outputs_room, id + 1, sizeof *graph->outputs);
    if (status != TSR_OK)
        tsri_graph_fail(graph->graph, status, "%s", tsri_base_reported());
    tsri_graph_output(graph->graph, id, name, value);
    if (tsri_graph_status(graph->graph) == TSR_OK)
        graph->outputs[graph->n_outputs++] =
            (tsri_run_binding){.id = id, .data = data, .bytes = bytes};
}

static tsr_status weight_rows(void *data, uint32_t id, int64_t first, int64_t count,
                              tsr_dtype dtype, void *out) {
    const tsr_graph *graph = data;
    uint64_t row = 0;
    for (size_t i = 0; i < tsri_graph_value_count(graph->graph); i++) {
        const tsri_graph_value *v = tsri_graph_value_at(graph->graph, (tsri_value)i);
        if (v->tensor.kind == TSR_KIND_WEIGHT && v->storage == (tsri_value)i && v->id == id)
            tsri_tensor_bytes(
                dtype, (uint64_t)tsri_tensor_value(tsri_tensor_columns(&v->tensor), ones), &row);
    }
    memcpy(out, (const char *)graph->weights[id] + (uint64_t)first * row, (size_t)count * row);
    return TSR_OK;
}

static tsr_status prepare(tsr_graph *graph) {
    const tsri_run_source source = {.data = graph, .rows = weight_rows};
    TRY(tsri_run_load(graph->run, graph->graph, &only_ones, &source));
    return tsri_run_prepare(graph->run, graph->graph, &only_ones, &graph->plan);
}

static tsr_status start(tsr_graph *graph) {
    const tsri_run_options options = {.devices = graph->opened->devices,
                                      .n_devices = graph->opened->n_devices,
                                      .set = graph->opened->set,
                                      .kernels = graph->opened->kernels,
                                      .log = graph->opened->log,
                                      .log_data = graph->opened->log_data};
    if (!graph->n_outputs)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "the graph has no output; ask for at least one value with tsr_graph_output");
    TRY(tsri_run_create(&options, &graph->run));
    const tsr_status status = prepare(graph);
    if (status != TSR_OK) {
        graph->plan = NULL;
        tsri_run_destroy(&graph->run);
    }
    return status;
}

tsr_status tsr_graph_run(tsr_graph *graph) {
    TRY(NEED(graph));
    TRY(tsri_graph_status(graph->graph));
    if (!graph->plan)
        TRY(start(graph));
    return tsri_run_execute(graph->plan, ones, graph->inputs, graph->n_inputs, graph->outputs,
                            graph->n_outputs);
}
