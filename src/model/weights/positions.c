/* model/weights/positions.c - what tells a stack where tokens are: tables that the files have, and those that are
 * computed (rotary frequencies, sinusoids, biases by distance). */
#include "model/weights/define.h"
#include "model/weights/tables.h"

#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The number of positions that a stack reads. */
static int64_t read_by(const tsri_model_spec *spec, const tsri_model_stack *stack) {
    return stack->side == TSRI_SIDE_ENCODER && spec->decoder.layers ? spec->source_context
                                                                    : spec->max_positions;
}

/* Computes a bias by distance, expanded from its buckets or in proportion. */
static tsr_status compute_relative(tsri_model_finder *finder, const tsri_model_stack *stack,
                                   int32_t layer, int32_t furthest, float *values) {
    const int32_t buckets = stack->relative_buckets;
    float *table = NULL;
    if (!buckets) {
        tsri_model_alibi(furthest, stack->heads, values);
        return TSR_OK;
    }
    tsr_status status = tsri_model_find_values(finder, finder->names->relative, layer, buckets,
                                               stack->heads, &table);
    if (status == TSR_OK)
        status =
            tsri_model_relative(table, buckets, furthest, stack->heads, !stack->causal, values);
    free(table);
    return status;
}

tsr_status tsri_model_define_relative(tsri_model_finder *finder, const tsri_model_stack *stack,
                                      int32_t layer, uint32_t id) {
    const bool alibi = stack->positions == TSRI_POSITIONS_ALIBI;
    const int32_t buckets = stack->relative_buckets,
                  furthest = alibi ? (int32_t)read_by(finder->weights->spec, stack) - 1
                                   : stack->relative_distance;
    const tsri_model_source source = {.pattern = finder->names->relative, .rows = buckets};
    float *values = NULL;
    char name[64];
    if (!buckets && !alibi)
        return TSR_OK;
    if (layer >= 0)
        snprintf(name, sizeof name, "%slayers.%" PRId32 ".relative", finder->side, layer);
    else
        snprintf(name, sizeof name, "%srelative",
                 stack->side == TSRI_SIDE_ENCODER ? "encoder." : "");
    TRY(tsri_model_find_computed(finder, id, name, stack->heads, 2 * (int64_t)furthest + 1,
                                 &values));
    TRY(compute_relative(finder, stack, layer, furthest, values));
    return buckets ? tsri_model_find(finder, id + 1, layer, "relative_table", ".weight", &source, 1,
                                     stack->heads)
                   : TSR_OK;
}

/* Defines the table of disentangled attention, and its norm. */
static tsr_status define_disentangled(tsri_model_finder *finder, const tsri_model_stack *stack) {
    const int64_t C = finder->weights->spec->width;
    const tsri_model_source table = {.pattern = finder->names->distances,
                                     .rows = 2 * (int64_t)stack->distance_span};
    if (!stack->distance_span)
        return TSR_OK;
    TRY(tsri_model_find(finder, tsri_model_stack_weight(stack, TSRI_STACK_DISTANCES), -1,
                        "distances", ".weight", &table, 1, C));
    if (!stack->distance_norm)
        return TSR_OK;
    return tsri_model_define_norm(finder, stack,
                                  tsri_model_stack_weight(stack, TSRI_STACK_DISTANCE_NORM), -1,
                                  "distance_norm", finder->names->distance_norm, C);
}

tsr_status tsri_model_define_positions(tsri_model_finder *finder, const tsri_model_stack *stack,
                                       int64_t width) {
    const tsri_model_spec *spec = finder->weights->spec;
    const uint32_t id = tsri_model_stack_weight(stack, TSRI_STACK_POSITION);
    const int64_t rows = read_by(spec, stack);
    float *values = NULL;
    if (stack->positions == TSRI_POSITIONS_LEARNED) {
        const tsri_model_source position = {.pattern = finder->names->position,
                                            .rows = rows,
                                            .first = stack->position_offset,
                                            .stored = rows + stack->position_offset};
        return tsri_model_find(finder, id, -1, "position", ".weight", &position, 1, width);
    }
    if (stack->positions != TSRI_POSITIONS_SINUSOIDAL)
        return TSR_OK;
    TRY(tsri_model_find_computed(finder, id,
                                 stack->side == TSRI_SIDE_ENCODER ? "encoder.position" : "position",
                                 rows, width, &values));
    tsri_model_sinusoids(&stack->sinusoid, rows, width, values);
    return TSR_OK;
}

tsr_status tsri_model_define_distances(tsri_model_finder *finder, const tsri_model_stack *stack) {
    if (!stack->relative_by_layer)
        TRY(tsri_model_define_relative(finder, stack, -1,
                                       tsri_model_stack_weight(stack, TSRI_STACK_RELATIVE)));
    return define_disentangled(finder, stack);
}

tsr_status tsri_model_define_frequencies(tsri_model_finder *finder, const tsri_model_stack *stack) {
    const tsri_model_weights *weights = finder->weights;
    const tsri_model_rope *rope = &stack->rope;
    if (stack->positions != TSRI_POSITIONS_ROTARY)
        return TSR_OK;
    const int64_t pairs = rope->rotary / 2;
    float *frequencies = NULL, *factors = NULL;
    if (stack->local_rope.rotary) {
        TRY(tsri_model_find_computed(
            finder, tsri_model_stack_weight(stack, TSRI_STACK_LOCAL_FREQUENCIES),
            "local_rope.frequencies", stack->local_rope.rotary / 2, 0, &frequencies));
        tsri_model_rope_frequencies(&stack->local_rope, weights->spec->max_positions, 0,
                                    frequencies);
    }
    TRY(tsri_model_find_computed(finder, tsri_model_stack_weight(stack, TSRI_STACK_FREQUENCIES),
                                 "rope.frequencies", pairs, 0, &frequencies));
    tsri_model_rope_frequencies(rope, weights->spec->max_positions, 0, frequencies);
    if (!rope->factors[0])
        return TSR_OK;
    tsr_status status = tsri_model_find_values(finder, rope->factors, -1, pairs, 0, &factors);
    for (int64_t i = 0; status == TSR_OK && i < pairs; i++) {
        if (!(factors[i] > 0) || isinf(factors[i]))
            status = tsri_base_fail(
                TSR_E_FORMAT, "%s: tensor \"%s\"[%" PRId64 "] is %g; a positive number is needed",
                weights->archive->path, rope->factors + 1, i, (double)factors[i]);
        frequencies[i] /= factors[i];
    }
    free(factors);
    return status;
}
