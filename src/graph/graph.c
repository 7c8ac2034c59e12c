/* graph/graph.c - the builder: leaves, views, ops. */
#include "graph/graph.h"

#include "base/error.h"
#include "base/memory.h"
#include "graph/ops.h"
#include "tensor/convert.h"
#include "tensor/shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tsri_graph {
    tsri_graph_value *values;
    tsri_graph_node *nodes;
    tsri_graph_output_mark *outputs;
    size_t n_values, n_nodes, n_outputs, values_room, nodes_room, outputs_room;
    char scope[64];
    int layer;
    tsr_status status;
    char sentence[512];
};

tsr_status tsri_graph_create(tsri_graph **out) {
    TRY(tsri_base_new(1, sizeof **out, out));
    (*out)->layer = -1;
    return TSR_OK;
}

void tsri_graph_destroy(tsri_graph **graph) {
    tsri_graph *g = *graph;
    if (!g)
        return;
    for (size_t i = 0; i < g->n_values; i++)
        free((char *)g->values[i].name);
    for (size_t i = 0; i < g->n_nodes; i++)
        free(g->nodes[i].attrs);
    for (size_t i = 0; i < g->n_outputs; i++)
        free((char *)g->outputs[i].name);
    free(g->values);
    free(g->nodes);
    free(g->outputs);
    free(g);
    *graph = NULL;
}

tsr_status tsri_graph_status(const tsri_graph *graph) {
    if (graph->status != TSR_OK)
        tsri_base_report(graph->status, graph->sentence);
    return graph->status;
}

void tsri_graph_fail(tsri_graph *graph, tsr_status status, const char *format, ...) {
    if (graph->status != TSR_OK)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(graph->sentence, sizeof graph->sentence, format, args);
    va_end(args);
    graph->status = status;
}

/* Makes the graph fail with the sentence that is in the record. */
static void fail_as_reported(tsri_graph *graph, tsr_status status) {
    tsri_graph_fail(graph, status, "%s", tsri_base_reported());
}

static bool usable(tsri_graph *graph, tsri_value x) {
    if (graph->status == TSR_OK && (x < 0 || (size_t)x >= graph->n_values))
        tsri_graph_fail(graph, TSR_E_ARGUMENT,
                        "a view or an op was given value %d, which the graph does not have",
                        (int)x);
    return graph->status == TSR_OK;
}

static tsri_value add_value(tsri_graph *graph, const tsri_graph_value *value) {
    const tsr_status status = tsri_base_grow(&graph->values, &graph->values_room,
                                             graph->n_values + 1, sizeof *graph->values);
    if (status != TSR_OK) {
        fail_as_reported(graph, status);
        return TSRI_GRAPH_NONE;
    }
    const tsri_value index = (tsri_value)graph->n_values++;
    graph->values[index] = *value;
    if (value->storage == TSRI_GRAPH_NONE)
        graph->values[index].storage = index;
    return index;
}

static bool same_shape(const tsr_tensor *a, const tsr_tensor *b) {
    bool same = a->rank == b->rank && a->dtype == b->dtype;
    for (uint32_t i = 0; same && i < a->rank; i++)
        same = tsri_tensor_same_dim(a->dim[i], b->dim[i]);
    return same;
}

/* Whether the product of the sizes is in the dims table: no symbol occurs twice. */
static bool is_countable(const tsr_tensor *tensor) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (seen & tensor->dim[i].symbols)
            return false;
        seen |= tensor->dim[i].symbols;
    }
    return true;
}

