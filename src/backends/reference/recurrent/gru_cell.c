/* backends/reference/recurrent/gru_cell.c - gru_cell. The state is kept in double from step to
 * step, and rounded where it is written out.
 *
 * source  Cho et al. 2014, arXiv:1406.1078, with the bias of n inside r's product, as in PyTorch's
 *         GRUCell */
#include "backends/reference/reference.h"

#include <math.h>

typedef struct cell {
    tsri_reference_view gates, state, w, bias, len, y;
    int64_t E;
    double *h, *next; /* [E] each */
} cell;

int64_t tsri_reference_gru_cell_scratch(const tsr_op *op, const int64_t *sizes) {
    (void)sizes;
    return 2 * op->in[2]->dim[1].factor;
}

static double from_state(const cell *c, int64_t gate) {
    double sum = tsri_reference_load(&c->bias, gate * c->bias.stride[0]);
    for (int64_t k = 0; k < c->E; k++)
        sum += tsri_reference_load(&c->w, gate * c->w.stride[0] + k * c->w.stride[1]) * c->h[k];
    return sum;
}

static void step(cell *c, int64_t b, int64_t t) {
    for (int64_t e = 0; e < c->E; e++) {
        double x[3];
        for (int64_t i = 0; i < 3; i++)
            x[i] = tsri_reference_load(&c->gates, b * c->gates.stride[0] + t * c->gates.stride[1] +
                                                      (i * c->E + e) * c->gates.stride[2]);
        const double r = 1 / (1 + exp(-(x[0] + from_state(c, e)))),
                     z = 1 / (1 + exp(-(x[1] + from_state(c, c->E + e)))),
                     n = tanh(x[2] + r * from_state(c, 2 * c->E + e));
        c->next[e] = (1 - z) * n + z * c->h[e];
    }
    double *old = c->h;
    c->h = c->next;
    c->next = old;
}

tsr_status tsri_reference_gru_cell(const tsri_reference_call *call) {
    tsr_gru_cell_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    cell c = {.gates = tsri_reference_in(call, 0),
              .state = tsri_reference_in(call, 1),
              .w = tsri_reference_in(call, 2),
              .bias = tsri_reference_in(call, 3),
              .len = tsri_reference_in(call, 4),
              .y = tsri_reference_out(call, 0)};
    c.E = c.w.dim[1];
    c.h = call->scratch;
    c.next = call->scratch + c.E;
    const int64_t T = c.gates.dim[1];
    for (int64_t b = 0; b < c.gates.dim[0]; b++) {
        const int64_t limit = c.len.data ? tsri_reference_load_int(&c.len, b * c.len.stride[0]) : T;
        const int64_t n = limit < T ? limit : T;
        for (int64_t e = 0; e < c.E; e++)
            c.h[e] =
                c.state.data
                    ? tsri_reference_load(&c.state, b * c.state.stride[0] + e * c.state.stride[1])
                    : 0;
        for (int64_t i = 0; i < T; i++) {
            const int64_t t = i < n && attrs.reverse ? n - 1 - i : i;
            if (i < n)
                step(&c, b, t);
            for (int64_t e = 0; e < c.E; e++)
                tsri_reference_store(&c.y,
                                     b * c.y.stride[0] + t * c.y.stride[1] + e * c.y.stride[2],
                                     i < n ? c.h[e] : 0);
        }
    }
    return TSR_OK;
}
