/* graph/ops/recurrent/gru_cell.h - what the shape rules of gru_cell and its gradient share. */
#ifndef TSRI_GRAPH_OPS_RECURRENT_GRU_CELL_H
#define TSRI_GRAPH_OPS_RECURRENT_GRU_CELL_H

#include "graph/ops/check.h"

/* Checks gates_x [B,T,3E], state? [B,E], w [3E,E] and b [3E], inputs 0 to 3 of both ops; *E becomes
 * the size of the state. */
tsr_status tsri_graph_check_gru(const char *op, const tsri_graph_signature *s, tsr_dim *E);

#endif
