/* run/parts.h - weights that are larger than one buffer of a device, or have more elements than an
 * int counts: parts of their rows.
 *
 * A matrix [outputs, inputs] that `linear` multiplies by, or a table that `embed` looks up, is split
 * by rows: parts of whole tiles of 64 rows, each in a buffer of its own, and the op becomes one op
 * for each part. Those of linear write columns of the same result, and every sum is formed as it
 * would be by one op; those of embed write the rows of the ids that they have. The weights of
 * experts are split by experts, and an op writes the rows of those that it has. So the bytes are the
 * same. An op that can't take its weight in parts is not offered by the device: glu_linear is
 * decomposed. */
#ifndef TSRI_RUN_PARTS_H
#define TSRI_RUN_PARTS_H

#include "graph/graph.h"
#include "tessera/backend.h"

/* The rows that stay together in any part of an op's weight: those of an expert, or of a tile. */
int64_t tsri_run_part_unit(tsr_op_id op, const tsr_tensor *operand);
/* The rows of each part but the last, which may have fewer; 0: the weight is one buffer, or can't be
 * split. */
int64_t tsri_run_part_rows(const tsr_facts *facts, const tsr_tensor *weight, int64_t unit);

/* Whether the operand has the rows of the weight as they are stored, all of them: the weight itself or,
 * of experts, [E,outputs,inputs] of [E*outputs,inputs]. */
bool tsri_run_is_whole(const tsr_tensor *operand, const tsr_tensor *weight);
/* Whether a value is of a weight that stays in plain rows, because some op of the graph reads it by a view
 * that is not whole: the strides of views are those of plain rows. */
bool tsri_run_stays_plain(const tsri_graph *graph, tsri_value value);

/* The rows of a part of the weight that the node reads, as above; -1: it reads a weight in parts
 * that it can't take so. */
int64_t tsri_run_node_part_rows(const tsr_facts *facts, const tsri_graph *graph,
                                const tsri_graph_node *node);

/* The operand of an op that may be in parts: of a product or embed. */
uint32_t tsri_run_part_operand(tsr_op_id op);

/* The op over `count` rows of its weight, from row `first` on, whose operands are copies. */
typedef struct tsri_run_part {
    tsr_op op;
    const tsr_tensor *in[TSRI_GRAPH_MAX_OPERANDS], *out[TSRI_GRAPH_MAX_OPERANDS];
    tsr_tensor weight, bias, residual, result;
    tsr_embed_attrs embed;
    tsr_linear_attrs linear;
    tsr_glu_linear_attrs glu;
} tsri_run_part;
void tsri_run_part_make(const tsr_op *whole, int64_t first, int64_t count, tsri_run_part *out);

#endif
