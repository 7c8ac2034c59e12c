/* task/show/dump_side.c - makes sequences without padding from a padded batch. */
#include "task/show/dump.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>

static bool is_token(const tsri_task_dump_side *side, int64_t i) {
    return !side->mask || side->mask[i];
}

/* Takes token t of row b; `before` tokens of the row that are not padding precede it. */
static tsr_status take_token(tsri_task_dump_side *side, int64_t b, int64_t t, int64_t before) {
    const int64_t i = b * side->T + t, id = side->ids[i], type = side->types ? side->types[i] : 0,
                  position = side->positions                    ? side->positions[i]
                             : side->stack->positions_of_tokens ? before
                                                                : t;
    if (id < 0 || id >= side->vocab)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s[%" PRId64 "][%" PRId64 "] is %" PRId64
                              ": the model's vocabulary has the ids 0 to %" PRId32,
                              side->input, b, t, id, side->vocab - 1);
    if (position < 0 || position >= side->context)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the position of %s[%" PRId64 "][%" PRId64 "] is %" PRId64
                              ": the model reads the positions 0 to %" PRId64,
                              side->input, b, t, position, side->context - 1);
    if (type < 0 || type > INT32_MAX)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "token_type_ids[%" PRId64 "][%" PRId64 "] is %" PRId64
                              ": it must be from 0 to 2147483647",
                              b, t, type);
    side->flat[side->N] = (int32_t)id;
    side->flat_positions[side->N] = (int32_t)position;
    side->flat_types[side->N] = (int32_t)type;
    side->place[side->N++] = t;
    return TSR_OK;
}

/* Whether scores between tokens of a row that spans so many places depend on their distance there, which is smaller
 * once the row is compacted. Rotary positions are given, so they keep it. */
static bool counts_distances(const tsri_model_stack *stack, int64_t span) {
    bool windowed = false;
    for (int32_t l = 0; l < stack->layers; l++)
        windowed |= tsri_model_layer_window(stack, l) > 0;
    return stack->relative_buckets || stack->distance_span || stack->conv_taps ||
           (stack->positions == TSRI_POSITIONS_ALIBI && !stack->positions_of_tokens) ||
           (windowed && span > stack->window);
}

static tsr_status take_row(tsri_task_dump_side *side, int64_t b) {
    const int64_t first = side->N;
    for (int64_t t = 0; t < side->T; t++)
        if (is_token(side, b * side->T + t))
            TRY(take_token(side, b, t, side->N - first));
    const int64_t n = side->N - first;
    if (!n)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "row %" PRId64 " of the attention mask of %s masks all tokens: at "
                              "least one must stay",
                              b, side->input);
    const int64_t span = side->place[side->N - 1] - side->place[first] + 1;
    if (span != n && counts_distances(side->stack, span))
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "row %" PRId64 " of the attention mask of %s leaves out tokens in "
            "its middle, which is not supported for a model that counts distances",
            b, side->input);
    side->sequences[b] =
        (tsri_model_sequence){.ids = side->flat + first,
                              .positions = side->flat_positions + first,
                              .types = side->types ? side->flat_types + first : NULL,
                              .n = n,
                              .slot = (int32_t)b,
                              .source = (int32_t)b};
    return TSR_OK;
}

tsr_status tsri_task_dump_compact(tsri_task_dump_side *side) {
    size_t cells = 0;
    if (side->B < 1 || side->T < 1 || side->B > INT32_MAX ||
        !tsri_base_mul((size_t)side->B, (size_t)side->T, &cells) || cells > INT32_MAX)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s has %" PRId64 " rows of %" PRId64
                              " tokens: there must be at least one of each",
                              side->input, side->B, side->T);
    if (side->T > side->context)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a row of %s has %" PRId64 " tokens, but the model reads %" PRId64,
                              side->input, side->T, side->context);
    TRY(tsri_base_new(cells, sizeof *side->flat, &side->flat));
    TRY(tsri_base_new(cells, sizeof *side->flat_positions, &side->flat_positions));
    TRY(tsri_base_new(cells, sizeof *side->flat_types, &side->flat_types));
    TRY(tsri_base_new(cells, sizeof *side->place, &side->place));
    TRY(tsri_base_new((size_t)side->B, sizeof *side->sequences, &side->sequences));
    for (int64_t b = 0; b < side->B; b++)
        TRY(take_row(side, b));
    return TSR_OK;
}

tsr_status tsri_task_dump_room(tsri_task_dump_side *side, int32_t width, bool attention) {
    const size_t layers = (size_t)side->stack->layers;
    size_t shares = 0;
    TRY(tsri_base_new(layers + 1, sizeof *side->hidden, &side->hidden));
    for (size_t l = 0; l <= layers; l++)
        TRY(tsri_base_new((size_t)side->N * (size_t)width, sizeof **side->hidden,
                          &side->hidden[l]));
    if (!attention)
        return TSR_OK;
    for (int64_t b = 0; b < side->B; b++)
        shares += (size_t)side->stack->heads * (size_t)side->sequences[b].n *
                  (size_t)side->sequences[b].n;
    TRY(tsri_base_new(layers, sizeof *side->attention, &side->attention));
    for (size_t l = 0; l < layers; l++)
        TRY(tsri_base_new(shares, sizeof **side->attention, &side->attention[l]));
    return TSR_OK;
}

void tsri_task_dump_side_clear(tsri_task_dump_side *side) {
    const int32_t layers = side->stack ? side->stack->layers : 0;
    for (int32_t l = 0; side->hidden && l <= layers; l++)
        free(side->hidden[l]);
    for (int32_t l = 0; side->attention && l < layers; l++)
        free(side->attention[l]);
    free(side->hidden);
    free(side->attention);
    free(side->flat);
    free(side->flat_positions);
    free(side->flat_types);
    free(side->place);
    free(side->sequences);
}
