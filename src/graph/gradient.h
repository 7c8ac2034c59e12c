/* graph/gradient.h - reverse-mode gradients, graph to graph: the backward pass is ops like any
 * other, appended to the forward graph.
 *
 * A gradient is taken of the sum of the seeds: for each seeded value, the sum of its elements times
 * those of its seed. What a parameter gets goes straight into its gradient, a state leaf: the first
 * op that writes it keeps beta times what it held, later ones add, in build order, so uses of one
 * parameter (tied weights, shared layers) and the batches of a step add up by one mechanism.
 */
#ifndef TSRI_GRAPH_GRADIENT_H
#define TSRI_GRAPH_GRADIENT_H

#include "graph/graph.h"

typedef struct tsri_graph_parameter {
    tsri_value leaf;     /* in the forward graph: f32, f16 or bf16 */
    tsri_value gradient; /* a state leaf: f32 of its shape */
} tsri_graph_parameter;

/* The rows of a loss (cross_entropy, kl_divergence) all weigh the same: its seed is one number [1].
 * Of any other value, the seed has its shape. */
typedef struct tsri_graph_seed {
    tsri_value value, seed;
} tsri_graph_seed;

typedef struct tsri_graph_gradients {
    const tsri_graph_parameter *parameters;
    size_t n_parameters;
    const tsri_graph_seed *seeds;
    size_t n_seeds;
    tsri_value beta; /* f32 [1]: what is kept of the gradients that were there; NONE: all */
    /* The nodes of each layer but the last are computed again before their backward pass, from what
     * enters the layer: activations of one layer are kept at a time. */
    bool recompute;
} tsri_graph_gradients;

/* Appends the backward pass. The graph fails with TSR_E_UNSUPPORTED, naming the op, where one that
 * a parameter reaches a seed by has no gradient. A parameter that reaches none gets nothing: its
 * gradient stays as it is. */
void tsri_graph_add_gradients(tsri_graph *graph, const tsri_graph_gradients *wanted);

/* ---- for the gradient of an op's row (ops.h) ---- */

typedef struct tsri_graph_backward tsri_graph_backward;

tsri_graph *tsri_graph_of(tsri_graph_backward *backward);
/* Whether anything that learns lies behind this operand; false for NONE. */
bool tsri_graph_wants(const tsri_graph_backward *backward, tsri_value value);
/* Adds d, of value's shape, to what value gets. */
void tsri_graph_give(tsri_graph_backward *backward, tsri_value value, tsri_value d);
/* The same of d = a b, matrices; of a parameter without a buffer between. */
void tsri_graph_give_product(tsri_graph_backward *backward, tsri_value value,
                             const tsr_matmul_attrs *attrs, tsri_value a, tsri_value b);
/* The same of rows of a table: d[ids[r],:] += scale * dy[r,:], scale and padding those of embed. */
void tsri_graph_give_rows(tsri_graph_backward *backward, tsri_value table,
                          const tsr_embed_attrs *attrs, tsri_value ids, tsri_value dy);
/* What value was given so far, as one value of its shape, which the caller must add to what it
 * gives: an op that can add on the way saves a pass. NONE where there is nothing. */
tsri_value tsri_graph_take(tsri_graph_backward *backward, tsri_value value);

/* x as it is where it is packed, else a copy. */
tsri_value tsri_graph_packed(tsri_graph *graph, tsri_value x);
/* x as a packed matrix [rows, columns]. */
tsri_value tsri_graph_matrix(tsri_graph *graph, tsri_value x);
/* x in the shape of another value with as many elements; copied where it is not packed. */
tsri_value tsri_graph_shaped(tsri_graph *graph, tsri_value x, tsri_value like);

#endif
