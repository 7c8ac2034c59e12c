/* backends/reference/elements/cast.c - the op cast. */
#include "backends/reference/elements/elements.h"

tsr_status tsri_reference_cast(const tsri_reference_call *call) {
    return tsri_reference_move(call);
}