tsri_value tsri_graph_leaf(tsri_graph *graph, tsr_kind kind, uint32_t id, const char *name,
                           tsr_dtype dtype, uint32_t rank, const tsr_dim *dims) {
    if (graph->status != TSR_OK)
        return TSRI_GRAPH_NONE;
    tsri_graph_value value = {
        .tensor = {.struct_size = sizeof(tsr_tensor), .dtype = dtype, .kind = kind, .rank = rank},
        .storage = TSRI_GRAPH_NONE,
        .id = id,
        .producer = -1};
    if (rank > TSR_MAX_RANK || kind == TSR_KIND_ACTIVATION || !tsri_tensor_dtype_info(dtype)) {
        tsri_graph_fail(
            graph, TSR_E_ARGUMENT,
            "leaf %s has rank %u, kind %d and dtype %d: at least one of these is not valid", name,
            rank, (int)kind, (int)dtype);
        return TSRI_GRAPH_NONE;
    }
    memcpy(value.tensor.dim, dims, rank * sizeof *dims);
    tsri_tensor_pack(&value.tensor);
    for (size_t i = 0; i < graph->n_values; i++) {
        const tsri_graph_value *old = &graph->values[i];
        if (old->producer >= 0 || old->storage != (tsri_value)i ||
            old->tensor.kind != (uint32_t)kind || old->id != id)
            continue;
        if (!same_shape(&old->tensor, &value.tensor))
            tsri_graph_fail(graph, TSR_E_ARGUMENT, "leaf %s is used with two shapes or dtypes",
                            name);
        return graph->status == TSR_OK ? (tsri_value)i : TSRI_GRAPH_NONE;
    }
    value.name = tsri_base_copy_text(name, strlen(name));
    if (!value.name) {
        fail_as_reported(graph, TSR_E_HOST_MEMORY);
        return TSRI_GRAPH_NONE;
    }
    const tsri_value index = add_value(graph, &value);
    if (index < 0)
        free((char *)value.name);
    return index;
}

/* A copy of the value x, whose descriptor the caller changes. */
static tsri_graph_value view_of(const tsri_graph *graph, tsri_value x) {
    tsri_graph_value view = graph->values[x];
    view.name = NULL;
    return view;
}

tsri_value tsri_graph_reshape(tsri_graph *graph, tsri_value x, uint32_t rank, const tsr_dim *dims) {
    if (!usable(graph, x))
        return TSRI_GRAPH_NONE;
    tsri_graph_value view = view_of(graph, x);
    const bool packed = tsri_tensor_is_packed(&view.tensor);
    const tsr_dim before = tsri_tensor_count(&view.tensor);
    view.tensor.rank = rank;
    memcpy(view.tensor.dim, dims, rank * sizeof *dims);
    tsri_tensor_pack(&view.tensor);
    if (!packed || !tsri_tensor_same_dim(before, tsri_tensor_count(&view.tensor))) {
        char from[96], to[96];
        tsri_graph_fail(
            graph, TSR_E_ARGUMENT, "can't reshape %s %s to %s", packed ? "packed" : "strided",
            tsri_tensor_print(&graph->values[x].tensor, from), tsri_tensor_print(&view.tensor, to));
        return TSRI_GRAPH_NONE;
    }
    return add_value(graph, &view);
}

tsri_value tsri_graph_permute(tsri_graph *graph, tsri_value x, const uint32_t *order) {
    if (!usable(graph, x))
        return TSRI_GRAPH_NONE;
    tsri_graph_value view = view_of(graph, x);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < view.tensor.rank; i++) {
        if (order[i] >= view.tensor.rank || seen >> order[i] & 1) {
            tsri_graph_fail(graph, TSR_E_ARGUMENT,
                            "permute: the order must name each dimension once");
            return TSRI_GRAPH_NONE;
        }
        seen |= 1u << order[i];
        view.tensor.dim[i] = graph->values[x].tensor.dim[order[i]];
        view.tensor.stride[i] = graph->values[x].tensor.stride[order[i]];
    }
    return add_value(graph, &view);
}

/* Whether elements first .. first + count - 1 of a dimension are whole blocks of the dtype; fails otherwise. */
static bool is_of_blocks(tsri_graph *graph, const tsr_tensor *t, uint32_t axis, int64_t first,
                         int64_t count) {
    const int64_t block = tsri_tensor_dtype_info((tsr_dtype)t->dtype)->block,
                  step = t->stride[axis].factor;
    char shape[96];
    if (first * step % block == 0 && count * step % block == 0)
        return true;
    tsri_graph_fail(graph, TSR_E_ARGUMENT,
                    "slice %lld..%lld of axis %u of %s %s begins or ends inside a block; wanted "
                    "whole blocks, of %lld elements each",
                    (long long)first, (long long)(first + count), axis,
                    tsri_tensor_dtype_name((tsr_dtype)t->dtype), tsri_tensor_print(t, shape),
                    (long long)block);
    return false;
}

