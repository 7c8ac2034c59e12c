/* graph/graph.h - a graph of ops over values: built by model/ and cases/, lowered and placed by
 * run/.
 *
 * Values are SSA: each is a leaf (input, weight, state), is written once by an op, or is a view of
 * another value. Only state leaves are written in place, by ops whose row says so. Ops keep the
 * order in which they were added.
 *
 * The builder keeps its first failure: after it every call does nothing and returns
 * TSRI_GRAPH_NONE. So code can build a whole graph and check tsri_graph_status once at its end.
 */
#ifndef TSRI_GRAPH_GRAPH_H
#define TSRI_GRAPH_GRAPH_H

#include "tessera/op.h"

#include <stdbool.h>

typedef struct tsri_graph tsri_graph;
typedef int32_t tsri_value;
enum { TSRI_GRAPH_NONE = -1, TSRI_GRAPH_MAX_OPERANDS = 11 };

tsr_status tsri_graph_create(tsri_graph **out);
void tsri_graph_destroy(tsri_graph **graph);
/* TSR_OK, or the first failure of the builder, whose sentence is then put in the record again. */
tsr_status tsri_graph_status(const tsri_graph *graph);
/* Makes the graph fail, for builders above that find an error themselves. */
__attribute__((format(PRINTF, 3, 4))) void tsri_graph_fail(tsri_graph *graph, tsr_status status,
                                                           const char *format, ...);

/* Leaves. `id` is the caller's number: of an input or a state among its kind, of a weight in the
 * model's table. dims are copied. The same (kind, id) gives the same value again; dtype and dims
 * must agree. */
tsri_value tsri_graph_leaf(tsri_graph *graph, tsr_kind kind, uint32_t id, const char *name,
                           tsr_dtype dtype, uint32_t rank, const tsr_dim *dims);

/* Views, which cost neither work nor memory. reshape needs a packed value and the same number of
 * elements. */
tsri_value tsri_graph_reshape(tsri_graph *graph, tsri_value x, uint32_t rank, const tsr_dim *dims);
tsri_value tsri_graph_permute(tsri_graph *graph, tsri_value x,
                              const uint32_t *order); /* dim i of the result is dim order[i] of x */
tsri_value tsri_graph_slice(tsri_graph *graph, tsri_value x, uint32_t axis, int64_t first,
                            int64_t count); /* a constant dimension; of blocks, whole ones */
/* split: dimension `axis` becomes [outer, inner], of strided values too. expand: inserts a
 * dimension of size n that repeats (stride 0). */
tsri_value tsri_graph_split(tsri_graph *graph, tsri_value x, uint32_t axis, int64_t outer,
                            int64_t inner);
tsri_value tsri_graph_expand(tsri_graph *graph, tsri_value x, uint32_t axis, tsr_dim n);

/* A view of `storage` by a descriptor from another graph; lowering copies views in this way. */
tsri_value tsri_graph_same_view(tsri_graph *graph, tsri_value storage, const tsr_tensor *tensor);

/* x with keys in dimension `axis`, of which there are as many as queries, counted as S in place of T: the dims
 * table has no product T x T. A run of such a graph has S = T. */
tsri_value tsri_graph_as_keys(tsri_graph *graph, tsri_value x, uint32_t axis, tsr_dim T);

/* The three steps of attention - scaled QKᵀ, masked softmax, PV - which also give the probabilities
 * [B,H,T,S]. Operands and attributes are those of TSR_OP_ATTENTION; source is refused. Where the
 * number of keys is T, as that of the queries, a run must have S = T. */
void tsri_graph_attention_steps(tsri_graph *graph, const tsr_attention_attrs *attrs,
                                const tsri_value *in, uint32_t n_in, tsri_value *probabilities,
                                tsri_value *y);

/* Adds an op; checks arity and attributes, and infers its outputs (out may be NULL where there are
 * none). Missing operands are TSRI_GRAPH_NONE. Bit i of `want` asks for the optional output i;
 * required outputs are always made. */
void tsri_graph_op(tsri_graph *graph, tsr_op_id id, const void *attrs, const tsri_value *in,
                   uint32_t n_in, uint32_t want, tsri_value *out);
/* The same for an op with one output. */
tsri_value tsri_graph_op1(tsri_graph *graph, tsr_op_id id, const void *attrs, const tsri_value *in,
                          uint32_t n_in);

/* The op of a tsr_activation; NONE gives x. */
tsri_value tsri_graph_activate(tsri_graph *graph, uint32_t activation, tsri_value x);

/* Ops that are added from now on have this label prefix and layer (for placement; -1: before the
 * first layer). */
void tsri_graph_scope(tsri_graph *graph, int layer, const char *label);

/* Marks a value as an output for the host, under a number of the caller's. */
void tsri_graph_output(tsri_graph *graph, uint32_t id, const char *name, tsri_value value);

/* ---- reading ---- */

