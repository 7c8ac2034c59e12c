/* model/blocks/builder.c - the pieces that all blocks are built from: inputs, weights, linear
 * layers, norms, look-ups. */
#include "model/blocks/builder.h"

#include "model/weights/beside.h"
#include "tensor/shape.h"

#include <inttypes.h>
#include <stdio.h>

tsr_dim tsri_model_B(void) {
    return tsri_tensor_symbol(TSR_SYM_B);
}

tsr_dim tsri_model_T(void) {
    return tsri_tensor_symbol(TSR_SYM_T);
}

/* The place of a layer among those of both stacks. They take turns, by how deep a layer lies in its
 * stack, because ranks get layers that follow one another: a rank with half of one stack's layers then
 * has about half of the other's. Both stacks keep their order; of equally deep layers the encoder's comes
 * first. */
static int32_t place_of(const tsri_model_builder *b, const tsri_model_stack *stack, int32_t layer) {
    const bool encoder = stack->side == TSRI_SIDE_ENCODER;
    const tsri_model_stack *other = encoder ? &b->spec->decoder : &b->spec->encoder;
    const int64_t own = (2 * (int64_t)layer + 1) * other->layers;
    int32_t before = 0; /* layers of the other stack */
    if (layer < 0 || b->shape->learning)
        return layer;
    while (before < other->layers &&
           (2 * (int64_t)before + 1) * stack->layers < own + (encoder ? 0 : 1))
        before++;
    return layer + before;
}

void tsri_model_scope(tsri_model_builder *b, const tsri_model_stack *stack, int32_t layer,
                      const char *label) {
    tsri_graph_scope(b->graph, place_of(b, stack, layer), label);
}

void tsri_model_stage(tsri_model_builder *b, int32_t layer, const char *part) {
    char label[64];
    snprintf(label, sizeof label, "%slayers.%" PRId32 ".%s",
             b->stack->side == TSRI_SIDE_ENCODER && b->spec->decoder.layers ? "encoder." : "",
             layer, part);
    tsri_model_scope(b, b->stack, layer, label);
}

tsri_model_distances tsri_model_builder_distances(const tsri_model_builder *b) {
    const int64_t reach = b->shape->reach ? b->shape->reach : b->spec->max_positions - 1;
    return tsri_model_distances_of(b->stack, reach);
}

/* In a training graph that also has a decoder, the encoder has its own inputs. */
static tsri_model_input side_input(const tsri_model_builder *b, tsri_model_input id) {
    if (!b->shape->learning || b->stack->side != TSRI_SIDE_ENCODER || !b->spec->decoder.layers)
        return id;
    return id == TSRI_INPUT_IDS         ? TSRI_INPUT_SOURCE_IDS
           : id == TSRI_INPUT_POSITIONS ? TSRI_INPUT_SOURCE_POSITIONS
           : id == TSRI_INPUT_LEN       ? TSRI_INPUT_SOURCE_LEN
                                        : id;
}