tsri_value tsri_graph_slice(tsri_graph *graph, tsri_value x, uint32_t axis, int64_t first,
                            int64_t count) {
    if (!usable(graph, x))
        return TSRI_GRAPH_NONE;
    tsri_graph_value view = view_of(graph, x);
    tsr_tensor *t = &view.tensor;
    if (axis >= t->rank || t->dim[axis].symbols || t->stride[axis].symbols || first < 0 ||
        count < 0 || first > t->dim[axis].factor || count > t->dim[axis].factor - first) {
        char shape[96];
        tsri_graph_fail(graph, TSR_E_ARGUMENT, "slice %lld..%lld of axis %u of %s",
                        (long long)first, (long long)(first + count), axis,
                        tsri_tensor_print(t, shape));
        return TSRI_GRAPH_NONE;
    }
    if (!is_of_blocks(graph, t, axis, first, count))
        return TSRI_GRAPH_NONE;
    t->offset += first * t->stride[axis].factor;
    t->dim[axis] = tsri_tensor_const(count);
    return add_value(graph, &view);
}

static bool insert_dim(tsri_graph *graph, tsr_tensor *t, uint32_t axis) {
    if (t->rank == TSR_MAX_RANK || axis > t->rank) {
        tsri_graph_fail(graph, TSR_E_ARGUMENT, "a view can have at most %d dimensions",
                        TSR_MAX_RANK);
        return false;
    }
    memmove(&t->dim[axis + 1], &t->dim[axis], (t->rank - axis) * sizeof *t->dim);
    memmove(&t->stride[axis + 1], &t->stride[axis], (t->rank - axis) * sizeof *t->stride);
    t->rank++;
    return true;
}

tsri_value tsri_graph_split(tsri_graph *graph, tsri_value x, uint32_t axis, int64_t outer,
                            int64_t inner) {
    if (!usable(graph, x))
        return TSRI_GRAPH_NONE;
    tsri_graph_value view = view_of(graph, x);
    tsr_tensor *t = &view.tensor;
    if (axis >= t->rank || t->dim[axis].symbols || t->dim[axis].factor != outer * inner) {
        char shape[96];
        tsri_graph_fail(graph, TSR_E_ARGUMENT, "split of axis %u of %s into %lld x %lld", axis,
                        tsri_tensor_print(t, shape), (long long)outer, (long long)inner);
        return TSRI_GRAPH_NONE;
    }
    if (!insert_dim(graph, t, axis))
        return TSRI_GRAPH_NONE;
    t->dim[axis] = tsri_tensor_const(outer);
    t->dim[axis + 1] = tsri_tensor_const(inner);
    t->stride[axis] = tsri_tensor_times(t->stride[axis + 1], tsri_tensor_const(inner));
    return add_value(graph, &view);
}

tsri_value tsri_graph_expand(tsri_graph *graph, tsri_value x, uint32_t axis, tsr_dim n) {
    if (!usable(graph, x))
        return TSRI_GRAPH_NONE;
    tsri_graph_value view = view_of(graph, x);
    if (!insert_dim(graph, &view.tensor, axis))
        return TSRI_GRAPH_NONE;
    view.tensor.dim[axis] = n;
    view.tensor.stride[axis] = tsri_tensor_const(0);
    return add_value(graph, &view);
}

/* Whether a value is a leaf, or all of one in another shape. */
static bool is_whole(const tsri_graph *graph, tsri_value x) {
    const tsri_graph_value *v = &graph->values[x], *leaf = &graph->values[v->storage];
    return v->storage == x ||
           (tsri_tensor_is_packed(&v->tensor) &&
            tsri_tensor_same_dim(tsri_tensor_count(&v->tensor), tsri_tensor_count(&leaf->tensor)));
}

/* Checks arity, missing operands and attributes against the op's row, and fills the signature's
 * inputs. */
