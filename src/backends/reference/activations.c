/* relu, gelu, gelu_tanh, silu, tanh, sigmoid; and the activation of linear and glu_linear.
 *
 * source  Hendrycks, Gimpel 2016, arXiv:1606.08415 (gelu); Elfwing et al. 2018, arXiv:1702.03118
 * (silu) */
#include "backends/reference/reference.h"

#include <math.h>

double tsri_reference_activate(uint32_t activation, double x) {
    switch (activation) {
    case TSR_ACT_RELU:
        return x < 0 ? 0 : x; /* NaN stays NaN */
    case TSR_ACT_GELU:
        return 0.5 * x * erfc(-x * M_SQRT1_2); /* 1 + erf(x) cancels for x << 0 */
    case TSR_ACT_GELU_TANH: /* (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u)), which does not cancel */
        return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case TSR_ACT_SILU:
        return x / (1 + exp(-x));
    case TSR_ACT_TANH:
        return tanh(x);
    case TSR_ACT_SIGMOID:
        return 1 / (1 + exp(-x));
    default:
        return x;
    }
}

static tsr_status each(const tsri_reference_call *call, tsr_activation activation) {
    const tsri_reference_view x = tsri_reference_in(call, 0), y = tsri_reference_out(call, 0);
    for (int64_t i = 0, n = tsri_reference_count(&y); i < n; i++) {
        const double value = tsri_reference_load(&x, tsri_reference_element_at(&x, i));
        tsri_reference_store(&y, tsri_reference_element_at(&y, i),
                             tsri_reference_activate(activation, value));
    }
    return TSR_OK;
}

tsr_status tsri_reference_relu(const tsri_reference_call *call) {
    return each(call, TSR_ACT_RELU);
}

tsr_status tsri_reference_gelu(const tsri_reference_call *call) {
    return each(call, TSR_ACT_GELU);
}

tsr_status tsri_reference_gelu_tanh(const tsri_reference_call *call) {
    return each(call, TSR_ACT_GELU_TANH);
}

tsr_status tsri_reference_silu(const tsri_reference_call *call) {
    return each(call, TSR_ACT_SILU);
}

tsr_status tsri_reference_tanh(const tsri_reference_call *call) {
    return each(call, TSR_ACT_TANH);
}

tsr_status tsri_reference_sigmoid(const tsri_reference_call *call) {
    return each(call, TSR_ACT_SIGMOID);
}
