/* run/parts.h - weights that are larger than one buffer of a device: parts of their rows.
 *
 * A matrix [outputs, inputs] that `linear` multiplies by is split by outputs: parts of whole tiles of
 * 64 rows, each in a buffer of its own, and the op becomes one op for each part. The ops write
 * columns of the same result, and every sum is formed as it would be by one op, so the bytes are the
 * same. An op that can't take its weight in parts is not offered by the device: glu_linear is
 * decomposed, embed runs on the reference. */
#ifndef TSRI_RUN_PARTS_H
#define TSRI_RUN_PARTS_H

#include "graph/graph.h"
#include "tessera/backend.h"

/* The rows of each part but the last, which may have fewer; 0: the weight is one buffer, or can't be
 * split. */
int64_t tsri_run_part_rows(const tsr_facts *facts, const tsr_tensor *weight);

/* The rows of a part of the weight that the node reads, as above; -1: it reads a weight in parts
 * that it can't take so. */
int64_t tsri_run_node_part_rows(const tsr_facts *facts, const tsri_graph *graph,
                                const tsri_graph_node *node);

/* A linear op over `count` rows of its weight, from row `first` on, whose operands are copies. */
enum { TSRI_RUN_PART_WEIGHT = 1 }; /* the operand */
typedef struct tsri_run_part {
    tsr_op op;
    const tsr_tensor *in[TSRI_GRAPH_MAX_OPERANDS], *out[TSRI_GRAPH_MAX_OPERANDS];
    tsr_tensor weight, bias, residual, result;
} tsri_run_part;
void tsri_run_part_make(const tsr_op *whole, int64_t first, int64_t count, tsri_run_part *out);

#endif
