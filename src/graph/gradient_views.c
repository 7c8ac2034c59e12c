/* graph/gradient_views.c - how a gradient of a view lies in the storage that the view is of; gradients in other
 * shapes. */
#include "graph/gradient_views.h"

#include "tensor/shape.h"

#include <string.h>

typedef tsri_graph_contribution contribution;
typedef tsri_graph_columns columns;

static const tsr_tensor *tensor_of(const tsri_graph *graph, tsri_value x) {
    return &tsri_graph_value_at(graph, x)->tensor;
}

static bool failed(const tsri_graph *graph) {
    return tsri_graph_status(graph) != TSR_OK;
}

/* ---- shapes ---- */

tsri_value tsri_graph_packed(tsri_graph *graph, tsri_value x) {
    if (x == TSRI_GRAPH_NONE || failed(graph) || tsri_tensor_is_packed(tensor_of(graph, x)))
        return x;
    return tsri_graph_op1(graph, TSR_OP_COPY, NULL, &x, 1);
}

tsri_value tsri_graph_reshaped(tsri_graph *graph, tsri_value x, uint32_t rank,
                               const tsr_dim *dims) {
    tsr_dim copy[TSR_MAX_RANK];
    /* Dims may point into the graph's values, which can move */
    memcpy(copy, dims, rank * sizeof *dims);
    return tsri_graph_reshape(graph, tsri_graph_packed(graph, x), rank, copy);
}

tsri_value tsri_graph_matrix(tsri_graph *graph, tsri_value x) {
    if (x == TSRI_GRAPH_NONE || failed(graph))
        return TSRI_GRAPH_NONE;
    const tsr_tensor *t = tensor_of(graph, x);
    return tsri_graph_reshaped(graph, x, 2,
                               (tsr_dim[]){tsri_tensor_rows(t), tsri_tensor_columns(t)});
}

tsri_value tsri_graph_shaped(tsri_graph *graph, tsri_value x, tsri_value like) {
    if (x == TSRI_GRAPH_NONE || like == TSRI_GRAPH_NONE || failed(graph))
        return TSRI_GRAPH_NONE;
    const tsr_tensor *t = tensor_of(graph, like);
    return tsri_graph_reshaped(graph, x, t->rank, t->dim);
}

/* ---- views ---- */

/* Whether a dimension of stride a lies within one of stride b. */
static bool is_inner(tsr_dim a, tsr_dim b) {
    return a.symbols == b.symbols ? a.factor < b.factor : (a.symbols & ~b.symbols) == 0;
}

static tsr_dim of_tokens(tsr_dim size) {
    const uint32_t T = tsri_tensor_symbol(TSR_SYM_T).symbols,
                   S = tsri_tensor_symbol(TSR_SYM_S).symbols;
    if (size.symbols & S)
        size.symbols = (size.symbols & ~S) | T;
    return size;
}

/* Keys that are a run's own tokens have the symbol S where the storage has T. */
static void count_as_tokens(const tsr_tensor *storage, tsr_tensor *view, tsr_tensor *d) {
    const uint32_t S = tsri_tensor_symbol(TSR_SYM_S).symbols;
    if (tsri_tensor_count(storage).symbols & S || !(tsri_tensor_count(view).symbols & S))
        return;
    for (uint32_t i = 0; i < view->rank; i++) {
        view->dim[i] = of_tokens(view->dim[i]);
        view->stride[i] = of_tokens(view->stride[i]);
        d->dim[i] = of_tokens(d->dim[i]);
        d->stride[i] = of_tokens(d->stride[i]);
    }
}

contribution tsri_graph_in_order(tsri_graph *graph, tsri_value storage, const contribution *given) {
    const contribution c = *given;
    const tsr_tensor whole = *tensor_of(graph, storage);
    tsr_tensor view = *tensor_of(graph, c.view), d = *tensor_of(graph, c.d);
    uint32_t order[TSR_MAX_RANK], n = 0;
    bool changed = false;
    if (view.rank != d.rank)
        return c;
    /* The strides of an empty value don't tell the order of its dimensions, and none is needed */
    if (tsri_tensor_count(&whole).factor == 0 && tsri_tensor_count(&d).factor == 0)
        return (contribution){
            .view = storage, .d = tsri_graph_shaped(graph, c.d, storage), .next = c.next};
    count_as_tokens(&whole, &view, &d);
    for (uint32_t i = 0; i < view.rank; i++) {
        uint32_t at = n;
        if (tsri_tensor_is_one(view.dim[i]))
            continue;
        for (; at > 0 && is_inner(view.stride[order[at - 1]], view.stride[i]); at--)
            order[at] = order[at - 1];
        order[at] = i;
        n++;
    }
    if (!n)
        return c;
    tsr_tensor to[2] = {view, d};
    for (int k = 0; k < 2; k++) {
        const tsr_tensor *from = k ? &d : &view;
        to[k].rank = n;
        for (uint32_t i = 0; i < n; i++) {
            to[k].dim[i] = from->dim[order[i]];
            to[k].stride[i] = from->stride[order[i]];
        }
        const tsr_tensor *was = tensor_of(graph, k ? c.d : c.view);
        changed |= was->rank != n;
        for (uint32_t i = 0; i < n && !changed; i++)
            changed = !tsri_tensor_same_dim(was->dim[i], to[k].dim[i]) ||
                      !tsri_tensor_same_dim(was->stride[i], to[k].stride[i]);
    }
    if (!changed)
        return c;
    return (contribution){
        .view = tsri_graph_same_view(graph, storage, &to[0]),
        .d = tsri_graph_same_view(graph, tsri_graph_value_at(graph, c.d)->storage, &to[1]),
        .next = c.next};
}

tsri_value tsri_graph_as_whole(tsri_graph *graph, tsri_value storage, const contribution *c) {
    const tsr_tensor *view = tensor_of(graph, c->view);
    if (view->offset || !tsri_tensor_is_packed(view) ||
        !tsri_tensor_same_dim(tsri_tensor_count(view),
                              tsri_tensor_count(tensor_of(graph, storage))))
        return TSRI_GRAPH_NONE;
    return tsri_graph_shaped(graph, c->d, storage);
}

bool tsri_graph_as_columns(tsri_graph *graph, tsri_value storage, const contribution *c,
                           columns *out) {
    const tsr_tensor t = *tensor_of(graph, c->view);
    const tsr_dim count = tsri_tensor_count(tensor_of(graph, storage));
    tsr_dim rows = tsri_tensor_const(1);
    uint32_t i = t.rank;
    int64_t n = 1;
    for (; i > 0 && !t.dim[i - 1].symbols &&
           tsri_tensor_same_dim(t.stride[i - 1], tsri_tensor_const(n));
         i--)
        n *= t.dim[i - 1].factor;
    const tsr_dim width = i ? t.stride[i - 1] : count;
    if (width.symbols || t.offset + n > width.factor)
        return false;
    for (tsr_dim step = width; i > 0; i--) {
        if (!tsri_tensor_same_dim(t.stride[i - 1], step))
            return false;
        step = tsri_tensor_times(step, t.dim[i - 1]);
        rows = tsri_tensor_times(rows, t.dim[i - 1]);
    }
    if (!tsri_tensor_same_dim(tsri_tensor_times(rows, width), count))
        return false;
    *out = (columns){
        .width = width.factor,
        .first = t.offset,
        .n = n,
        .d = tsri_graph_reshaped(graph, c->d, 2, (tsr_dim[]){rows, tsri_tensor_const(n)})};
    return true;
}
