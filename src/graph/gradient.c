/* graph/gradient.c - the backward pass, appended to a graph. */
#include "graph/gradient.h"

#include "base/error.h"
#include "base/memory.h"
#include "graph/gradient_views.h"
#include "graph/ops.h"
#include "tensor/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef tsri_graph_contribution contribution;
typedef tsri_graph_columns columns;

struct tsri_graph_backward {
    tsri_graph *graph;
    const tsri_graph_gradients *wanted;
    bool *written;  /* by parameter: this pass has written to its gradient */
    bool *active;   /* by value: it depends on a parameter */
    int32_t *first; /* by storage: its first contribution, -1: none */
    contribution *given;
    size_t active_room, first_room, n_values, n_given, given_room;
};

typedef tsri_graph_backward backward;

tsri_graph *tsri_graph_of(backward *b) {
    return b->graph;
}

static const tsr_tensor *tensor_of(const tsri_graph *graph, tsri_value x) {
    return &tsri_graph_value_at(graph, x)->tensor;
}

static tsri_value storage_of(const tsri_graph *graph, tsri_value x) {
    return tsri_graph_value_at(graph, x)->storage;
}

static bool failed(const tsri_graph *graph) {
    return tsri_graph_status(graph) != TSR_OK;
}

/* ---- contributions to values ---- */

/* Extends the tables to values that were added since; they start without entries. */
static bool cover_values(backward *b) {
    const size_t n = tsri_graph_value_count(b->graph);
    if (tsri_base_grow(&b->active, &b->active_room, n, sizeof *b->active) != TSR_OK ||
        tsri_base_grow(&b->first, &b->first_room, n, sizeof *b->first) != TSR_OK) {
        tsri_graph_fail(b->graph, TSR_E_HOST_MEMORY, "%s", tsri_base_reported());
        return false;
    }
    for (; b->n_values < n; b->n_values++) {
        b->active[b->n_values] = false;
        b->first[b->n_values] = -1;
    }
    return true;
}

bool tsri_graph_wants(const backward *b, tsri_value value) {
    return value != TSRI_GRAPH_NONE && !failed(b->graph) &&
           (size_t)storage_of(b->graph, value) < b->n_values &&
           b->active[storage_of(b->graph, value)];
}

/* The index of a parameter among those that get gradients, or -1. */
static int64_t parameter_of(const backward *b, tsri_value storage) {
    for (size_t i = 0; i < b->wanted->n_parameters; i++)
        if (b->wanted->parameters[i].leaf == storage)
            return (int64_t)i;
    return -1;
}

/* Adds an op that adds `from` to a parameter's gradient, of which `view` is the whole; the first such op
 * scales the old contents by beta. */
static void add_to_view(backward *b, int64_t parameter, tsri_value view, tsr_op_id op,
                        const void *attrs, const tsri_value *from, uint32_t n) {
    tsri_value in[TSRI_GRAPH_MAX_OPERANDS] = {view};
    memcpy(in + 1, from, n * sizeof *from);
    in[n + 1] = b->written[parameter] ? TSRI_GRAPH_NONE : b->wanted->beta;
    b->written[parameter] = true;
    tsri_value none = TSRI_GRAPH_NONE;
    tsri_graph_op(b->graph, op, attrs, in, n + 2, 0, &none);
}

static void add_to(backward *b, int64_t parameter, tsr_op_id op, const void *attrs,
                   const tsri_value *from, uint32_t n) {
    add_to_view(b, parameter, b->wanted->parameters[parameter].gradient, op, attrs, from, n);
}

static void refuse(tsri_graph *graph, const tsri_graph_node *node) {
    tsri_graph_fail(graph, TSR_E_UNSUPPORTED, "%s: %s has no gradient", node->label,
                    tsri_graph_op_find(node->id)->name);
}

