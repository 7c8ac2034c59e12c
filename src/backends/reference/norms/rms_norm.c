/* backends/reference/norms/rms_norm.c - the op rms_norm.
 *
 * source  Zhang, Sennrich 2019, arXiv:1910.07467 */
#include "backends/reference/norms/norm.h"

tsr_status tsri_reference_rms_norm(const tsri_reference_call *call) {
    return tsri_reference_norm_rows(call, TSR_NORM_RMS);
}
