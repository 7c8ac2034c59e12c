/* backends/reference/elements/mul.c - the op mul. */
#include "backends/reference/elements/elements.h"

tsr_status tsri_reference_mul(const tsri_reference_call *call) {
    return tsri_reference_binary(call, true);
}