/* The state that a node writes as this operand, else NONE. */
static tsri_value written_by(const tsri_graph *graph, const tsri_graph_node *node,
                             uint32_t operand) {
    const tsri_value x = node->in[operand];
    return x != TSRI_GRAPH_NONE && tsri_tensor_input_is(node->id, operand, TSRI_TENSOR_WRITTEN)
               ? storage_of(graph, x)
               : TSRI_GRAPH_NONE;
}

/* Refuses the gradient of a state: what a parameter gave it went through the op that wrote it. */
static void refuse_state(tsri_graph *graph, tsri_value state) {
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        for (uint32_t j = 0; j < node->n_in; j++)
            if (written_by(graph, node, j) == state) {
                refuse(graph, node);
                return;
            }
    }
}

/* The parameter that the value is all of, perhaps in another shape; -1: there is none. */
static int64_t whole_parameter(const backward *b, tsri_value value) {
    const tsri_value storage = storage_of(b->graph, value);
    const tsr_tensor *t = tensor_of(b->graph, value);
    return tsri_tensor_is_packed(t) &&
                   tsri_tensor_same_dim(tsri_tensor_count(t),
                                        tsri_tensor_count(tensor_of(b->graph, storage)))
               ? parameter_of(b, storage)
               : -1;
}

static bool is_empty(const tsri_graph *graph, tsri_value x) {
    return tsri_tensor_count(tensor_of(graph, x)).factor == 0;
}

static void add_to_whole(backward *b, int64_t parameter, tsri_value d) {
    const tsri_value gradient = b->wanted->parameters[parameter].gradient;
    add_to(b, parameter, TSR_OP_ACCUMULATE, NULL,
           (tsri_value[]){tsri_graph_shaped(b->graph, d, gradient)}, 1);
}

void tsri_graph_give(backward *b, tsri_value value, tsri_value d) {
    if (!tsri_graph_wants(b, value) || d == TSRI_GRAPH_NONE)
        return;
    const tsri_value storage = storage_of(b->graph, value);
    const int64_t parameter = whole_parameter(b, value);
    if (parameter >= 0) {
        add_to_whole(b, parameter, d);
        return;
    }
    if (is_empty(b->graph, value) && !is_empty(b->graph, storage)) /* it reads no element */
        return;
    if (tensor_of(b->graph, storage)->kind == TSR_KIND_STATE && parameter_of(b, storage) < 0) {
        refuse_state(b->graph, storage);
        return;
    }
    if (tsri_base_grow(&b->given, &b->given_room, b->n_given + 1, sizeof *b->given) != TSR_OK) {
        tsri_graph_fail(b->graph, TSR_E_HOST_MEMORY, "%s", tsri_base_reported());
        return;
    }
    b->given[b->n_given] = (contribution){.view = value, .d = d, .next = b->first[storage]};
    b->first[storage] = (int32_t)b->n_given++;
}

void tsri_graph_give_product(backward *b, tsri_value value, const tsr_matmul_attrs *attrs,
                             tsri_value a, tsri_value c) {
    if (!tsri_graph_wants(b, value))
        return;
    const int64_t parameter = parameter_of(b, value);
    if (parameter < 0 || tensor_of(b->graph, value)->rank != 2) { /* matmul_add takes matrices */
        const tsri_value in[] = {a, c};
        const tsri_value d = tsri_graph_op1(b->graph, TSR_OP_MATMUL, attrs, in, 2);
        tsri_graph_give(b, value, tsri_graph_shaped(b->graph, d, value));
        return;
    }
    add_to(b, parameter, TSR_OP_MATMUL_ADD, attrs, (tsri_value[]){a, c}, 2);
}

/* The gradient of a parameter in the shape of the value. */
static tsri_value gradient_like(backward *b, int64_t parameter, tsri_value value) {
    return tsri_graph_shaped(b->graph, b->wanted->parameters[parameter].gradient, value);
}