static bool check_operands(tsri_graph *graph, const tsri_graph_op_row *row, const void *attrs,
                           const tsri_value *in, uint32_t n_in, tsri_graph_signature *signature) {
    const uint32_t least = tsri_tensor_least_inputs(row->id),
                   most = tsri_tensor_operands_of(row->id)->n_in;
    if (n_in < least || n_in > most || (row->attrs_size && !attrs)) {
        tsri_graph_fail(graph, TSR_E_ARGUMENT, "%s: %u operands%s; it takes %u to %u", row->name,
                        n_in, row->attrs_size && !attrs ? " and no attributes" : "", least, most);
        return false;
    }
    if (row->attrs_size) {
        uint32_t size;
        memcpy(&size, attrs, sizeof size);
        if (size != row->attrs_size) {
            tsri_graph_fail(graph, TSR_E_ARGUMENT,
                            "%s: attributes of %u bytes; this version has %u", row->name, size,
                            row->attrs_size);
            return false;
        }
    }
    for (uint32_t i = 0; i < n_in; i++) {
        if (in[i] == TSRI_GRAPH_NONE && tsri_tensor_input_is(row->id, i, TSRI_TENSOR_OPTIONAL))
            continue;
        if (!usable(graph, in[i]))
            return false;
        signature->in[i] = &graph->values[in[i]].tensor;
        if (tsri_tensor_input_is(row->id, i, TSRI_TENSOR_WRITTEN) &&
            (signature->in[i]->kind != TSR_KIND_STATE || !is_whole(graph, in[i]))) {
            tsri_graph_fail(graph, TSR_E_ARGUMENT,
                            "%s: operand %u is written and must be a state leaf, or all of one in "
                            "another shape",
                            row->name, i);
            return false;
        }
    }
    signature->n_in = n_in;
    signature->attrs = attrs;
    return true;
}

void tsri_graph_scope(tsri_graph *graph, int layer, const char *label) {
    graph->layer = layer;
    snprintf(graph->scope, sizeof graph->scope, "%s", label);
}

static tsri_graph_node *add_node(tsri_graph *graph, const tsri_graph_op_row *row,
                                 const void *attrs) {
    tsr_status status =
        tsri_base_grow(&graph->nodes, &graph->nodes_room, graph->n_nodes + 1, sizeof *graph->nodes);
    tsri_graph_node *node = NULL;
    if (status == TSR_OK) {
        node = &graph->nodes[graph->n_nodes];
        *node = (tsri_graph_node){.id = row->id, .layer = graph->layer};
        if (row->attrs_size)
            status = tsri_base_new(1, row->attrs_size, &node->attrs);
    }
    if (status != TSR_OK) {
        fail_as_reported(graph, status);
        return NULL;
    }
    if (row->attrs_size)
        memcpy(node->attrs, attrs, row->attrs_size);
    snprintf(node->label, sizeof node->label, "%s", *graph->scope ? graph->scope : row->name);
    graph->n_nodes++;
    return node;
}

void tsri_graph_op(tsri_graph *graph, tsr_op_id id, const void *attrs, const tsri_value *in,
                   uint32_t n_in, uint32_t want, tsri_value *out) {
    const tsri_graph_op_row *row = tsri_graph_op_find(id);
    const uint32_t n_out = row ? tsri_tensor_operands_of(id)->n_out : 0;
    tsri_graph_signature signature = {0};
    for (uint32_t i = 0; i < n_out; i++)
        out[i] = TSRI_GRAPH_NONE;
    if (graph->status != TSR_OK)
        return;
    if (!row) {
        tsri_graph_fail(graph, TSR_E_UNSUPPORTED, "op %d is not known to this version", (int)id);
        return;
    }
    if (!check_operands(graph, row, attrs, in, n_in, &signature))
        return;
    const tsr_status status = row->infer(&signature);
    if (status != TSR_OK) {
        tsri_graph_fail(graph, status, "%s%s%s", graph->scope, *graph->scope ? ": " : "",
                        tsri_base_reported());
        return;
    }
    for (uint32_t i = 0; i < n_out; i++) {
        char shape[96];
        if (is_countable(&signature.out[i]))
            continue;
        tsri_graph_fail(graph, TSR_E_UNSUPPORTED,
                        "%s: a result of shape %s has the same symbol twice in one size", row->name,
                        tsri_tensor_print(&signature.out[i], shape));
        return;
    }
    const int32_t producer = (int32_t)graph->n_nodes;
    tsri_graph_node *node = add_node(graph, row, attrs);
    if (!node)
        return;
    node->n_in = n_in;
    memcpy(node->in, in, n_in * sizeof *in);
    node->n_out = n_out;
    for (uint32_t i = 0; i < n_out; i++) {
        node->out[i] = TSRI_GRAPH_NONE;
        if (signature.out[i].dtype == TSR_DTYPE_NONE ||
            (tsri_tensor_result_is(id, i, TSRI_TENSOR_ON_REQUEST) &&
             !((want | signature.made) >> i & 1)))
            continue;
        tsri_graph_value value = {
            .tensor = signature.out[i], .storage = TSRI_GRAPH_NONE, .producer = producer};
        value.tensor.struct_size = sizeof value.tensor;
        value.tensor.kind = TSR_KIND_ACTIVATION;
        tsri_tensor_pack(&value.tensor);
        out[i] = graph->nodes[producer].out[i] = add_value(graph, &value);
    }
}

