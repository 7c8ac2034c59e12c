/* graph/gradient.h - reverse-mode gradients: the backward pass is made of ordinary ops, which are
 * appended to the forward graph.
 *
 * The function whose gradient is taken is a sum over the seeded values: of each, the sum of its
 * elements times those of its seed. Contributions to a parameter go directly into its gradient, a
 * state leaf: the first op that writes it keeps beta times the old contents, and later ones add, in
 * build order; those to permuted views and to columns of it are put together and added last. So the
 * uses of one parameter (tied weights, shared layers) and the batches of a step are added up in the
 * same way.
 */
#ifndef TSRI_GRAPH_GRADIENT_H
#define TSRI_GRAPH_GRADIENT_H

#include "graph/graph.h"

typedef struct tsri_graph_parameter {
    tsri_value leaf;     /* in the forward graph: f32, f16 or bf16 */
    tsri_value gradient; /* a state leaf: f32 of its shape */
} tsri_graph_parameter;

/* The rows of a loss (cross_entropy, kl_divergence) all weigh the same: its seed is one number [1].
 * The seed of any other value is f32 of the shape of that value, which may be a view or a leaf. The
 * seeds of one value are added. */
typedef struct tsri_graph_seed {
    tsri_value value, seed;
} tsri_graph_seed;

typedef struct tsri_graph_gradients {
    const tsri_graph_parameter *parameters;
    size_t n_parameters;
    const tsri_graph_seed *seeds;
    size_t n_seeds;
    tsri_value beta; /* f32 [1]: the factor of the old gradients; NONE: 1 */
    /* The nodes of each layer except the last are computed again, from the inputs of the layer,
     * before their backward pass; so only the activations of one layer are kept at a time. */
    bool recompute;
} tsri_graph_gradients;

/* Appends the backward pass. Where an op between a parameter and a seed has no gradient (or writes a
 * state, which another reads), the graph fails with TSR_E_UNSUPPORTED and a sentence that names the
 * op. The gradient of a parameter on which no seed depends stays as it is. What is added later has no label
 * prefix and layer -1, until tsri_graph_scope gives others. */
void tsri_graph_add_gradients(tsri_graph *graph, const tsri_graph_gradients *wanted);

/* ---- for `gradient` in the rows of the op table (ops.h) ---- */

typedef struct tsri_graph_backward tsri_graph_backward;

tsri_graph *tsri_graph_of(tsri_graph_backward *backward);
/* Whether this operand depends on a parameter; false for NONE. */
bool tsri_graph_wants(const tsri_graph_backward *backward, tsri_value value);
/* Adds d, of value's shape, to the gradient of value. */
void tsri_graph_give(tsri_graph_backward *backward, tsri_value value, tsri_value d);
/* The same for d = a b, matrices; for a parameter of rank 2 without a buffer in between. */
void tsri_graph_give_product(tsri_graph_backward *backward, tsri_value value,
                             const tsr_matmul_attrs *attrs, tsri_value a, tsri_value b);
/* The same for rows of a table: d[ids[r],:] += scale * dy[r,:], with scale and padding as in
 * embed. */
void tsri_graph_give_rows(tsri_graph_backward *backward, tsri_value table,
                          const tsr_embed_attrs *attrs, tsri_value ids, tsri_value dy);
/* The same for the weights of experts, [E,M,N], perhaps in another shape of the parameter's:
 * expert_matmul_add of a and b. */
void tsri_graph_give_experts(tsri_graph_backward *backward, tsri_value weight, tsri_value a,
                             tsri_value b, tsri_value experts);
/* Takes the contributions to value so far, as one value of its shape; NONE where there are none.
 * The caller must add it to what it gives: an op that can add it on the way saves a pass. */
tsri_value tsri_graph_take(tsri_graph_backward *backward, tsri_value value);

/* x itself where it is packed, else a packed copy. */
tsri_value tsri_graph_packed(tsri_graph *graph, tsri_value x);
/* x as a packed matrix [rows, columns]. */
tsri_value tsri_graph_matrix(tsri_graph *graph, tsri_value x);
/* x in the shape of another value with as many elements; copied where it is not packed. */
tsri_value tsri_graph_shaped(tsri_graph *graph, tsri_value x, tsri_value like);

#endif
