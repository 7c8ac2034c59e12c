/* graph/ops.h - the op table: what the graph knows of each op. One file a row: ops/<op>.c. */
#ifndef TSRI_GRAPH_OPS_H
#define TSRI_GRAPH_OPS_H

#include "graph/gradient.h"

/* What infer is given and fills: operands (NULL where missing), attributes; it writes
 * out[i].{dtype, rank, dim}. */
typedef struct tsri_graph_signature {
    uint32_t n_in;
    const tsr_tensor *in[TSRI_GRAPH_MAX_OPERANDS];
    const void *attrs;
    tsr_tensor out[TSRI_GRAPH_MAX_OPERANDS];
} tsri_graph_signature;

typedef struct tsri_graph_cost {
    double flops,
        bytes; /* of one run: a multiply-add is 2 flops; bytes that must cross memory once */
} tsri_graph_cost;

typedef struct tsri_graph_op_row {
    const char *name; /* "linear" */
    tsr_op_id id;
    uint8_t min_in, max_in, n_out;
    uint16_t optional_in;  /* bit i: in[i] may be missing */
    uint8_t optional_out;  /* bit i: out[i] is made only on request */
    uint8_t may_overwrite; /* bit i: out[0] may take the memory of in[i], where both have the same
                              size and are packed */
    uint8_t writes;        /* bit i: in[i] is a state leaf that this op writes */
    uint32_t attrs_size;   /* 0: none */
    tsr_status (*infer)(tsri_graph_signature *signature);
    /* Emits simpler ops that compute node's outputs from `in`; fills out[]. NULL: a primitive. */
    void (*decompose)(tsri_graph *graph, const tsri_graph_node *node, const tsri_value *in,
                      tsri_value *out);
    /* Whether this form of the op has one; NULL: every form. An op without runs whole somewhere. */
    bool (*decomposes)(const tsr_op *op);
    /* Emits the ops that give its operands theirs, from what its results got: d_out[i], NONE where
     * nothing. NULL: it has no gradient. */
    void (*gradient)(tsri_graph_backward *backward, const tsri_graph_node *node,
                     const tsri_value *d_out);
    tsri_graph_cost (*cost)(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]);
} tsri_graph_op_row;

/* NULL for an id that is no op. */
const tsri_graph_op_row *tsri_graph_op_find(tsr_op_id id);
const tsri_graph_op_row *tsri_graph_op_named(const char *name);
/* Whether simpler ops can say this form of it. */
bool tsri_graph_op_decomposes(const tsr_op *op);
size_t tsri_graph_op_count(void);
const tsri_graph_op_row *tsri_graph_op_at(size_t i);

#define TSRI_GRAPH_ROW(id, name, attributes) extern const tsri_graph_op_row tsri_graph_op_##name;
TSR_OP_LIST(TSRI_GRAPH_ROW)
#undef TSRI_GRAPH_ROW

#endif