tsri_value tsri_graph_op1(tsri_graph *graph, tsr_op_id id, const void *attrs, const tsri_value *in,
                          uint32_t n_in) {
    tsri_value out[TSRI_GRAPH_MAX_OPERANDS];
    for (size_t i = 0; i < TSRI_GRAPH_MAX_OPERANDS; i++)
        out[i] = TSRI_GRAPH_NONE;
    tsri_graph_op(graph, id, attrs, in, n_in, 0, out);
    return out[0];
}

void tsri_graph_output(tsri_graph *graph, uint32_t id, const char *name, tsri_value value) {
    if (!usable(graph, value))
        return;
    if (!tsri_tensor_is_packed(&graph->values[value].tensor)) {
        tsri_graph_fail(graph, TSR_E_ARGUMENT, "output %s is a strided view; copy it first", name);
        return;
    }
    tsr_status status = tsri_base_grow(&graph->outputs, &graph->outputs_room, graph->n_outputs + 1,
                                       sizeof *graph->outputs);
    char *copy = status == TSR_OK ? tsri_base_copy_text(name, strlen(name)) : NULL;
    if (!copy) {
        fail_as_reported(graph, TSR_E_HOST_MEMORY);
        return;
    }
    graph->outputs[graph->n_outputs++] =
        (tsri_graph_output_mark){.id = id, .name = copy, .value = value};
}

size_t tsri_graph_value_count(const tsri_graph *graph) {
    return graph->n_values;
}

const tsri_graph_value *tsri_graph_value_at(const tsri_graph *graph, tsri_value value) {
    return &graph->values[value];
}

size_t tsri_graph_node_count(const tsri_graph *graph) {
    return graph->n_nodes;
}

const tsri_graph_node *tsri_graph_node_at(const tsri_graph *graph, size_t node) {
    return &graph->nodes[node];
}

size_t tsri_graph_output_count(const tsri_graph *graph) {
    return graph->n_outputs;
}

const tsri_graph_output_mark *tsri_graph_output_at(const tsri_graph *graph, size_t i) {
    return &graph->outputs[i];
}

const tsr_op *tsri_graph_as_op(const tsri_graph *graph, const tsri_graph_node *node,
                               tsri_graph_op_store *store) {
    for (uint32_t i = 0; i < node->n_in; i++)
        store->in[i] = node->in[i] == TSRI_GRAPH_NONE ? NULL : &graph->values[node->in[i]].tensor;
    for (uint32_t i = 0; i < node->n_out; i++)
        store->out[i] =
            node->out[i] == TSRI_GRAPH_NONE ? NULL : &graph->values[node->out[i]].tensor;
    store->op = (tsr_op){.struct_size = sizeof store->op,
                         .id = node->id,
                         .n_in = node->n_in,
                         .n_out = node->n_out,
                         .in = store->in,
                         .out = store->out,
                         .attrs = node->attrs,
                         .label = node->label};
    return &store->op;
}

tsri_value tsri_graph_same_view(tsri_graph *graph, tsri_value storage, const tsr_tensor *tensor) {
    if (!usable(graph, storage))
        return TSRI_GRAPH_NONE;
    tsri_graph_value view = view_of(graph, storage);
    const uint32_t kind = view.tensor.kind;
    view.tensor = *tensor;
    view.tensor.kind = kind;
    return add_value(graph, &view);
}

void tsri_graph_last_uses(const tsri_graph *graph, size_t (*group_of)(void *data, uint32_t state),
                          void *data, size_t n, size_t *behind) {
    memset(behind, 0, n * sizeof *behind);
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        for (uint32_t j = 0; j < node->n_in; j++) {
            if (node->in[j] == TSRI_GRAPH_NONE)
                continue;
            const tsri_graph_value *v =
                tsri_graph_value_at(graph, tsri_graph_value_at(graph, node->in[j])->storage);
            const size_t group =
                v->tensor.kind == TSR_KIND_STATE ? group_of(data, v->id) : SIZE_MAX;
            if (group < n)
                behind[group] = i + 1;
        }
    }
}
