/* graph/graph.h - a graph of ops over values: built by model/ and verify/, lowered and placed by
 * run/.
 *
 * Values are SSA: each is a leaf (input, weight, state) or written once by an op, or a view of
 * another. State leaves alone are written in place, by ops whose row says so; ops keep the order in
 * which they were added.
 *
 * The builder is sticky: after the first failure every call returns TSRI_GRAPH_NONE and does
 * nothing, so code that builds reads straight through and asks tsri_graph_status once at its end.
 */
#ifndef TSRI_GRAPH_GRAPH_H
#define TSRI_GRAPH_GRAPH_H

#include "tessera/op.h"

#include <stdbool.h>

typedef struct tsri_graph tsri_graph;
typedef int32_t tsri_value;
enum { TSRI_GRAPH_NONE = -1, TSRI_GRAPH_MAX_OPERANDS = 10 };

tsr_status tsri_graph_create(tsri_graph **out);
void tsri_graph_destroy(tsri_graph **graph);
/* TSR_OK, or the first failure of the builder (its sentence is in the record when it happened;
 * given again here). */
tsr_status tsri_graph_status(const tsri_graph *graph);
/* For builders above that find an error themselves: makes the graph fail with it. */
__attribute__((format(printf, 3, 4))) void tsri_graph_fail(tsri_graph *graph, tsr_status status,
                                                           const char *format, ...);

/* Leaves. `id` is the caller's number: of an input or state among its kind, of a weight in the
 * model's table. dims are copied. The same (kind, id) asked for again gives the same value; its
 * dtype and dims must agree. */
tsri_value tsri_graph_leaf(tsri_graph *graph, tsr_kind kind, uint32_t id, const char *name,
                           tsr_dtype dtype, uint32_t rank, const tsr_dim *dims);

/* Views: no work, no memory. reshape needs a packed value and the same number of elements. */
tsri_value tsri_graph_reshape(tsri_graph *graph, tsri_value x, uint32_t rank, const tsr_dim *dims);
tsri_value tsri_graph_permute(tsri_graph *graph, tsri_value x,
                              const uint32_t *order); /* dim i of the result is dim order[i] of x */
tsri_value tsri_graph_slice(tsri_graph *graph, tsri_value x, uint32_t axis, int64_t first,
                            int64_t count); /* a constant dimension */
/* Splits dimension `axis` into [outer, inner] (strided values too), and inserts a dimension of `n`
 * that repeats (stride 0). */
tsri_value tsri_graph_split(tsri_graph *graph, tsri_value x, uint32_t axis, int64_t outer,
                            int64_t inner);
tsri_value tsri_graph_expand(tsri_graph *graph, tsri_value x, uint32_t axis, tsr_dim n);

/* A view of `storage` by a descriptor that holds for it in another graph (lowering copies views
 * so). */
tsri_value tsri_graph_same_view(tsri_graph *graph, tsri_value storage, const tsr_tensor *tensor);

/* The three steps that attention is made of - scaled QKᵀ, masked softmax, PV - with the
 * probabilities [B,H,T,S] given too. Operands and attributes as TSR_OP_ATTENTION; source is
 * refused. Where keys are counted by T, as the queries are, a run gives S = T. */
void tsri_graph_attention_steps(tsri_graph *graph, const tsr_attention_attrs *attrs,
                                const tsri_value *in, uint32_t n_in, tsri_value *probabilities,
                                tsri_value *y);

/* Adds an op; checks arity and attributes, infers its outputs (out may be NULL where it has none).
 * Missing operands are TSRI_GRAPH_NONE. `want` says which optional outputs are made: bit i for
 * output i (required ones are always made). */
void tsri_graph_op(tsri_graph *graph, tsr_op_id id, const void *attrs, const tsri_value *in,
                   uint32_t n_in, uint32_t want, tsri_value *out);
/* The same for an op of one output. */
tsri_value tsri_graph_op1(tsri_graph *graph, tsr_op_id id, const void *attrs, const tsri_value *in,
                          uint32_t n_in);

/* The op of a tsr_activation; NONE gives x. */
tsri_value tsri_graph_activate(tsri_graph *graph, uint32_t activation, tsri_value x);

/* Ops added from now on carry this label prefix and layer (placement: -1 before the first layer).
 */
void tsri_graph_scope(tsri_graph *graph, int layer, const char *label);

/* Marks a value as wanted by the host under a number of the caller's. */
void tsri_graph_output(tsri_graph *graph, uint32_t id, const char *name, tsri_value value);

/* ---- reading ---- */

typedef struct tsri_graph_value {
    tsr_tensor tensor;  /* dims, strides, offset within the storage; buf and origin unset */
    tsri_value storage; /* the value whose memory it shares; itself where it is no view */
    uint32_t id;        /* of a leaf */
    int32_t producer;   /* node that writes it; -1 for leaves; of a view: that of its storage */
    const char *name;   /* of a leaf, else NULL */
} tsri_graph_value;

typedef struct tsri_graph_node {
    tsr_op_id id;
    uint32_t n_in, n_out;
    tsri_value in[TSRI_GRAPH_MAX_OPERANDS], out[TSRI_GRAPH_MAX_OPERANDS];
    void *attrs; /* the graph's copy */
    char label[64];
    int layer;
} tsri_graph_node;

typedef struct tsri_graph_output_mark {
    uint32_t id;
    const char *name;
    tsri_value value;
} tsri_graph_output_mark;

size_t tsri_graph_value_count(const tsri_graph *graph);
const tsri_graph_value *tsri_graph_value_at(const tsri_graph *graph, tsri_value value);
size_t tsri_graph_node_count(const tsri_graph *graph);
const tsri_graph_node *tsri_graph_node_at(const tsri_graph *graph, size_t node);
size_t tsri_graph_output_count(const tsri_graph *graph);
const tsri_graph_output_mark *tsri_graph_output_at(const tsri_graph *graph, size_t i);

/* A copy of the graph in which nodes that `keep` refuses are replaced by their decompositions,
 * again and again until each is kept or has none. keep is asked with the graph at hand, and its
 * node as a tsr_op (bounds unset). Values wanted by the host keep their marks. */
typedef bool (*tsri_graph_keep)(void *data, const tsri_graph *graph, const tsri_graph_node *node,
                                const tsr_op *op);
tsr_status tsri_graph_lower(const tsri_graph *graph, tsri_graph_keep keep, void *data,
                            tsri_graph **out);

/* A node's operands as a tsr_op; `store` holds what it points to and must outlive it. */
typedef struct tsri_graph_op_store {
    tsr_op op;
    const tsr_tensor *in[TSRI_GRAPH_MAX_OPERANDS], *out[TSRI_GRAPH_MAX_OPERANDS];
} tsri_graph_op_store;
const tsr_op *tsri_graph_as_op(const tsri_graph *graph, const tsri_graph_node *node,
                               tsri_graph_op_store *store);

/* ---- memory ---- */

/* Where each storage lies in one arena. Leaves and values with pinned[storage] true get none.
 * A value's place is given to another after its last use; where an op's row allows it, an output
 * takes the place of an input that dies there. */
typedef struct tsri_graph_memory {
    uint64_t *origin; /* by value index (storages only); UINT64_MAX: not in the arena */
    uint64_t bytes;   /* of the arena */
} tsri_graph_memory;
tsr_status tsri_graph_plan_memory(const tsri_graph *graph, const tsr_bounds *bounds,
                                  const bool *pinned, uint32_t alignment, tsri_graph_memory *out);
void tsri_graph_memory_clear(tsri_graph_memory *memory);

#endif
