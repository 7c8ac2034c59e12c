/* backends/reference/lookup/embed_add.c - the op embed_add, the gradient of embed: rows that
 * share an id are added. */
#include "backends/reference/lookup/rows.h"

static double beta_of(const tsri_reference_view *beta) {
    return beta->data ? tsri_reference_load(beta, 0) : 1;
}

tsr_status tsri_reference_embed_add(const tsri_reference_call *call) {
    tsr_embed_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view state = tsri_reference_in(call, 0), ids = tsri_reference_in(call, 1),
                              dy = tsri_reference_in(call, 2), beta = tsri_reference_in(call, 3);
    for (int64_t v = 0; v < state.dim[0]; v++)
        tsri_reference_add_row(&state, v, &ids, &dy, beta_of(&beta),
                               attrs.scale == 0 ? 1 : attrs.scale, v + 1 != (int64_t)attrs.padding);
    return TSR_OK;
}
