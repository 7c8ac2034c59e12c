/* backends/reference/recurrent/gru_cell_grad.c - the gradients of gru_cell. Each step's gates are
 * formed anew from the state before it; the gradient that a step passes to the one before is kept
 * in double.
 *
 * source  Cho et al. 2014, arXiv:1406.1078, differentiated */
#include "backends/reference/recurrent/gru_cell.h"

typedef struct cell {
    tsri_reference_gru of;
    tsri_reference_view y, dy, dgates_x, dgates_h, before, dstate;
    int64_t E;
    double *carried, *next, *dh; /* [E], [E]; [3E] of a step */
} cell;

int64_t tsri_reference_gru_cell_grad_scratch(const tsr_op *op, const int64_t *sizes) {
    (void)sizes;
    return 6 * op->in[2]->dim[1].factor;
}

static int64_t at(const tsri_reference_view *x, int64_t b, int64_t t, int64_t i) {
    return b * x->stride[0] + t * x->stride[1] + i * x->stride[2];
}

/* Element e of step t; the gradient of its state is the carried gradient plus dy. */
static void one_element(const cell *c, int64_t b, int64_t t, int64_t e) {
    const int64_t E = c->E;
    const tsri_reference_gates g = tsri_reference_gru_gates(&c->of, b, t, e);
    const double dh = c->carried[e] + tsri_reference_load(&c->dy, at(&c->dy, b, t, e));
    const double dn = dh * (1 - g.z) * (1 - g.n * g.n),
                 dz = dh * (c->of.h[e] - g.n) * g.z * (1 - g.z),
                 dr = dn * g.inner * g.r * (1 - g.r);
    const double gates[3] = {dr, dz, dn};
    for (int64_t i = 0; i < 3; i++) {
        c->dh[i * E + e] = i == 2 ? dn * g.r : gates[i];
        tsri_reference_store(&c->dgates_x, at(&c->dgates_x, b, t, i * E + e), gates[i]);
        tsri_reference_store(&c->dgates_h, at(&c->dgates_h, b, t, i * E + e), c->dh[i * E + e]);
    }
    c->next[e] = dh * g.z;
}

/* Step t. The state before it is that of step `from`, or the first state where from < 0. */
static void step(cell *c, int64_t b, int64_t t, int64_t from) {
    for (int64_t e = 0; e < c->E; e++) {
        c->of.h[e] = from >= 0 ? tsri_reference_load(&c->y, at(&c->y, b, from, e))
                               : tsri_reference_gru_first(&c->of, b, e);
        tsri_reference_store(&c->before, at(&c->before, b, t, e), c->of.h[e]);
    }
    for (int64_t e = 0; e < c->E; e++)
        one_element(c, b, t, e);
    const tsri_reference_view *w = &c->of.w;
    for (int64_t k = 0; k < c->E; k++) {
        double sum = c->next[k];
        for (int64_t gate = 0; gate < 3 * c->E; gate++)
            sum += tsri_reference_load(w, gate * w->stride[0] + k * w->stride[1]) * c->dh[gate];
        c->carried[k] = sum;
    }
}

static void one_sequence(cell *c, int64_t b, bool reverse) {
    const int64_t T = c->of.gates.dim[1], n = tsri_reference_gru_steps(&c->of, b);
    for (int64_t e = 0; e < c->E; e++)
        c->carried[e] = 0;
    for (int64_t t = n; t < T; t++)
        for (int64_t e = 0; e < 3 * c->E; e++) {
            tsri_reference_store(&c->dgates_x, at(&c->dgates_x, b, t, e), 0);
            tsri_reference_store(&c->dgates_h, at(&c->dgates_h, b, t, e), 0);
            if (e < c->E)
                tsri_reference_store(&c->before, at(&c->before, b, t, e), 0);
        }
    for (int64_t i = n - 1; i >= 0; i--) {
        const int64_t t = reverse ? n - 1 - i : i;
        step(c, b, t, i == 0 ? -1 : reverse ? t + 1 : t - 1);
    }
    for (int64_t e = 0; c->dstate.data && e < c->E; e++)
        tsri_reference_store(&c->dstate, b * c->dstate.stride[0] + e * c->dstate.stride[1],
                             c->carried[e]);
}

tsr_status tsri_reference_gru_cell_grad(const tsri_reference_call *call) {
    tsr_gru_cell_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    cell c = {.of = tsri_reference_gru_of(call, 6),
              .y = tsri_reference_in(call, 4),
              .dy = tsri_reference_in(call, 5),
              .dgates_x = tsri_reference_out(call, 0),
              .dgates_h = tsri_reference_out(call, 1),
              .before = tsri_reference_out(call, 2),
              .dstate = tsri_reference_out(call, 3)};
    c.E = c.of.E;
    c.carried = c.of.h + c.E;
    c.next = c.carried + c.E;
    c.dh = c.next + c.E;
    for (int64_t b = 0; b < c.of.gates.dim[0]; b++)
        one_sequence(&c, b, attrs.reverse != 0);
    return TSR_OK;
}
