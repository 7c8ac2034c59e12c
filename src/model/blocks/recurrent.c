/* model/blocks/recurrent.c - stacks of gated recurrent units. An encoder reads a text in both
 * directions; a decoder takes one token of each sequence a run, because what a step attends to
 * depends on the state before it.
 *
 * The decoder's states are kept in [slots + sources, 1, capacity, E]. The state after token t of a
 * sequence is at place t of its slot, so a beam search reorders nothing. The state that a text
 * begins with is at place 0 of its source's slot, which follows all others. A step reads one
 * row. */
#include "model/blocks/builder.h"

#include "tensor/shape.h"

typedef tsri_model_builder builder;

static tsr_dim K(int64_t n) {
    return tsri_tensor_const(n);
}

static uint32_t weight_of(const builder *b, const tsri_model_stack *stack, tsri_model_role role) {
    return tsri_model_layer_weight(b->spec, stack, 0, role);
}

/* f32 whatever the dtype of keys and values: every step that follows depends on the state. */
static tsri_value states(builder *b) {
    const tsr_dim dims[] = {K(b->shape->slots + b->shape->sources), K(1), K(b->shape->capacity),
                            K(b->spec->decoder.recurrent)};
    return tsri_graph_leaf(b->graph, TSR_KIND_STATE, b->shape->first_state, "states", TSR_F32, 4,
                           dims);
}

/* What a source slot keeps for attention: part 0 is its keys, part 1 the encoder's states. */
static tsri_value kept(builder *b, int part) {
    const tsri_model_stack *stack = &b->spec->decoder;
    const tsr_dim dims[] = {K(b->shape->sources), K(1), K(b->shape->source_capacity),
                            K(part ? stack->value_size : stack->head_size)};
    return tsri_graph_leaf(b->graph, TSR_KIND_STATE, b->shape->first_state + 2 + (uint32_t)part,
                           part ? "source_values" : "source_keys", b->shape->kv_dtype, 4, dims);
}

/* The same without the axis of its one head, as additive attention reads it. */
static tsri_value read_kept(builder *b, int part) {
    const tsri_value x = kept(b, part);
    if (x == TSRI_GRAPH_NONE)
        return x;
    const tsr_tensor t = tsri_graph_value_at(b->graph, x)->tensor;
    return tsri_graph_reshape(b->graph, x, 3, (tsr_dim[]){t.dim[0], t.dim[2], t.dim[3]});
}

/* The product with x, then the unit: its weights are the role `gates` and the next ones. */
static tsri_value unit(builder *b, tsri_value x, tsri_value state, tsri_value len,
                       tsri_model_role gates, bool reverse) {
    const uint32_t id = weight_of(b, b->stack, gates);
    const tsr_gru_cell_attrs attrs = {.struct_size = sizeof attrs, .reverse = reverse};
    const tsri_value in[] = {tsri_model_linear(b, x, id, TSR_ACT_NONE, TSRI_GRAPH_NONE), state,
                             tsri_model_weight_leaf(b, id + 2), tsri_model_weight_leaf(b, id + 3),
                             len};
    return tsri_graph_op1(b->graph, TSR_OP_GRU_CELL, &attrs, in, 5);
}

/* The hidden states of a recurrent stack are all its states: what enters it has another width. */
static void give_hidden(builder *b, tsri_value states) {
    for (uint32_t i = 0; b->shape->hidden && i < 2; i++)
        tsri_graph_output(b->graph, TSRI_OUTPUT_HIDDEN + i, "hidden", states);
}

/* y: both directions concatenated; x: the direction that reads backwards. */
static void encoder(builder *b) {
    const uint32_t table = b->spec->source_embed
                               ? tsri_model_stack_weight(b->stack, TSRI_STACK_EMBED)
                               : TSRI_WEIGHT_EMBED;
    tsri_model_stage(b, 0, "embed");
    const tsri_value words = tsri_model_lookup(b, table, TSRI_INPUT_IDS, b->spec->embed_scale),
                     len = tsri_model_input_of(b, TSRI_INPUT_LEN);
    tsri_model_stage(b, 0, "forward");
    const tsri_value forward = unit(b, words, TSRI_GRAPH_NONE, len, TSRI_ROLE_FORWARD, false);
    tsri_model_stage(b, 0, "backward");
    b->x = unit(b, words, TSRI_GRAPH_NONE, len, TSRI_ROLE_BACKWARD, true);
    tsri_model_stage(b, 0, "states");
    b->y = tsri_graph_op1(b->graph, TSR_OP_CONCAT, NULL, (tsri_value[]){forward, b->x}, 2);
    give_hidden(b, b->y);
}

