/* graph/gradient_views.h - gradients of views, for the backward pass alone. */
#ifndef TSRI_GRAPH_GRADIENT_VIEWS_H
#define TSRI_GRAPH_GRADIENT_VIEWS_H

#include "graph/gradient.h"

/* What one op contributes to the gradient of a value: the descriptor of that value, and a gradient
 * of its shape. */
typedef struct tsri_graph_contribution {
    tsri_value view, d;
    int32_t next; /* the next contribution to the same storage; -1: none */
} tsri_graph_contribution;

typedef struct tsri_graph_columns { /* neighbouring columns of a storage, seen as rows of `width` */
    int64_t width, first, n;
    tsri_value d; /* [rows, n] */
} tsri_graph_columns;

/* The contribution with its dimensions from the outermost to the innermost of the storage, without those of
 * one element; of an empty storage, all of it. Keys that are the run's own tokens, S of them, become T tokens as in the
 * storage. */
tsri_graph_contribution tsri_graph_in_order(tsri_graph *graph, tsri_value storage,
                                            const tsri_graph_contribution *given);

/* Of a contribution in that order: d in the storage's shape, where the view is the whole storage; else
 * NONE. */
tsri_value tsri_graph_as_whole(tsri_graph *graph, tsri_value storage,
                               const tsri_graph_contribution *c);

/* The same: d as a matrix, where the view is neighbouring columns of the storage, seen as a matrix, perhaps
 * with its last dimension split. */
bool tsri_graph_as_columns(tsri_graph *graph, tsri_value storage, const tsri_graph_contribution *c,
                           tsri_graph_columns *out);

/* x, packed, with other dimensions. They may be those of a value, which can move. */
tsri_value tsri_graph_reshaped(tsri_graph *graph, tsri_value x, uint32_t rank, const tsr_dim *dims);

#endif
