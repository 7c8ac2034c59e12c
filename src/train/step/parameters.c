/* train/step/parameters.c - decides which weights learn, and numbers their parameters and states.
 */
#include "train/step/parameters.h"

uint32_t tsri_training_parameter_state(uint32_t parameter, tsri_training_part part) {
    return parameter * TSRI_PARTS + part;
}

uint32_t tsri_training_adapter_parameter(const tsri_model_weights *weights, uint32_t id, int part) {
    return weights->count + id * TSRI_ADAPTER_PARTS + (uint32_t)part;
}

int tsri_training_adapted_runs(const tsri_model_weights *weights, uint32_t id,
                               tsri_training_adapted runs[TSRI_TRAINING_RUNS]) {
    const tsri_model_weight *w = tsri_model_weight_at(weights, id);
    int n = 0;
    if (id < TSRI_WEIGHT_LAYERS || !w || w->rank != 2 || tsri_model_weight_is_of_experts(id) ||
        tsri_model_weight_is_relative(weights->spec, id))
        return 0;
    for (int i = 0; i < w->n_parts; i++) {
        const tsri_model_part *part = &w->parts[i];
        if (!n || runs[n - 1].array != part->array)
            runs[n++] = (tsri_training_adapted){.array = part->array};
        runs[n - 1].rows += part->rows;
    }
    return n;
}

bool tsri_training_weight_learns(const tsri_model_weights *weights,
                                 const tsri_training_options *options, uint32_t id) {
    const tsri_model_weight *w = tsri_model_weight_at(weights, id);
    if (!w || !w->n_parts || (id == TSRI_WEIGHT_HEAD_BIAS && weights->spec->head_bias_fixed) ||
        tsri_model_weight_is_choice_bias(id))
        return false;
    return options->learns == TSRI_LEARNS_ALL ||
           (options->learns == TSRI_LEARNS_HEAD && id >= TSRI_WEIGHT_HEAD &&
            id <= TSRI_WEIGHT_LABEL_BIAS);
}