tsri_value tsri_model_input_of(tsri_model_builder *b, tsri_model_input id) {
    static const struct {
        const char *name;
        uint32_t rank;
    } inputs[TSRI_INPUT_COUNT] = {[TSRI_INPUT_IDS] = {"ids", 2},
                                  [TSRI_INPUT_POSITIONS] = {"positions", 2},
                                  [TSRI_INPUT_PAST] = {"past", 1},
                                  [TSRI_INPUT_LEN] = {"len", 1},
                                  [TSRI_INPUT_SLOT] = {"slot", 1},
                                  [TSRI_INPUT_ROWS] = {"rows", 1},
                                  [TSRI_INPUT_TYPES] = {"types", 2},
                                  [TSRI_INPUT_FREQUENCIES] = {"frequencies", 1},
                                  [TSRI_INPUT_KEYS] = {"keys", 2},
                                  [TSRI_INPUT_SOURCE] = {"source", 1},
                                  [TSRI_INPUT_SOURCE_LEN] = {"source_len", 1},
                                  [TSRI_INPUT_TOKEN] = {"token", 1},
                                  [TSRI_INPUT_STATE] = {"state", 1},
                                  [TSRI_INPUT_SOURCE_IDS] = {"source_ids", 2},
                                  [TSRI_INPUT_SOURCE_POSITIONS] = {"source_positions", 2},
                                  [TSRI_INPUT_SEED] = {"seed", 1},
                                  [TSRI_INPUT_BUCKETS] = {"buckets", 1},
                                  [TSRI_INPUT_OWN_BUCKETS] = {"own_buckets", 1},
                                  [TSRI_INPUT_DISTANCES] = {"distances", 1},
                                  [TSRI_INPUT_PLACES] = {"places", 1},
                                  [TSRI_INPUT_TAPS] = {"taps", 1},
                                  [TSRI_INPUT_TAP_MASK] = {"tap_mask", 2},
                                  [TSRI_INPUT_DRAW_RATE] = {"draw_rate", 1},
                                  [TSRI_INPUT_DRAW] = {"draw", 2},
                                  [TSRI_INPUT_ENCODED] = {"encoded", 3},
                                  [TSRI_INPUT_PAGES] = {"pages", 2}};
    const bool is_float = id == TSRI_INPUT_FREQUENCIES || id == TSRI_INPUT_DRAW_RATE ||
                          id == TSRI_INPUT_ENCODED || id == TSRI_INPUT_TAP_MASK;
    tsr_dim dims[3] = {tsri_model_B(), b->T, tsri_tensor_const(b->spec->width)};
    id = side_input(b, id);
    if (id == TSRI_INPUT_ROWS || id == TSRI_INPUT_DRAW_RATE || id == TSRI_INPUT_DRAW)
        dims[0] = tsri_tensor_symbol(TSR_SYM_N);
    if (id == TSRI_INPUT_DRAW)
        dims[1] = tsri_tensor_const(4);
    if (id == TSRI_INPUT_FREQUENCIES)
        dims[0] = tsri_tensor_const(b->stack->rope.rotary / 2);
    else if (id == TSRI_INPUT_KEYS)
        dims[1] = tsri_tensor_const(b->shape->capacity);
    else if (id == TSRI_INPUT_PAGES)
        dims[1] = tsri_tensor_const(b->shape->capacity / TSRI_MODEL_PAGE);
    else if (id == TSRI_INPUT_SEED)
        dims[0] = tsri_tensor_const(4);
    else if (id == TSRI_INPUT_BUCKETS || id == TSRI_INPUT_OWN_BUCKETS)
        dims[0] = tsri_tensor_const(2 * (int64_t)b->stack->relative_distance + 1);
    else if (id == TSRI_INPUT_DISTANCES)
        dims[0] = tsri_tensor_const(tsri_model_builder_distances(b).rows);
    else if (id == TSRI_INPUT_PLACES)
        dims[0] = tsri_tensor_const(2 * (int64_t)tsri_model_builder_distances(b).reach + 1);
    else if (id == TSRI_INPUT_TAPS || id == TSRI_INPUT_TAP_MASK) {
        dims[0] = tsri_tensor_times(tsri_model_B(), b->T);
        dims[0].factor *= b->stack->conv_taps;
        dims[1] = tsri_tensor_const(1);
    }
    return tsri_graph_leaf(b->graph, TSR_KIND_INPUT, id, inputs[id].name,
                           is_float ? TSR_F32 : TSR_I32, inputs[id].rank, dims);
}

uint32_t tsri_model_builder_weight(const tsri_model_builder *b, int32_t layer,
                                   tsri_model_role role) {
    return tsri_model_layer_weight(b->spec, b->stack, layer, role);
}

bool tsri_model_builder_has(const tsri_model_builder *b, uint32_t id) {
    return tsri_model_weight_at(b->weights, id) != NULL;
}

tsri_value tsri_model_drop(tsri_model_builder *b, tsri_value x) {
    const tsri_model_learning *learning = b->shape->learning;
    return learning ? learning->drop(b, x, TSRI_DROPPED_BRANCH) : x;
}

tsri_value tsri_model_drop_inner(tsri_model_builder *b, tsri_value x) {
    const tsri_model_learning *learning = b->shape->learning;
    return learning ? learning->drop(b, x, TSRI_DROPPED_INNER) : x;
}

tsri_value tsri_model_parameter(tsri_model_builder *b, uint32_t id) {
    const tsri_model_learning *learning = b->shape->learning;
    return learning ? learning->parameter(b, id) : TSRI_GRAPH_NONE;
}

tsri_value tsri_model_weight_leaf(tsri_model_builder *b, uint32_t id) {
    const tsri_model_weight *w = tsri_model_weight_at(b->weights, id);
    const tsri_value parameter = tsri_model_parameter(b, id);
    if (!w || parameter != TSRI_GRAPH_NONE)
        return parameter;
    const tsr_dim dims[] = {tsri_tensor_const(w->dims[0]), tsri_tensor_const(w->dims[1])};
    return tsri_graph_leaf(b->graph, TSR_KIND_WEIGHT, id, w->name, w->dtype, w->rank, dims);
}