void tsri_graph_give_rows(backward *b, tsri_value table, const tsr_embed_attrs *attrs,
                          tsri_value ids, tsri_value dy) {
    if (!tsri_graph_wants(b, table))
        return;
    const int64_t parameter = whole_parameter(b, table);
    if (parameter < 0) {
        tsri_graph_fail(
            b->graph, TSR_E_UNSUPPORTED,
            "the gradient of a computed table is not supported; the table must be a parameter");
        return;
    }
    add_to_view(b, parameter, gradient_like(b, parameter, table), TSR_OP_EMBED_ADD, attrs,
                (tsri_value[]){ids, dy}, 2);
}

void tsri_graph_give_experts(backward *b, tsri_value weight, tsri_value a, tsri_value c,
                             tsri_value experts) {
    if (!tsri_graph_wants(b, weight))
        return;
    const int64_t parameter = whole_parameter(b, weight);
    if (parameter < 0) {
        tsri_graph_fail(b->graph, TSR_E_UNSUPPORTED,
                        "the gradient of computed weights of experts, or of a part of them, is not "
                        "supported; they must be a parameter");
        return;
    }
    add_to_view(b, parameter, gradient_like(b, parameter, weight), TSR_OP_EXPERT_MATMUL_ADD, NULL,
                (tsri_value[]){a, c, experts}, 3);
}

/* ---- the gradient of a storage, from the contributions to its views ---- */

static tsri_value sum(tsri_graph *graph, tsri_value a, tsri_value c) {
    if (a == TSRI_GRAPH_NONE || c == TSRI_GRAPH_NONE)
        return a == TSRI_GRAPH_NONE ? c : a;
    return tsri_graph_op1(graph, TSR_OP_ADD, NULL, (tsri_value[]){a, c}, 2);
}

enum { MOST_RUNS = 256, MOST_SIDES = 4 };

