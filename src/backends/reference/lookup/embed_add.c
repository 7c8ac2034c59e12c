/* backends/reference/lookup/embed_add.c - the gradients of embed and gather: rows that share an id
 * are added. */
#include "backends/reference/reference.h"

static double beta_of(const tsri_reference_view *beta) {
    return beta->data ? tsri_reference_load(beta, 0) : 1;
}

/* The sum of a whole row is formed in double before it is stored. */
static void add_row(const tsri_reference_view *state, int64_t v, const tsri_reference_view *ids,
                    const tsri_reference_view *dy, double beta, double scale, bool learns) {
    const int64_t n = tsri_reference_count(ids);
    for (int64_t c = 0; c < state->dim[1]; c++) {
        const int64_t at = v * state->stride[0] + c * state->stride[1];
        double sum = 0;
        for (int64_t i = 0; i < n && learns; i++)
            if (tsri_reference_load_int(ids, tsri_reference_element_at(ids, i)) == v)
                sum += tsri_reference_load(dy, tsri_reference_row_at(dy, i) +
                                                   c * tsri_reference_step(dy));
        const double before = beta == 0 ? 0 : beta * tsri_reference_load(state, at);
        tsri_reference_store(state, at, before + scale * sum);
    }
}

tsr_status tsri_reference_embed_add(const tsri_reference_call *call) {
    tsr_embed_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view state = tsri_reference_in(call, 0), ids = tsri_reference_in(call, 1),
                              dy = tsri_reference_in(call, 2), beta = tsri_reference_in(call, 3);
    for (int64_t v = 0; v < state.dim[0]; v++)
        add_row(&state, v, &ids, &dy, beta_of(&beta), attrs.scale == 0 ? 1 : attrs.scale,
                v + 1 != (int64_t)attrs.padding);
    return TSR_OK;
}

tsr_status tsri_reference_scatter(const tsri_reference_call *call) {
    const tsri_reference_view index = tsri_reference_in(call, 1), dy = tsri_reference_in(call, 2),
                              dx = tsri_reference_out(call, 0);
    for (int64_t r = 0; r < dx.dim[0]; r++)
        add_row(&dx, r, &index, &dy, 0, 1, true);
    return TSR_OK;
}
