/* graph/copying.h - copies a graph node by node, for those who change it on the way. */
#ifndef TSRI_GRAPH_COPYING_H
#define TSRI_GRAPH_COPYING_H

#include "graph/graph.h"

typedef struct tsri_graph_copying {
    const tsri_graph *from;
    tsri_graph *to;
    tsri_value *map; /* value of `from` -> value of `to`, NONE where that has not been made yet */
} tsri_graph_copying;

/* After a failure, too, tsri_graph_copy_end or _give has to follow. */
tsr_status tsri_graph_copy_begin(const tsri_graph *from, tsri_graph_copying *out);
/* A value in the copy. Leaves and views are made when they are first asked for; results of ops have to
 * be in the map by then. NONE gives NONE. */
tsri_value tsri_graph_copied(tsri_graph_copying *copying, tsri_value value);
/* Adds the node to the copy as it is. */
void tsri_graph_copy_node(tsri_graph_copying *copying, const tsri_graph_node *node);
/* Marks the outputs and gives the copy; NULL where `status`, or anything before, is a failure. */
tsr_status tsri_graph_copy_end(tsri_graph_copying *copying, tsr_status status, tsri_graph **out);
/* The same with the outputs that were marked so far. */
tsr_status tsri_graph_copy_give(tsri_graph_copying *copying, tsr_status status, tsri_graph **out);

#endif
