/* graph/ops.h - the op table: what the graph knows about each op besides its operands
 * (tensor/operands.h). Each row has a file of its own: ops/<kind>/<op>.c; only
 * those of relu, gelu and their like are together in ops/elements/activations.c. */
#ifndef TSRI_GRAPH_OPS_H
#define TSRI_GRAPH_OPS_H

#include "graph/gradient.h"
#include "tensor/operands.h"

/* What infer gets and fills: it gets operands (NULL where missing) and attributes, and writes
 * out[i].{dtype, rank, dim}; a result that these operands don't have keeps dtype 0. */
typedef struct tsri_graph_signature {
    uint32_t n_in;
    const tsr_tensor *in[TSRI_GRAPH_MAX_OPERANDS];
    const void *attrs;
    tsr_tensor out[TSRI_GRAPH_MAX_OPERANDS];
    uint32_t made; /* bit i: result i is made even if nobody asks for it */
} tsri_graph_signature;

typedef struct tsri_graph_cost {
    double flops,
        /* Of one run: a multiply-add is 2 flops; bytes are those that must be read or written
         * once */
        bytes;
} tsri_graph_cost;

typedef struct tsri_graph_op_row {
    const char *name; /* "linear" */
    tsr_op_id id;
    uint32_t attrs_size; /* 0: no attributes */
    tsr_status (*infer)(tsri_graph_signature *signature);
    /* Emits simpler ops that compute the node's outputs from `in`; fills out[]. NULL: a primitive
     * op. */
    void (*decompose)(tsri_graph *graph, const tsri_graph_node *node, const tsri_value *in,
                      tsri_value *out);
    /* Whether this form of the op has a decomposition; NULL: every form has. An op without one must
     * run whole, on some device. */
    bool (*decomposes)(const tsr_op *op);
    /* Emits the ops that compute the gradients of its operands from those of its results: d_out[i],
     * NONE where there is none. NULL: the op has no gradient. */
    void (*gradient)(tsri_graph_backward *backward, const tsri_graph_node *node,
                     const tsri_value *d_out);
    /* Result 0 is a loss whose rows all weigh the same: d_out[0] is one number [1]. */
    bool one_seed;
    tsri_graph_cost (*cost)(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]);
} tsri_graph_op_row;

/* NULL for an id that is not an op. */
const tsri_graph_op_row *tsri_graph_op_find(tsr_op_id id);
const tsri_graph_op_row *tsri_graph_op_named(const char *name);
/* Whether simpler ops can compute this form of the op. */
bool tsri_graph_op_decomposes(const tsr_op *op);
size_t tsri_graph_op_count(void);
const tsri_graph_op_row *tsri_graph_op_at(size_t i);

/* Of a tensor at the sizes of a run; 0 for NULL. */
double tsri_graph_tensor_bytes(const tsr_tensor *tensor, const int64_t sizes[TSR_SYMBOLS]);

#define TSRI_GRAPH_ROW(id, name, attributes) extern const tsri_graph_op_row tsri_graph_op_##name;
TSR_OP_LIST(TSRI_GRAPH_ROW)
#undef TSRI_GRAPH_ROW

#endif
