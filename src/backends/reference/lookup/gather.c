/* backends/reference/lookup/gather.c - the op gather. */
#include "backends/reference/lookup/rows.h"

tsr_status tsri_reference_gather(const tsri_reference_call *call) {
    return tsri_reference_pick_rows(call, "index", 1, 0, 0);
}
