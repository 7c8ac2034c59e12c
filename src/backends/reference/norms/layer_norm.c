/* backends/reference/norms/layer_norm.c - the op layer_norm.
 *
 * source  Ba et al. 2016, arXiv:1607.06450 */
#include "backends/reference/norms/norm.h"

tsr_status tsri_reference_layer_norm(const tsri_reference_call *call) {
    return tsri_reference_norm_rows(call, TSR_NORM_LAYER);
}