void tsri_model_recurrent_source(builder *b) {
    const tsri_model_stack *stack = &b->spec->decoder;
    const tsr_pool_attrs first = {.struct_size = sizeof first, .kind = TSR_POOL_FIRST};
    const tsr_rope_attrs plain = {.struct_size = sizeof plain};
    const tsr_dim B = tsri_model_B(), T = tsri_model_T();
    const tsri_value past = tsri_model_input_of(b, TSRI_INPUT_PAST),
                     len = tsri_model_input_of(b, TSRI_INPUT_LEN);
    tsri_model_stage(b, 0, "init");
    const tsri_value ends =
        tsri_graph_op1(b->graph, TSR_OP_POOL, &first, (tsri_value[]){b->x, len}, 2);
    const tsri_value begin = tsri_model_linear(b, ends, weight_of(b, stack, TSRI_ROLE_INIT),
                                               TSR_ACT_TANH, TSRI_GRAPH_NONE);
    const tsri_value one[] = {
        states(b),
        tsri_graph_reshape(b->graph, begin, 4, (tsr_dim[]){B, K(1), K(1), K(stack->recurrent)}),
        past, len, tsri_model_input_of(b, TSRI_INPUT_STATE)};
    tsri_value nothing = TSRI_GRAPH_NONE;
    tsri_graph_op(b->graph, TSR_OP_KV_APPEND, NULL, one, 5, 0, &nothing);
    tsri_model_stage(b, 0, "keys");
    const tsri_value keys = tsri_model_linear(b, b->y, weight_of(b, stack, TSRI_ROLE_CROSS_KV),
                                              TSR_ACT_NONE, TSRI_GRAPH_NONE);
    const tsri_value in[] = {
        kept(b, 0),
        kept(b, 1),
        tsri_graph_reshape(b->graph, keys, 4, (tsr_dim[]){B, T, K(1), K(stack->head_size)}),
        tsri_graph_reshape(b->graph, b->y, 4, (tsr_dim[]){B, T, K(1), K(stack->value_size)}),
        past,
        len,
        tsri_model_input_of(b, TSRI_INPUT_SLOT)};
    tsri_graph_op(b->graph, TSR_OP_QKV_APPEND, &plain, in, 7, 0, &nothing);
}

/* What the previous state attends to: [B, 2E of the encoder]. */
static tsri_value context(builder *b, tsri_value before) {
    const tsri_model_stack *stack = b->stack;
    const tsr_dim B = tsri_model_B();
    tsri_value out[2] = {TSRI_GRAPH_NONE, TSRI_GRAPH_NONE};
    tsri_model_stage(b, 0, "query");
    const tsri_value q = tsri_model_linear(b, before, weight_of(b, stack, TSRI_ROLE_CROSS_Q),
                                           TSR_ACT_NONE, TSRI_GRAPH_NONE);
    const tsri_value in[] = {
        tsri_graph_reshape(b->graph, q, 3, (tsr_dim[]){B, K(1), K(stack->head_size)}),
        read_kept(b, 0),
        tsri_model_weight_leaf(b, weight_of(b, stack, TSRI_ROLE_SCORE)),
        read_kept(b, 1),
        tsri_model_input_of(b, TSRI_INPUT_SOURCE_LEN),
        tsri_model_input_of(b, TSRI_INPUT_SOURCE)};
    tsri_model_stage(b, 0, "attention");
    tsri_graph_op(b->graph, TSR_OP_ADDITIVE_ATTENTION, NULL, in, 6, b->shape->cross ? 2 : 0, out);
    if (b->shape->cross)
        tsri_graph_output(b->graph, TSRI_OUTPUT_CROSS, "cross", out[1]);
    return tsri_graph_reshape(b->graph, out[0], 2, (tsr_dim[]){B, K(stack->value_size)});
}

