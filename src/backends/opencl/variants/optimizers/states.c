/* backends/opencl/variants/optimizers/states.c - what the variants of sumsq, adamw and sgd have in
 * common. */
#include "backends/opencl/variants/optimizers/states.h"

bool tsri_opencl_state_fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                            const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i] && !tsri_tensor_is_packed(op->in[i]))
            return tsri_opencl_refuse(why, "an operand is not contiguous");
    return tsri_opencl_fits_index(op, why);
}

bool tsri_opencl_state_fits_lanes(const tsri_opencl_variant *variant,
                                  const tsri_opencl_facts *facts, const tsr_op *op,
                                  const char **why) {
    return tsri_opencl_fits_vectors(facts, why) && tsri_opencl_state_fits(variant, facts, op, why);
}

void tsri_opencl_state_operands(const tsr_op *op, const tsr_tensor *like,
                                tsri_opencl_launch *launch) {
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "N", tsri_tensor_count(like));
}

void tsri_opencl_state_element_each(const tsr_op *op, tsri_opencl_launch *launch) {
    tsri_opencl_grid(launch, 0, tsri_tensor_count(op->in[0]), 1);
    tsri_opencl_work(launch, tsri_tensor_const(16));
}
