/* model/weights/lookup.c - computes the ids of weights, and looks weights up in the table. */
#include "model/weights/weights.h"

#include "tensor/convert.h"
#include "tensor/quantize.h"

uint32_t tsri_model_stack_weight(const tsri_model_stack *stack, tsri_model_stack_role role) {
    return TSRI_WEIGHT_STACKS + (uint32_t)stack->side * TSRI_WEIGHT_PER_STACK + role;
}

uint32_t tsri_model_layer_weight(const tsri_model_spec *spec, const tsri_model_stack *stack,
                                 int32_t layer, tsri_model_role role) {
    const int32_t before =
        stack->side == TSRI_SIDE_ENCODER ? tsri_model_stack_groups(&spec->decoder) : 0;
    if (stack->groups)
        layer = layer / (stack->layers / stack->groups);
    return TSRI_WEIGHT_LAYERS + (uint32_t)(before + layer) * TSRI_WEIGHT_PER_LAYER + role;
}

const tsri_model_weight *tsri_model_weight_at(const tsri_model_weights *weights, uint32_t id) {
    return id < weights->count && weights->items[id].name[0] ? &weights->items[id] : NULL;
}

const tsri_model_part *tsri_model_weight_part(const tsri_model_weight *weight,
                                              const tsri_io_array *array) {
    for (int i = 0; i < weight->n_parts; i++)
        if (weight->parts[i].array == array)
            return &weight->parts[i];
    return NULL;
}

bool tsri_model_has_output(const tsri_model_weights *weights) {
    return tsri_model_weight_at(weights, TSRI_WEIGHT_HEAD) ||
           (weights->spec->tied &&
            (weights->spec->decoder.layers || tsri_model_has_masked(weights)));
}

bool tsri_model_has_masked(const tsri_model_weights *weights) {
    return weights->spec->bare_masked || tsri_model_weight_at(weights, TSRI_WEIGHT_MASKED_DENSE);
}

tsr_compute tsri_model_weight_compute(const tsri_model_weights *weights,
                                      const tsri_model_weight *weight) {
    const tsr_model_compute wanted = weights->keeping.compute;
    if (tsri_tensor_is_kept_blocks(weight->dtype) &&
        (wanted == TSR_MODEL_COMPUTE_INT8 ||
         (wanted == TSR_MODEL_COMPUTE_AUTO && !weights->keeping.slow_int8 &&
          !weights->keeping.float_blocks)))
        return TSR_COMPUTE_INT8;
    if (wanted == TSR_MODEL_COMPUTE_AUTO && weight->dtype == TSR_BF16 && weights->keeping.fast_bf16)
        return TSR_COMPUTE_BF16;
    return wanted == TSR_MODEL_COMPUTE_F16    ? TSR_COMPUTE_F16
           : wanted == TSR_MODEL_COMPUTE_BF16 ? TSR_COMPUTE_BF16
                                              : TSR_COMPUTE_F32;
}

tsri_model_role tsri_model_weight_role(uint32_t id) {
    return id < TSRI_WEIGHT_LAYERS
               ? TSRI_WEIGHT_PER_LAYER
               : (tsri_model_role)((id - TSRI_WEIGHT_LAYERS) % TSRI_WEIGHT_PER_LAYER);
}

bool tsri_model_weight_is_relative(const tsri_model_spec *spec, uint32_t id) {
    const tsri_model_role role = tsri_model_weight_role(id);
    return role == TSRI_ROLE_RELATIVE || role == TSRI_ROLE_RELATIVE_TABLE ||
           id == tsri_model_stack_weight(&spec->decoder, TSRI_STACK_RELATIVE) ||
           id == tsri_model_stack_weight(&spec->decoder, TSRI_STACK_RELATIVE_TABLE) ||
           id == tsri_model_stack_weight(&spec->encoder, TSRI_STACK_RELATIVE) ||
           id == tsri_model_stack_weight(&spec->encoder, TSRI_STACK_RELATIVE_TABLE);
}

bool tsri_model_weight_is_of_experts(uint32_t id) {
    const tsri_model_role role = tsri_model_weight_role(id);
    return role >= TSRI_ROLE_ROUTER && role <= TSRI_ROLE_SHARED_ROUTER;
}

bool tsri_model_weight_is_choice_bias(uint32_t id) {
    return tsri_model_weight_role(id) == TSRI_ROLE_CHOICE_BIAS;
}

uint64_t tsri_model_weight_elements(const tsri_model_weight *weight) {
    return (uint64_t)weight->dims[0] * (weight->rank == 2 ? (uint64_t)weight->dims[1] : 1);
}

/* Both stacks have the same roles, and only one of a model has experts. */
double tsri_model_weight_active(const tsri_model_weights *weights, uint32_t id) {
    const tsri_model_stack *stack = tsri_model_main_stack(weights->spec);
    const double elements = (double)tsri_model_weight_elements(&weights->items[id]);
    const tsri_model_role role = tsri_model_weight_role(id);
    return role >= TSRI_ROLE_EXPERTS_UP && role <= TSRI_ROLE_EXPERTS_DOWN_BIAS
               ? elements * stack->experts_used / stack->experts
               : elements;
}

uint64_t tsri_model_weights_bytes(const tsri_model_weights *weights) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < weights->count; i++) {
        const tsri_model_weight *weight = tsri_model_weight_at(weights, i);
        uint64_t bytes = 0;
        if (weight && tsri_tensor_bytes(weight->dtype, tsri_model_weight_elements(weight), &bytes))
            total += bytes;
    }
    return total;
}
