/* backends/opencl/variants/elements/activations.c - the variants of relu, gelu, gelu_tanh, silu,
 * tanh and sigmoid. */
#include "backends/opencl/variants/elements/plain.h"

#define ACTIVATION(id, name_)                                                                      \
    const tsri_opencl_variant tsri_opencl_variants_##name_[] = {TSRI_OPENCL_ELEMENTWISE_LANES(id), \
                                                                TSRI_OPENCL_UNARY(id)}

ACTIVATION(TSR_OP_RELU, relu);
ACTIVATION(TSR_OP_GELU, gelu);
ACTIVATION(TSR_OP_GELU_TANH, gelu_tanh);
ACTIVATION(TSR_OP_SILU, silu);
ACTIVATION(TSR_OP_TANH, tanh);
ACTIVATION(TSR_OP_SIGMOID, sigmoid);
