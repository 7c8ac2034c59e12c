/* backends/reference/lookup/embed.c - the op embed. */
#include "backends/reference/lookup/rows.h"

tsr_status tsri_reference_embed(const tsri_reference_call *call) {
    tsr_embed_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    return tsri_reference_pick_rows(call, "id", attrs.scale == 0 ? 1 : attrs.scale, attrs.first,
                                    attrs.whole);
}