typedef struct tsri_graph_value {
    tsr_tensor tensor; /* dims, strides, offset within the storage; buf and origin unset */
    /* The value whose memory it shares; the value itself where it is not a view */
    tsri_value storage;
    uint32_t id; /* of a leaf */
    /* The node that writes it; -1 for leaves; for a view, that of its storage */
    int32_t producer;
    const char *name; /* of a leaf, else NULL */
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

/* Which ops are the last that use the states of a group: behind[g] becomes the node behind the last one of
 * group g, 0 where none of them is used. group_of gives a state's group by its id; one from n on does not
 * count. */
void tsri_graph_last_uses(const tsri_graph *graph, size_t (*group_of)(void *data, uint32_t state),
                          void *data, size_t n, size_t *behind);

/* Copies the graph and replaces each node that `keep` refuses by its decomposition, until each node
 * is kept or has no decomposition. keep is given the graph as it is then, and its node as a tsr_op
 * (bounds unset). Outputs for the host keep their marks. */
typedef bool (*tsri_graph_keep)(void *data, const tsri_graph *graph, const tsri_graph_node *node,
                                const tsr_op *op);
tsr_status tsri_graph_lower(const tsri_graph *graph, tsri_graph_keep keep, void *data,
                            tsri_graph **out);

/* Copies the graph; where `packs` says so, an op reads packed copies of those computed operands that are
 * views with gaps. It is given the node, and it as a tsr_op (bounds unset) with views and with copies. */
typedef bool (*tsri_graph_packs)(void *data, const tsri_graph *graph, const tsri_graph_node *node,
                                 const tsr_op *with_views, const tsr_op *with_copies);
tsr_status tsri_graph_pack_operands(const tsri_graph *graph, tsri_graph_packs packs, void *data,
                                    tsri_graph **out);

/* Copies the graph and makes each root-mean-square norm whose result one linear or glu_linear alone reads
 * an operand of that product, where `better` says so. Of an add_norm, the linear before it takes the sum,
 * as its residual. `better` is given each product that would change, the norm, and the product as a
 * tsr_op (bounds unset) with the new operand and without it. */
typedef bool (*tsri_graph_better)(void *data, const tsri_graph *graph,
                                  const tsri_graph_node *product, const tsri_graph_node *norm,
                                  const tsr_op *together, const tsr_op *apart);
tsr_status tsri_graph_join_norms(const tsri_graph *graph, tsri_graph_better better, void *data,
                                 tsri_graph **out);

/* A value that one part of a graph computes and another part reads. */
typedef struct tsri_graph_crossing {
    tsri_value value; /* of the whole graph: a storage */
    uint32_t id;      /* of the output of the one part and of the input of the other */
    uint32_t from, to;
    tsr_tensor tensor; /* its dims and dtype */
} tsri_graph_crossing;
/* What crosses between the parts of a graph, where part[i] has node i: ordered by value, then by the part
 * that reads. New memory. */
tsr_status tsri_graph_find_crossings(const tsri_graph *graph, const uint32_t *part,
                                     tsri_graph_crossing **out, size_t *n);
/* Copies the nodes of one part. What it reads of other parts are inputs of the copy, and what they read of
 * it are outputs, by the ids of the crossings. Of the graph's outputs it has those that it computes. */
tsr_status tsri_graph_cut(const tsri_graph *graph, const uint32_t *part, uint32_t own,
                          const tsri_graph_crossing *crossings, size_t n, tsri_graph **out);

/* A node as a tsr_op; `store` holds what that points to and must outlive it. */
typedef struct tsri_graph_op_store {
    tsr_op op;
    const tsr_tensor *in[TSRI_GRAPH_MAX_OPERANDS], *out[TSRI_GRAPH_MAX_OPERANDS];
} tsri_graph_op_store;
const tsr_op *tsri_graph_as_op(const tsri_graph *graph, const tsri_graph_node *node,
                               tsri_graph_op_store *store);

/* ---- memory ---- */

/* Kernels count the elements of a buffer by int, of blocks their bytes, which are up to 17/16 of them. */
enum { TSRI_GRAPH_MOST_ELEMENTS = INT32_MAX / 17 * 16 };

/* The place of each storage in an arena. Leaves, and values with pinned[storage] true, get none. A
 * place is used again after the last use of its value; where the op's row allows it, an output
 * takes the place of an input that is last used there. */
typedef struct tsri_graph_memory {
    /* By value index (storages only): at origin % limit of arena origin / limit, where all of it is.
     * UINT64_MAX: in no arena */
    uint64_t *origin;
    uint64_t limit;   /* no arena is larger */
    uint64_t *arenas; /* bytes of each */
    size_t n_arenas;
    uint64_t bytes; /* of all */
} tsri_graph_memory;
/* largest: of a buffer, in bytes; 0: not known. An arena is larger only where one value is. A value ends
 * within the first TSRI_GRAPH_MOST_ELEMENTS of its dtype, or begins where its arena does. */
tsr_status tsri_graph_plan_memory(const tsri_graph *graph, const tsr_bounds *bounds,
                                  const bool *pinned, uint32_t alignment, uint64_t largest,
                                  tsri_graph_memory *out);
void tsri_graph_memory_clear(tsri_graph_memory *memory);

#endif
