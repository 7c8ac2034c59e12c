/* backends/reference/recurrent/gru_cell.c - gru_cell. The state is kept in double from step to
 * step, and rounded where it is written out.
 *
 * source  Cho et al. 2014, arXiv:1406.1078, with the bias of n inside r's product, as in PyTorch's
 *         GRUCell */
#include "backends/reference/recurrent/gru_cell.h"

#include <math.h>

tsri_reference_gru tsri_reference_gru_of(const tsri_reference_call *call, int len) {
    return (tsri_reference_gru){.gates = tsri_reference_in(call, 0),
                                .state = tsri_reference_in(call, 1),
                                .w = tsri_reference_in(call, 2),
                                .bias = tsri_reference_in(call, 3),
                                .len = tsri_reference_in(call, len),
                                .E = tsri_reference_in(call, 2).dim[1],
                                .h = call->scratch};
}

int64_t tsri_reference_gru_steps(const tsri_reference_gru *cell, int64_t b) {
    const int64_t T = cell->gates.dim[1],
                  n = cell->len.data ? tsri_reference_load_int(&cell->len, b * cell->len.stride[0])
                                     : T;
    return n < 0 ? 0 : n < T ? n : T;
}

double tsri_reference_gru_first(const tsri_reference_gru *cell, int64_t b, int64_t e) {
    const tsri_reference_view *state = &cell->state;
    return state->data ? tsri_reference_load(state, b * state->stride[0] + e * state->stride[1])
                       : 0;
}

static double from_state(const tsri_reference_gru *c, int64_t gate) {
    double sum = tsri_reference_load(&c->bias, gate * c->bias.stride[0]);
    for (int64_t k = 0; k < c->E; k++)
        sum += tsri_reference_load(&c->w, gate * c->w.stride[0] + k * c->w.stride[1]) * c->h[k];
    return sum;
}

tsri_reference_gates tsri_reference_gru_gates(const tsri_reference_gru *cell, int64_t b, int64_t t,
                                              int64_t e) {
    const int64_t E = cell->E, at = b * cell->gates.stride[0] + t * cell->gates.stride[1];
    double x[3];
    for (int64_t i = 0; i < 3; i++)
        x[i] = tsri_reference_load(&cell->gates, at + (i * E + e) * cell->gates.stride[2]);
    const double inner = from_state(cell, 2 * E + e),
                 r = 1 / (1 + exp(-(x[0] + from_state(cell, e)))),
                 z = 1 / (1 + exp(-(x[1] + from_state(cell, E + e))));
    return (tsri_reference_gates){.r = r, .z = z, .n = tanh(x[2] + r * inner), .inner = inner};
}

int64_t tsri_reference_gru_cell_scratch(const tsr_op *op, const int64_t *sizes) {
    (void)sizes;
    return 2 * op->in[2]->dim[1].factor;
}

/* Gives the state after step t to `next`, and exchanges the two. */
static void step(tsri_reference_gru *c, double **next, int64_t b, int64_t t) {
    double *old = c->h;
    for (int64_t e = 0; e < c->E; e++) {
        const tsri_reference_gates g = tsri_reference_gru_gates(c, b, t, e);
        (*next)[e] = (1 - g.z) * g.n + g.z * old[e];
    }
    c->h = *next;
    *next = old;
}

tsr_status tsri_reference_gru_cell(const tsri_reference_call *call) {
    tsr_gru_cell_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    tsri_reference_gru c = tsri_reference_gru_of(call, 4);
    const tsri_reference_view y = tsri_reference_out(call, 0);
    double *next = c.h + c.E;
    const int64_t T = c.gates.dim[1];
    for (int64_t b = 0; b < c.gates.dim[0]; b++) {
        const int64_t n = tsri_reference_gru_steps(&c, b);
        for (int64_t e = 0; e < c.E; e++)
            c.h[e] = tsri_reference_gru_first(&c, b, e);
        for (int64_t i = 0; i < T; i++) {
            const int64_t t = i < n && attrs.reverse ? n - 1 - i : i;
            if (i < n)
                step(&c, &next, b, t);
            for (int64_t e = 0; e < c.E; e++)
                tsri_reference_store(&y, b * y.stride[0] + t * y.stride[1] + e * y.stride[2],
                                     i < n ? c.h[e] : 0);
        }
    }
    return TSR_OK;
}