static void decoder(builder *b) {
    const tsri_model_stack *stack = b->stack;
    const int64_t E = stack->recurrent, W = b->spec->embed_width + stack->value_size;
    const tsr_dim B = tsri_model_B();
    const tsri_value memory = states(b);
    tsri_model_stage(b, 0, "embed");
    const tsri_value word =
        tsri_model_lookup(b, TSRI_WEIGHT_EMBED, TSRI_INPUT_TOKEN, b->spec->embed_scale);
    const tsr_dim rows[] = {K((b->shape->slots + (int64_t)b->shape->sources) * b->shape->capacity),
                            K(E)};
    const tsri_value place[] = {tsri_graph_reshape(b->graph, memory, 2, rows),
                                tsri_model_input_of(b, TSRI_INPUT_STATE)};
    const tsri_value before = tsri_graph_op1(b->graph, TSR_OP_GATHER, NULL, place, 2);
    const tsri_value seen = context(b, before);
    tsri_model_stage(b, 0, "step");
    const tsri_value x =
        tsri_graph_op1(b->graph, TSR_OP_CONCAT, NULL, (tsri_value[]){word, seen}, 2);
    const tsri_value step = unit(b, tsri_graph_reshape(b->graph, x, 3, (tsr_dim[]){B, K(1), K(W)}),
                                 before, TSRI_GRAPH_NONE, TSRI_ROLE_FORWARD, false);
    const tsri_value in[] = {
        memory, tsri_graph_reshape(b->graph, step, 4, (tsr_dim[]){B, K(1), K(1), K(E)}),
        tsri_model_input_of(b, TSRI_INPUT_PAST), tsri_model_input_of(b, TSRI_INPUT_LEN),
        tsri_model_input_of(b, TSRI_INPUT_SLOT)};
    tsri_value nothing = TSRI_GRAPH_NONE;
    tsri_graph_op(b->graph, TSR_OP_KV_APPEND, NULL, in, 5, 0, &nothing);
    give_hidden(b, step);
    tsri_model_stage(b, 0, "pick");
    const tsri_value all[] = {tsri_graph_reshape(b->graph, step, 2, (tsr_dim[]){B, K(E)}), seen,
                              word};
    const tsri_value wanted[] = {tsri_graph_op1(b->graph, TSR_OP_CONCAT, NULL, all, 3),
                                 tsri_model_input_of(b, TSRI_INPUT_ROWS)};
    b->y = tsri_graph_op1(b->graph, TSR_OP_GATHER, NULL, wanted, 2);
    b->picked = true;
}

/* The [B, n] of each step stacked to [B, steps, n]. */
static tsri_value stacked(builder *b, tsri_value *steps, int64_t count, int64_t n) {
    enum { SIDES = 4 };
    int64_t left = count;
    while (left > 1) {
        int64_t made = 0;
        for (int64_t i = 0; i < left; i += SIDES) {
            const uint32_t taken = (uint32_t)(left - i < SIDES ? left - i : SIDES);
            steps[made++] = taken == 1
                                ? steps[i]
                                : tsri_graph_op1(b->graph, TSR_OP_CONCAT, NULL, steps + i, taken);
        }
        left = made;
    }
    return tsri_graph_reshape(b->graph, steps[0], 3, (tsr_dim[]){tsri_model_B(), K(count), K(n)});
}

typedef struct unrolled {                /* a decoder with a known number of steps */
    tsri_value words, keys, values, len; /* words [B, T * W] */
    tsri_value state;                    /* [B, E] */
} unrolled;

