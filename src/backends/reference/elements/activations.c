/* backends/reference/elements/activations.c - relu, gelu, gelu_tanh, silu, tanh, sigmoid,
 * which linear and glu_linear apply too, and their derivatives.
 *
 * source  Hendrycks, Gimpel 2016, arXiv:1606.08415 (gelu); Elfwing et al. 2018,
 *         arXiv:1702.03118 (silu) */
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

/* e^-|x| / (1 + e^-|x|)^2 = s (1 - s), s = sigmoid(x): neither cancels nor overflows. */
static double bell(double x) {
    const double e = exp(-fabs(x));
    return e / ((1 + e) * (1 + e));
}

double tsri_reference_slope(uint32_t activation, double x) {
    const double c = 2 * sqrt(2 / M_PI), u = c * (x + 0.044715 * x * x * x);
    switch (activation) {
    case TSR_ACT_RELU:
        return x > 0;
    case TSR_ACT_GELU:
        return 0.5 * erfc(-x * M_SQRT1_2) + x * exp(-0.5 * x * x) / sqrt(2 * M_PI);
    case TSR_ACT_GELU_TANH: /* the derivative of x sigmoid(u) */
        return 1 / (1 + exp(-u)) + x * bell(u) * c * (1 + 3 * 0.044715 * x * x);
    case TSR_ACT_SILU:
        return 1 / (1 + exp(-x)) + x * bell(x);
    case TSR_ACT_TANH:
        return 4 * bell(2 * x);
    case TSR_ACT_SIGMOID:
        return bell(x);
    default:
        return 1;
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

#define ACTIVATION(name, activation)                                    \
    tsr_status tsri_reference_##name(const tsri_reference_call *call) { \
        return each(call, activation);                                  \
    }
ACTIVATION(relu, TSR_ACT_RELU)
ACTIVATION(gelu, TSR_ACT_GELU)
ACTIVATION(gelu_tanh, TSR_ACT_GELU_TANH)
ACTIVATION(silu, TSR_ACT_SILU)
ACTIVATION(tanh, TSR_ACT_TANH)
ACTIVATION(sigmoid, TSR_ACT_SIGMOID)
#undef ACTIVATION
