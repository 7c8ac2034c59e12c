/* backends/reference/recurrent/gru_cell.h - what gru_cell and its gradient share: their first
 * inputs, and the gates of a step. */
#ifndef TSRI_REFERENCE_RECURRENT_GRU_CELL_H
#define TSRI_REFERENCE_RECURRENT_GRU_CELL_H

#include "backends/reference/reference.h"

typedef struct tsri_reference_gru {
    tsri_reference_view gates, state, w, bias, len;
    int64_t E;
    double *h; /* [E], the state before the step */
} tsri_reference_gru;

/* Reads inputs 0 to 3, and the lengths as input `len`; h is the start of the scratch. */
tsri_reference_gru tsri_reference_gru_of(const tsri_reference_call *call, int len);
/* The steps of sequence b. */
int64_t tsri_reference_gru_steps(const tsri_reference_gru *cell, int64_t b);
/* Element e of its first state. */
double tsri_reference_gru_first(const tsri_reference_gru *cell, int64_t b, int64_t e);

/* n = tanh(x_n + r inner) */
typedef struct tsri_reference_gates {
    double r, z, n, inner;
} tsri_reference_gates;
tsri_reference_gates tsri_reference_gru_gates(const tsri_reference_gru *cell, int64_t b, int64_t t,
                                              int64_t e);

#endif