static int by_first(const void *a, const void *b) {
    const columns *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Fails for what is read of a storage, by its name where it has one. */
static void refuse_views(tsri_graph *graph, tsri_value storage, const char *only) {
    const char *name = tsri_graph_value_at(graph, storage)->name;
    tsri_graph_fail(graph, TSR_E_UNSUPPORTED, "%s%sthe gradient of %s", name ? name : "",
                    name ? ": " : "", only);
}

/* Puts the runs of columns side by side, a few neighbours at a time; together they must be the
 * whole storage. */
static tsri_value side_by_side(tsri_graph *graph, tsri_value storage, columns *runs, size_t n) {
    int64_t at = 0;
    qsort(runs, n, sizeof *runs, by_first);
    for (size_t i = 0; i < n; at += runs[i++].n)
        if (runs[i].first != at || runs[i].width != runs[0].width)
            break;
    if (at != runs[0].width) {
        refuse_views(graph, storage,
                     "columns is supported only where each column is read exactly once");
        return TSRI_GRAPH_NONE;
    }
    while (n > 1) {
        size_t made = 0;
        for (size_t i = 0; i < n; i += MOST_SIDES) {
            tsri_value in[MOST_SIDES];
            const size_t taken = n - i < MOST_SIDES ? n - i : MOST_SIDES;
            for (size_t k = 0; k < taken; k++)
                in[k] = runs[i + k].d;
            runs[made++].d = taken == 1
                                 ? in[0]
                                 : tsri_graph_op1(graph, TSR_OP_CONCAT, NULL, in, (uint32_t)taken);
        }
        n = made;
    }
    return runs[0].d;
}

/* The sum of all contributions to a storage, in its shape; NONE where there is none. */
static tsri_value assemble(backward *b, tsri_value storage) {
    columns runs[MOST_RUNS], run;
    size_t n = 0;
    tsri_value whole = TSRI_GRAPH_NONE;
    if ((size_t)storage >= b->n_values)
        return whole;
    int32_t at = b->first[storage];
    b->first[storage] = -1;
    for (; at >= 0 && !failed(b->graph); at = b->given[at].next) {
        const contribution c = tsri_graph_in_order(b->graph, storage, &b->given[at]);
        if (failed(b->graph))
            break;
        const tsri_value d = tsri_graph_as_whole(b->graph, storage, &c);
        if (d != TSRI_GRAPH_NONE || failed(b->graph)) {
            whole = sum(b->graph, whole, d);
            continue;
        }
        size_t same = 0;
        if (!tsri_graph_as_columns(b->graph, storage, &c, &run) || n == MOST_RUNS) {
            refuse_views(b->graph, storage,
                         "a view is supported only where it covers the whole value or some of its "
                         "columns");
            continue;
        }
        while (same < n && (runs[same].first != run.first || runs[same].n != run.n ||
                            runs[same].width != run.width))
            same++;
        if (same < n)
            runs[same].d = sum(b->graph, runs[same].d, run.d);
        else
            runs[n++] = run;
    }
    if (n && !failed(b->graph))
        whole = sum(b->graph, whole,
                    tsri_graph_shaped(b->graph, side_by_side(b->graph, storage, runs, n), storage));
    return failed(b->graph) ? TSRI_GRAPH_NONE : whole;
}

tsri_value tsri_graph_take(backward *b, tsri_value value) {
    if (!tsri_graph_wants(b, value) || storage_of(b->graph, value) != value ||
        parameter_of(b, value) >= 0)
        return TSRI_GRAPH_NONE;
    return assemble(b, value);
}

/* ---- the pass ---- */

static bool is_float(uint32_t dtype) {
    return dtype == TSR_F32 || dtype == TSR_F16 || dtype == TSR_BF16;
}

/* What a node that reads an active value computes and writes is active, too. */
static void activate(backward *b, const tsri_graph_node *node) {
    for (uint32_t j = 0; j < node->n_out; j++)
        if (node->out[j] != TSRI_GRAPH_NONE && is_float(tensor_of(b->graph, node->out[j])->dtype))
            b->active[node->out[j]] = true;
    for (uint32_t j = 0; j < node->n_in; j++) {
        const tsri_value state = written_by(b->graph, node, j);
        if (state != TSRI_GRAPH_NONE)
            b->active[state] = true;
    }
}

static void find_active(backward *b, size_t nodes) {
    for (size_t i = 0; i < b->wanted->n_parameters; i++)
        b->active[b->wanted->parameters[i].leaf] = true;
    for (size_t i = 0; i < nodes; i++) {
        const tsri_graph_node *node = tsri_graph_node_at(b->graph, i);
        bool active = false;
        for (uint32_t j = 0; j < node->n_in; j++)
            active |= tsri_graph_wants(b, node->in[j]);
        if (active)
            activate(b, node);
    }
}

/* Whether a seed is the one number of a loss whose rows all weigh the same. */
static bool is_factor(const tsri_graph *graph, const tsri_graph_seed *seed) {
    const tsri_graph_value *v = tsri_graph_value_at(graph, seed->value);
    const tsr_tensor *t = tensor_of(graph, seed->seed);
    if (v->producer < 0 || t->rank != 1 || !tsri_tensor_is_one(t->dim[0]))
        return false;
    const tsri_graph_node *node = tsri_graph_node_at(graph, (size_t)v->producer);
    return tsri_graph_op_find(node->id)->one_seed && node->out[0] == seed->value;
}

/* The sum of the numbers that are the seeds of a loss; NONE for any other value. */
static tsri_value factor_of(backward *b, tsri_value value) {
    tsri_value factor = TSRI_GRAPH_NONE;
    for (size_t i = 0; i < b->wanted->n_seeds; i++) {
        const tsri_graph_seed *seed = &b->wanted->seeds[i];
        if (seed->value == value && is_factor(b->graph, seed))
            factor = sum(b->graph, factor, seed->seed);
    }
    return factor;
}

static bool fits(const tsr_tensor *seed, const tsr_tensor *value) {
    bool same = seed->dtype == TSR_F32 && seed->rank == value->rank;
    for (uint32_t i = 0; same && i < value->rank; i++)
        same = tsri_tensor_same_dim(seed->dim[i], value->dim[i]);
    return same;
}

/* Gives each seed to its value, which may be a view or a leaf; those of losses wait for the loss. */
static void give_seeds(backward *b) {
    for (size_t i = 0; i < b->wanted->n_seeds && !failed(b->graph); i++) {
        const tsri_graph_seed *seed = &b->wanted->seeds[i];
        const tsr_tensor *given = tensor_of(b->graph, seed->seed),
                         *value = tensor_of(b->graph, seed->value);
        char is[96], wanted[96];
        if (is_factor(b->graph, seed))
            continue;
        if (fits(given, value))
            tsri_graph_give(b, seed->value, seed->seed);
        else
            tsri_graph_fail(b->graph, TSR_E_ARGUMENT,
                            "gradients: the seed of value %d is %s %s; wanted f32 %s",
                            (int)seed->value, tsri_tensor_dtype_name((tsr_dtype)given->dtype),
                            tsri_tensor_print(given, is), tsri_tensor_print(value, wanted));
    }
}

static void backward_of(backward *b, const tsri_graph_node *of) {
    const tsri_graph_node node = *of; /* a copy: the graph's nodes move as it grows */
    const tsri_graph_op_row *row = tsri_graph_op_find(node.id);
    tsri_value d_out[TSRI_GRAPH_MAX_OPERANDS];
    bool any = false;
    char label[sizeof node.label + 16];
    snprintf(label, sizeof label, "%.50s.gradient", node.label);
    tsri_graph_scope(b->graph, node.layer, label);
    for (uint32_t i = 0; i < node.n_out; i++) {
        d_out[i] = TSRI_GRAPH_NONE;
        if (node.out[i] != TSRI_GRAPH_NONE) {
            const tsri_value d = assemble(b, node.out[i]);
            d_out[i] = sum(b->graph, d, factor_of(b, node.out[i]));
        }
        any |= d_out[i] != TSRI_GRAPH_NONE;
    }
    if (!any || failed(b->graph))
        return;
    if (row->gradient)
        row->gradient(b, &node, d_out);
    else
        refuse(b->graph, &node);
}

/* The first of the neighbouring nodes of one layer that end with `last`. */
static size_t start_of_layer(const backward *b, size_t last) {
    const int layer = tsri_graph_node_at(b->graph, last)->layer;
    size_t first = last;
    while (first > 0 && tsri_graph_node_at(b->graph, first - 1)->layer == layer)
        first--;
    return first;
}

typedef struct copying {
    tsri_value *map; /* value -> its copy; NONE: the value itself */
    size_t n;
} copying;

static tsri_value again(backward *b, const copying *c, tsri_value x) {
    if (x == TSRI_GRAPH_NONE || failed(b->graph))
        return x;
    const tsri_value storage = storage_of(b->graph, x);
    if ((size_t)storage >= c->n || c->map[storage] == TSRI_GRAPH_NONE)
        return x;
    if (x == storage)
        return c->map[storage];
    const tsr_tensor t = *tensor_of(b->graph, x);
    return tsri_graph_same_view(b->graph, c->map[storage], &t);
}

/* Contributions to views of the old storage become contributions to views of the new one. */
static void hand_over(backward *b, const copying *c, tsri_value from, tsri_value to) {
    b->active[to] = b->active[from];
    b->first[to] = b->first[from];
    b->first[from] = -1;
    for (int32_t at = b->first[to]; at >= 0; at = b->given[at].next)
        b->given[at].view = again(b, c, b->given[at].view);
}

/* Emits the nodes first .. last again from their inputs, and goes backward through the copies. */
static void recompute(backward *b, size_t first, size_t last) {
    copying c = {.n = tsri_graph_value_count(b->graph)};
    const size_t begin = tsri_graph_node_count(b->graph);
    if (tsri_base_new(c.n, sizeof *c.map, &c.map) != TSR_OK) {
        tsri_graph_fail(b->graph, TSR_E_HOST_MEMORY, "%s", tsri_base_reported());
        return;
    }
    for (size_t i = 0; i < c.n; i++)
        c.map[i] = TSRI_GRAPH_NONE;
    for (size_t i = first; i <= last && !failed(b->graph); i++) {
        const tsri_graph_node node = *tsri_graph_node_at(b->graph, i);
        tsri_value in[TSRI_GRAPH_MAX_OPERANDS], out[TSRI_GRAPH_MAX_OPERANDS];
        uint32_t want = 0;
        for (uint32_t j = 0; j < node.n_in; j++)
            in[j] = again(b, &c, node.in[j]);
        for (uint32_t j = 0; j < node.n_out; j++)
            want |= (uint32_t)(node.out[j] != TSRI_GRAPH_NONE) << j;
        char label[sizeof node.label + 16];
        snprintf(label, sizeof label, "%.50s.again", node.label);
        tsri_graph_scope(b->graph, node.layer, label);
        tsri_graph_op(b->graph, node.id, node.attrs, in, node.n_in, want, out);
        if (failed(b->graph) || !cover_values(b))
            break;
        for (uint32_t j = 0; j < node.n_out; j++) {
            if (node.out[j] == TSRI_GRAPH_NONE)
                continue;
            c.map[node.out[j]] = out[j];
            hand_over(b, &c, node.out[j], out[j]);
        }
    }
    cover_values(b);
    for (size_t i = begin + (last - first) + 1; i-- > begin && !failed(b->graph);)
        backward_of(b, tsri_graph_node_at(b->graph, i));
    free(c.map);
}

/* Adds to each parameter what its views were given that are not all of it in its order. */
static void give_views(backward *b) {
    for (size_t i = 0; i < b->wanted->n_parameters && !failed(b->graph); i++) {
        const tsri_value leaf = b->wanted->parameters[i].leaf;
        if (b->first[leaf] < 0)
            continue;
        const int32_t producer =
            tsri_graph_value_at(b->graph, b->given[b->first[leaf]].d)->producer;
        char label[64];
        snprintf(label, sizeof label, "%.50s.gradient", tsri_graph_value_at(b->graph, leaf)->name);
        tsri_graph_scope(b->graph,
                         producer < 0 ? -1 : tsri_graph_node_at(b->graph, (size_t)producer)->layer,
                         label);
        const tsri_value d = assemble(b, leaf);
        if (d != TSRI_GRAPH_NONE)
            add_to_whole(b, (int64_t)i, d);
    }
}

static void walk(backward *b, size_t nodes) {
    bool last_layer = true; /* its activations are needed at once, so it is not computed again */
    for (size_t end = nodes; end > 0 && !failed(b->graph);) {
        const size_t first = start_of_layer(b, end - 1);
        const bool layer = tsri_graph_node_at(b->graph, end - 1)->layer >= 0;
        if (b->wanted->recompute && layer && !last_layer)
            recompute(b, first, end - 1);
        else
            for (size_t i = end; i-- > first && !failed(b->graph);)
                backward_of(b, tsri_graph_node_at(b->graph, i));
        last_layer &= !layer;
        end = first;
    }
}

void tsri_graph_add_gradients(tsri_graph *graph, const tsri_graph_gradients *wanted) {
    backward b = {.graph = graph, .wanted = wanted};
    if (failed(graph))
        return;
    if (tsri_base_new(wanted->n_parameters + 1, sizeof *b.written, &b.written) != TSR_OK) {
        tsri_graph_fail(graph, TSR_E_HOST_MEMORY, "%s", tsri_base_reported());
    } else if (cover_values(&b)) {
        const size_t nodes = tsri_graph_node_count(graph);
        find_active(&b, nodes);
        give_seeds(&b);
        walk(&b, nodes);
        give_views(&b);
    }
    tsri_graph_scope(graph, -1, ""); /* ops behind it are no longer those of a layer's gradient */
    free(b.written);
    free(b.active);
    free(b.first);
    free(b.given);
}
