/* backends/reference/elements/add.c - the op add. */
#include "backends/reference/elements/elements.h"

tsr_status tsri_reference_add(const tsri_reference_call *call) {
    return tsri_reference_binary(call, false);
}
