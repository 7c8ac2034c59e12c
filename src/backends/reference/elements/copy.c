/* backends/reference/elements/copy.c - the op copy. */
#include "backends/reference/elements/elements.h"

tsr_status tsri_reference_copy(const tsri_reference_call *call) {
    return tsri_reference_move(call);
}