uint32_t tsri_model_products(const tsri_model_builder *b, uint32_t id) {
    const tsri_model_weight *w = tsri_model_weight_at(b->weights, id);
    if (b->shape->learning)
        return b->shape->learning->compute;
    return w ? tsri_model_weight_compute(b->weights, w) : TSR_COMPUTE_F32;
}

uint32_t tsri_model_attention_products(const tsri_model_builder *b, uint32_t id) {
    const uint32_t compute = tsri_model_products(b, id);
    return compute == TSR_COMPUTE_INT8 ? TSR_COMPUTE_F32 : compute;
}

bool tsri_model_builder_has_beside(const tsri_model_builder *b, uint32_t id) {
    uint32_t ids[2];
    return tsri_model_beside_ids(b->weights, id, ids);
}

/* What adapters add to a product beside its weight, (x A') B' + residual; the residual where they add
 * nothing. */
static tsri_value beside(tsri_model_builder *b, tsri_value x, uint32_t id, tsri_value residual) {
    const tsr_linear_attrs attrs = {
        .struct_size = sizeof attrs, .trans_w = 1, .compute = TSR_COMPUTE_F32};
    uint32_t ids[2];
    if (!tsri_model_beside_ids(b->weights, id, ids))
        return residual;
    const tsri_value low[] = {x, tsri_model_weight_leaf(b, ids[0])};
    const tsri_value in[] = {tsri_graph_op1(b->graph, TSR_OP_LINEAR, &attrs, low, 2),
                             tsri_model_weight_leaf(b, ids[1]), TSRI_GRAPH_NONE, residual};
    return tsri_graph_op1(b->graph, TSR_OP_LINEAR, &attrs, in, 4);
}

/* act(x w + bias + addend) + residual, with the activation as an op of its own: in a training graph the
 * backward pass reads what it was applied to. */
static tsri_value linear_by_steps(tsri_model_builder *b, tsri_value x, uint32_t id,
                                  tsr_activation activation, tsri_value addend,
                                  tsri_value residual) {
    const tsr_linear_attrs attrs = {
        .struct_size = sizeof attrs, .trans_w = 1, .compute = tsri_model_products(b, id)};
    const bool both = residual != TSRI_GRAPH_NONE && addend != TSRI_GRAPH_NONE;
    const bool after = activation != TSR_ACT_NONE && residual != TSRI_GRAPH_NONE;
    const tsri_value in[] = {x, tsri_model_weight_leaf(b, id), tsri_model_weight_leaf(b, id + 1),
                             addend != TSRI_GRAPH_NONE || after ? addend : residual};
    tsri_value y = tsri_graph_op1(b->graph, TSR_OP_LINEAR, &attrs, in, 4);
    y = tsri_graph_activate(b->graph, activation, y);
    return both || after
               ? tsri_graph_op1(b->graph, TSR_OP_ADD, NULL, (tsri_value[]){y, residual}, 2)
               : y;
}

tsri_value tsri_model_linear(tsri_model_builder *b, tsri_value x, uint32_t id,
                             tsr_activation activation, tsri_value residual) {
    if (b->shape->learning)
        return linear_by_steps(b, x, id, activation, b->shape->learning->addend(b, x, id),
                               residual);
    if (activation != TSR_ACT_NONE && tsri_model_builder_has_beside(b, id))
        return linear_by_steps(b, x, id, activation, beside(b, x, id, TSRI_GRAPH_NONE), residual);
    const tsr_linear_attrs attrs = {.struct_size = sizeof attrs,
                                    .trans_w = 1,
                                    .activation = activation,
                                    .compute = tsri_model_products(b, id)};
    const tsri_value in[] = {x, tsri_model_weight_leaf(b, id), tsri_model_weight_leaf(b, id + 1),
                             beside(b, x, id, residual)};
    return tsri_graph_op1(b->graph, TSR_OP_LINEAR, &attrs, in, 4);
}

tsri_value tsri_model_norm(tsri_model_builder *b, tsri_value x, uint32_t id) {
    const tsr_norm_attrs attrs = {
        .struct_size = sizeof attrs, .norm = b->stack->norm, .eps = b->stack->norm_eps};
    const tsri_value in[] = {x, tsri_model_weight_leaf(b, id), tsri_model_weight_leaf(b, id + 1)};
    const bool rms = b->stack->norm == TSR_NORM_RMS;
    return tsri_graph_op1(b->graph, rms ? TSR_OP_RMS_NORM : TSR_OP_LAYER_NORM, &attrs, in,
                          rms ? 2 : 3);
}

