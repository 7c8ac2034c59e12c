/* backends/reference/elements/elements.h - what ops on single elements have in common. */
#ifndef TSRI_REFERENCE_ELEMENTS_H
#define TSRI_REFERENCE_ELEMENTS_H

#include "backends/reference/reference.h"

/* y = a + b or a * b; b is broadcast to a. */
tsr_status tsri_reference_binary(const tsri_reference_call *call, bool multiply);
/* y = x in y's dtype; where both are integers, no float is involved. */
tsr_status tsri_reference_move(const tsri_reference_call *call);

#endif