/* One step: gives the row that the head reads, made from state, context and word. */
static tsri_value unrolled_step(builder *b, unrolled *u, int64_t t) {
    const tsri_model_stack *stack = b->stack;
    const int64_t E = stack->recurrent, W = b->spec->embed_width, Dv = stack->value_size;
    const tsr_dim B = tsri_model_B();
    tsri_value out[2] = {TSRI_GRAPH_NONE, TSRI_GRAPH_NONE};
    const tsri_value q = tsri_model_linear(b, u->state, weight_of(b, stack, TSRI_ROLE_CROSS_Q),
                                           TSR_ACT_NONE, TSRI_GRAPH_NONE);
    const tsri_value in[] = {
        tsri_graph_reshape(b->graph, q, 3, (tsr_dim[]){B, K(1), K(stack->head_size)}), u->keys,
        tsri_model_weight_leaf(b, weight_of(b, stack, TSRI_ROLE_SCORE)), u->values, u->len};
    tsri_graph_op(b->graph, TSR_OP_ADDITIVE_ATTENTION, NULL, in, 5, 2, out);
    const tsri_value seen = tsri_graph_reshape(b->graph, out[0], 2, (tsr_dim[]){B, K(Dv)}),
                     place = tsri_graph_slice(b->graph, u->words, 1, t * W, W),
                     word = tsri_graph_op1(b->graph, TSR_OP_COPY, NULL, &place, 1),
                     x = tsri_graph_op1(b->graph, TSR_OP_CONCAT, NULL, (tsri_value[]){word, seen},
                                        2),
                     y = unit(b,
                              tsri_graph_reshape(b->graph, x, 3, (tsr_dim[]){B, K(1), K(W + Dv)}),
                              u->state, TSRI_GRAPH_NONE, TSRI_ROLE_FORWARD, false);
    u->state = tsri_graph_reshape(b->graph, y, 2, (tsr_dim[]){B, K(E)});
    return tsri_graph_op1(b->graph, TSR_OP_CONCAT, NULL, (tsri_value[]){u->state, seen, word}, 3);
}

/* For a training graph: the steps one after the other, as many as the graph is built for, each
 * after the correct token. x is the encoder's backward states, y those of both directions. */
static void unrolled_decoder(builder *b) {
    enum { MOST_STEPS = 512 };
    const tsri_model_stack *stack = b->stack;
    const int64_t T = b->T.factor, W = b->spec->embed_width,
                  row = stack->recurrent + stack->value_size + W;
    const tsr_pool_attrs first = {.struct_size = sizeof first, .kind = TSR_POOL_FIRST};
    tsri_value rows[MOST_STEPS];
    if (T > MOST_STEPS) {
        tsri_graph_fail(b->graph, TSR_E_UNSUPPORTED,
                        "a recurrent decoder can learn from texts of at most %d tokens",
                        MOST_STEPS);
        return;
    }
    unrolled u = {.values = b->y, .len = tsri_model_input_of(b, TSRI_INPUT_SOURCE_LEN)};
    tsri_model_stage(b, 0, "init");
    const tsri_value ends =
        tsri_graph_op1(b->graph, TSR_OP_POOL, &first, (tsri_value[]){b->x, u.len}, 2);
    u.state = tsri_model_linear(b, ends, weight_of(b, stack, TSRI_ROLE_INIT), TSR_ACT_TANH,
                                TSRI_GRAPH_NONE);
    tsri_model_stage(b, 0, "keys");
    u.keys = tsri_model_linear(b, b->y, weight_of(b, stack, TSRI_ROLE_CROSS_KV), TSR_ACT_NONE,
                               TSRI_GRAPH_NONE);
    tsri_model_stage(b, 0, "embed");
    const tsri_value words = tsri_model_drop(
        b, tsri_model_lookup(b, TSRI_WEIGHT_EMBED, TSRI_INPUT_IDS, b->spec->embed_scale));
    u.words = tsri_graph_reshape(b->graph, words, 2, (tsr_dim[]){tsri_model_B(), K(T * W)});
    for (int64_t t = 0; t < T; t++) {
        tsri_model_stage(b, 0, "step");
        rows[t] = unrolled_step(b, &u, t);
    }
    tsri_model_stage(b, 0, "rows");
    b->y = tsri_model_drop(b, stacked(b, rows, T, row));
}

void tsri_model_recurrent_stack(builder *b) {
    if (b->stack->side == TSRI_SIDE_ENCODER)
        encoder(b);
    else if (b->shape->learning)
        unrolled_decoder(b);
    else
        decoder(b);
    tsri_model_scope(b, b->stack, 0, "head");
}