void tsri_model_add_norm(tsri_model_builder *b, tsri_value addend, uint32_t id) {
    const tsr_norm_attrs attrs = {
        .struct_size = sizeof attrs, .norm = b->stack->norm, .eps = b->stack->norm_eps};
    const tsri_value in[] = {addend, b->x, tsri_model_weight_leaf(b, id),
                             b->stack->norm == TSR_NORM_RMS ? TSRI_GRAPH_NONE
                                                            : tsri_model_weight_leaf(b, id + 1)};
    tsri_value out[2] = {TSRI_GRAPH_NONE, TSRI_GRAPH_NONE};
    tsri_graph_op(b->graph, TSR_OP_ADD_NORM, &attrs, in, 4, 0, out);
    b->x = out[0];
    b->y = out[1];
}

tsri_value tsri_model_lookup(tsri_model_builder *b, uint32_t table, tsri_model_input ids,
                             float scale) {
    const bool words = ids == TSRI_INPUT_IDS || ids == TSRI_INPUT_TOKEN;
    const tsr_embed_attrs attrs = {
        .struct_size = sizeof attrs,
        .scale = scale,
        .padding = words && b->spec->pad_fixed ? (uint32_t)(b->spec->pad + 1) : 0};
    const tsri_value in[] = {tsri_model_weight_leaf(b, table), tsri_model_input_of(b, ids)};
    return tsri_graph_op1(b->graph, TSR_OP_EMBED, &attrs, in, 2);
}

tsri_value tsri_model_pick(tsri_model_builder *b, tsri_value x, int64_t columns) {
    const tsr_dim dims[] = {tsri_tensor_times(tsri_model_B(), b->T), tsri_tensor_const(columns)};
    const tsri_value in[] = {tsri_graph_reshape(b->graph, x, 2, dims),
                             tsri_model_input_of(b, TSRI_INPUT_ROWS)};
    return tsri_graph_op1(b->graph, TSR_OP_GATHER, NULL, in, 2);
}

static tsr_rope_attrs rope_of(tsri_model_builder *b, tsri_model_rotation rotation,
                              tsri_value *frequencies) {
    const bool local = rotation == TSRI_ROTATION_LOCAL;
    const tsri_model_rope *rope = local ? &b->stack->local_rope : &b->stack->rope;
    const tsri_model_stack_role role =
        local ? TSRI_STACK_LOCAL_FREQUENCIES : TSRI_STACK_FREQUENCIES;
    *frequencies = TSRI_GRAPH_NONE;
    if (rotation == TSRI_ROTATION_NONE)
        return (tsr_rope_attrs){.struct_size = sizeof(tsr_rope_attrs)};
    *frequencies = tsri_model_rope_is_given(rope)
                       ? tsri_model_input_of(b, TSRI_INPUT_FREQUENCIES)
                       : tsri_model_weight_leaf(b, tsri_model_stack_weight(b->stack, role));
    return (tsr_rope_attrs){.struct_size = sizeof(tsr_rope_attrs),
                            .rotary = (uint32_t)rope->rotary,
                            .interleaved = rope->interleaved,
                            .magnitude = (float)rope->magnitude};
}

tsr_rope_attrs tsri_model_rotation_of(tsri_model_builder *b, int32_t layer,
                                      tsri_value *frequencies) {
    return rope_of(
        b, b->stack->kv_latent ? TSRI_ROTATION_NONE : tsri_model_layer_rotation(b->stack, layer),
        frequencies);
}

tsri_value tsri_model_rotated(tsri_model_builder *b, int32_t layer, tsri_value x) {
    return b->stack->kv_latent ? x : tsri_model_rotated_part(b, layer, x);
}

tsri_value tsri_model_rotated_part(tsri_model_builder *b, int32_t layer, tsri_value x) {
    tsri_value frequencies;
    const tsr_rope_attrs attrs =
        rope_of(b, tsri_model_layer_rotation(b->stack, layer), &frequencies);
    if (!attrs.rotary)
        return x;
    const tsri_value in[] = {x, tsri_model_input_of(b, TSRI_INPUT_POSITIONS), frequencies};
    return tsri_graph_op1(b->graph, TSR_OP_ROPE, &attrs, in, 3);
}

tsri_value tsri_model_scaled(tsri_model_builder *b, tsri_value x, float alpha) {
    const tsr_scale_attrs attrs = {.struct_size = sizeof attrs, .alpha = alpha};
    return alpha == 1 ? x : tsri_graph_op1(b->graph, TSR_OP_SCALE, &attrs, &x, 1);
}
