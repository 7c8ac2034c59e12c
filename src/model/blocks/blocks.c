/* model/blocks/blocks.c - builds the graph of a model from its spec: embedding, layers
 * (attention, cross-attention, feed-forward), final norm. */
#include "model/blocks/builder.h"

#include "base/error.h"
#include "tensor/shape.h"

#include <inttypes.h>
#include <stdio.h>

typedef tsri_model_builder builder;

uint32_t tsri_model_state_count(const tsri_model_spec *spec) {
    return (uint32_t)spec->decoder.layers * (spec->decoder.cross ? 4 : 2);
}

static uint32_t stack_weight(const builder *b, tsri_model_stack_role role) {
    return tsri_model_stack_weight(b->stack, role);
}

static bool norms_read(const tsri_model_stack *stack) {
    return stack->place == TSRI_NORM_PRE || stack->place == TSRI_NORM_BOTH;
}

static bool norms_added(const tsri_model_stack *stack) {
    return stack->place == TSRI_NORM_ADDED || stack->place == TSRI_NORM_BOTH;
}

/* What enters layer `layer`, from the stream and the previous branch: the output of that layer's
 * norm, or of the final norm. */
static void enter(builder *b, int32_t layer, tsri_value addend) {
    const bool last = layer == b->stack->layers;
    if (layer > 0)
        addend = tsri_model_drop(b, addend);
    const bool normed = last ? b->stack->final_norm
                             : norms_read(b->stack) && !(b->stack->first_unnormed && layer == 0);
    const uint32_t id = last ? stack_weight(b, TSRI_STACK_FINAL_NORM)
                             : tsri_model_builder_weight(b, layer, TSRI_ROLE_NORM1);
    if (last)
        tsri_model_scope(b, b->stack, layer - 1, "final_norm");
    else
        tsri_model_stage(b, layer, "norm1");
    if (addend == TSRI_GRAPH_NONE) {
        b->y = normed ? tsri_model_norm(b, b->x, id) : b->x;
    } else if (normed) {
        tsri_model_add_norm(b, addend, id);
    } else {
        const tsri_value in[] = {b->x, addend};
        b->x = b->y = tsri_graph_op1(b->graph, TSR_OP_ADD, NULL, in, 2);
    }
}

static tsri_value sum(builder *b, tsri_value a, tsri_value c) {
    if (a == TSRI_GRAPH_NONE || c == TSRI_GRAPH_NONE)
        return a == TSRI_GRAPH_NONE ? c : a;
    const tsri_value in[] = {a, c};
    return tsri_graph_op1(b->graph, TSR_OP_ADD, NULL, in, 2);
}

/* Embeds words, positions and segments, then applies the norm and the matrix that some families
 * have after them. */
static void embed(builder *b) {
    const tsri_model_stack *stack = b->stack;
    const bool own = stack->side == TSRI_SIDE_ENCODER && b->spec->source_embed;
    tsri_value addend = TSRI_GRAPH_NONE;
    b->x = tsri_model_lookup(b, own ? stack_weight(b, TSRI_STACK_EMBED) : TSRI_WEIGHT_EMBED,
                             TSRI_INPUT_IDS, b->spec->embed_scale);
    if (stack->positions == TSRI_POSITIONS_LEARNED || stack->positions == TSRI_POSITIONS_SINUSOIDAL)
        addend =
            tsri_model_lookup(b, stack_weight(b, TSRI_STACK_POSITION), TSRI_INPUT_POSITIONS, 1);
    if (b->spec->token_types)
        addend = sum(b, addend, tsri_model_lookup(b, TSRI_WEIGHT_TYPES, TSRI_INPUT_TYPES, 1));
    if (stack->embed_norm) {
        const uint32_t id = stack_weight(b, TSRI_STACK_EMBED_NORM);
        if (addend == TSRI_GRAPH_NONE)
            b->y = tsri_model_norm(b, b->x, id);
        else
            tsri_model_add_norm(b, addend, id);
        b->x = b->y;
        addend = TSRI_GRAPH_NONE;
    }
    if (b->spec->embed_width) {
        b->x = tsri_model_linear(b, sum(b, b->x, addend), TSRI_WEIGHT_PROJECT, TSR_ACT_NONE,
                                 TSRI_GRAPH_NONE);
        addend = TSRI_GRAPH_NONE;
    }
    const tsri_value whole = b->shape->learning ? sum(b, b->x, addend) : TSRI_GRAPH_NONE,
                     dropped = tsri_model_drop(b, whole);
    if (dropped != whole) {
        b->x = dropped;
        addend = TSRI_GRAPH_NONE;
    }
    enter(b, 0, addend);
}

/* Heads `first` .. of a matrix of heads of one size: columns `column` .. of qkv, as
 * [B,T,heads,size]. */
static tsri_value heads_of(builder *b, tsri_value qkv, int64_t column, int64_t heads,
                           int64_t size) {
    return tsri_graph_split(b->graph, tsri_graph_slice(b->graph, qkv, 2, column, heads * size), 2,
                            heads, size);
}

/* The norm of queries or keys: of each row of x, a head or all heads of a token. */
static tsri_value qk_norm(builder *b, tsri_value x, int32_t layer, int i) {
    const tsri_model_role role = i ? TSRI_ROLE_K_NORM : TSRI_ROLE_Q_NORM;
    tsri_model_stage(b, layer, "qk_norm");
    const tsr_norm_attrs attrs = {
        .struct_size = sizeof attrs, .norm = TSR_NORM_RMS, .eps = b->stack->norm_eps};
    const tsri_value in[] = {x,
                             tsri_model_weight_leaf(b, tsri_model_builder_weight(b, layer, role))};
    return tsri_graph_op1(b->graph, TSR_OP_RMS_NORM, &attrs, in, 2);
}

/* The same for queries (i 0) or keys (1), after the norm of all heads of a token. */
static tsri_value normed_heads_of(builder *b, int32_t layer, tsri_value qkv, int64_t column,
                                  int i) {
    const int64_t heads = i ? b->stack->kv_heads : b->stack->heads, size = b->stack->head_size;
    const tsri_value rows = tsri_graph_slice(b->graph, qkv, 2, column, heads * size);
    return tsri_graph_split(b->graph, qk_norm(b, rows, layer, i), 2, heads, size);
}

/* Queries, keys and values, which the roles from QKV on have as one matrix, or as several; queries and
 * keys with norms if the model has them. `sides` says where queries and keys are without norms. */
static void queries_keys_and_values(builder *b, int32_t layer, tsri_value out[3],
                                    tsri_model_sides *sides) {
    const tsri_model_stack *stack = b->stack;
    const int64_t heads[] = {stack->heads, stack->kv_heads, stack->kv_heads},
                  sizes[] = {stack->head_size, stack->head_size, stack->value_size};
    tsri_model_stage(b, layer, "qkv");
    for (int i = 0, run = 0; i < 3; run++) {
        const uint32_t id =
            tsri_model_builder_weight(b, layer, (tsri_model_role)(TSRI_ROLE_QKV + 2 * run));
        const tsri_value y = tsri_model_linear(b, b->y, id, TSR_ACT_NONE, TSRI_GRAPH_NONE);
        const int64_t rows = tsri_model_weight_at(b->weights, id)->dims[0];
        for (int64_t column = 0; column < rows; column += heads[i] * sizes[i], i++) {
            if (i < 2) {
                sides->product[i] = y;
                sides->columns[i] = rows;
                sides->first[i] = column;
            }
            out[i] = stack->qk_norm == TSRI_QK_NORM_ROWS && i < 2
                         ? normed_heads_of(b, layer, y, column, i)
                         : heads_of(b, y, column, heads[i], sizes[i]);
        }
    }
    for (int i = 0; stack->qk_norm == TSRI_QK_NORM_HEADS && i < 2; i++)
        out[i] = qk_norm(b, out[i], layer, i);
}

/* What a decoder layer keeps: the keys (part 0) and values (1) of its own attention, and those of
 * its cross-attention (2, 3). [slots, G, capacity, size], or [pages, G, TSRI_MODEL_PAGE, size]: the keys of one
 * head are contiguous. */
static tsri_value memory(builder *b, int32_t layer, int part) {
    static const char *const names[] = {"keys", "values", "cross_keys", "cross_values"};
    const tsri_model_stack *stack = &b->spec->decoder;
    const bool cross = part >= 2, pages = !cross && b->shape->pages;
    const tsr_dim dims[] = {tsri_tensor_const(cross   ? b->shape->sources
                                              : pages ? b->shape->pages
                                                      : b->shape->slots),
                            tsri_tensor_const(stack->kv_heads),
                            tsri_tensor_const(cross   ? b->shape->source_capacity
                                              : pages ? TSRI_MODEL_PAGE
                                                      : b->shape->capacity),
                            tsri_tensor_const(part % 2 ? stack->value_size : stack->head_size)};
    const uint32_t id = 2 * (uint32_t)(layer + (cross ? stack->layers : 0)) + (uint32_t)part % 2;
    char name[64];
    snprintf(name, sizeof name, "layers.%" PRId32 ".%s", layer, names[part]);
    return tsri_graph_leaf(b->graph, TSR_KIND_STATE, b->shape->first_state + id, name,
                           b->shape->kv_dtype, 4, dims);
}

/* Where a sequence's own keys and values lie: in a slot, or in pages. */
static tsri_value own_slot(builder *b) {
    return b->shape->pages ? TSRI_GRAPH_NONE : tsri_model_input_of(b, TSRI_INPUT_SLOT);
}

static tsri_value own_pages(builder *b) {
    return b->shape->pages ? tsri_model_input_of(b, TSRI_INPUT_PAGES) : TSRI_GRAPH_NONE;
}

/* Rotates queries and keys if the model does, and appends keys and values after those of each
 * slot. */
static tsri_value remember(builder *b, int32_t layer, tsri_value keys, tsri_value values,
                           tsri_value q, tsri_value k, tsri_value v) {
    tsri_value frequencies;
    const tsr_rope_attrs attrs = tsri_model_rotation_of(b, layer, &frequencies);
    const bool rotary = attrs.rotary != 0;
    const tsri_value in[] = {keys,
                             values,
                             k,
                             v,
                             tsri_model_input_of(b, TSRI_INPUT_PAST),
                             tsri_model_input_of(b, TSRI_INPUT_LEN),
                             own_slot(b),
                             rotary ? q : TSRI_GRAPH_NONE,
                             rotary ? tsri_model_input_of(b, TSRI_INPUT_POSITIONS)
                                    : TSRI_GRAPH_NONE,
                             frequencies,
                             own_pages(b)};
    tsri_value rotated = TSRI_GRAPH_NONE;
    tsri_model_stage(b, layer, "append");
    tsri_graph_op(b->graph, TSR_OP_QKV_APPEND, &attrs, in,
                  b->shape->pages ? 11
                  : rotary        ? 10
                                  : 7,
                  rotary, &rotated);
    return rotary ? rotated : q;
}

/* The attention op, or its three steps if the probabilities are wanted; [B,T,H*Dv]. */
static tsri_value attend(builder *b, const tsr_attention_attrs *attrs, const tsri_value *in,
                         uint32_t n_in, bool wanted, uint32_t output, const char *name) {
    tsri_value y, probabilities;
    if (wanted) {
        tsri_graph_attention_steps(b->graph, attrs, in, n_in, &probabilities, &y);
        tsri_graph_output(b->graph, output, name, probabilities);
    } else {
        y = tsri_graph_op1(b->graph, TSR_OP_ATTENTION, attrs, in, n_in);
    }
    const tsr_dim merged[] = {tsri_model_B(), b->T,
                              tsri_tensor_const((int64_t)b->stack->heads * b->stack->value_size)};
    return tsri_graph_reshape(b->graph, y, 3, merged);
}

/* Attention among the stack's own tokens: a decoder's includes those that its slots hold. */
static tsri_value attention(builder *b, int32_t layer) {
    static const uint32_t by_key[] = {0, 2, 1, 3};
    const tsri_model_stack *stack = b->stack;
    const bool keeps = stack->side == TSRI_SIDE_DECODER;
    const uint32_t products = tsri_model_builder_weight(b, layer, TSRI_ROLE_QKV);
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs,
                                       .causal = stack->causal,
                                       .window = (uint32_t)tsri_model_layer_window(stack, layer),
                                       .scale = stack->attention_scale,
                                       .compute = tsri_model_attention_products(b, products),
                                       .soft_cap = stack->score_cap};
    tsri_value own[3], bias = TSRI_GRAPH_NONE;
    if (stack->relative_by_layer)
        b->relative = tsri_model_relative_bias(b, layer);
    if (stack->kv_latent) {
        tsri_model_latent_heads(b, layer, own);
    } else {
        tsri_model_sides sides;
        queries_keys_and_values(b, layer, own, &sides);
        if (stack->distance_span)
            bias = tsri_model_distance_scores(b, layer, &sides);
    }
    tsri_value q = own[0], k = own[1], v = own[2];
    if (b->shape->learning)
        return tsri_model_own_attention(b, layer, q, k, v, bias, b->relative);
    if (keeps) {
        const tsri_value keys = memory(b, layer, 0), values = memory(b, layer, 1);
        q = remember(b, layer, keys, values, q, k, v);
        k = tsri_graph_permute(b->graph, keys, by_key);
        v = tsri_graph_permute(b->graph, values, by_key);
    } else {
        tsri_model_stage(b, layer, "rope");
        q = tsri_model_rotated(b, layer, q);
        k = tsri_model_rotated(b, layer, k);
    }
    const tsri_value in[] = {
        q,
        k,
        v,
        keeps ? tsri_model_input_of(b, TSRI_INPUT_PAST) : TSRI_GRAPH_NONE,
        tsri_model_input_of(b, TSRI_INPUT_LEN),
        keeps ? own_slot(b) : TSRI_GRAPH_NONE,
        keeps && b->shape->by_keys ? tsri_model_input_of(b, TSRI_INPUT_KEYS) : TSRI_GRAPH_NONE,
        bias,
        b->relative,
        tsri_model_weight_leaf(b, tsri_model_builder_weight(b, layer, TSRI_ROLE_SINKS)),
        keeps ? own_pages(b) : TSRI_GRAPH_NONE};
    tsri_model_stage(b, layer, "attention");
    return attend(b, &attrs, in, b->shape->pages ? 11 : 10, b->shape->attention,
                  TSRI_OUTPUT_ATTENTION + (uint32_t)layer, "attn");
}

/* Attention to the encoder's output, whose keys and values are in the source slots. */
static tsri_value cross_attention(builder *b, int32_t layer) {
    static const uint32_t by_key[] = {0, 2, 1, 3};
    const tsri_model_stack *stack = b->stack;
    const uint32_t products = tsri_model_builder_weight(b, layer, TSRI_ROLE_CROSS_Q);
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs,
                                       .scale = stack->attention_scale,
                                       .compute = tsri_model_attention_products(b, products)};
    tsri_model_stage(b, layer, "cross_q");
    const tsri_value product = tsri_model_linear(b, b->y, products, TSR_ACT_NONE, TSRI_GRAPH_NONE),
                     q = heads_of(b, product, 0, stack->heads, stack->head_size);
    if (b->shape->learning) {
        const int64_t G = stack->kv_heads, D = stack->head_size;
        tsri_model_stage(b, layer, "cross_kv");
        const tsri_value kv =
            tsri_model_linear(b, b->source, tsri_model_builder_weight(b, layer, TSRI_ROLE_CROSS_KV),
                              TSR_ACT_NONE, TSRI_GRAPH_NONE);
        return tsri_model_source_attention(b, layer, q, heads_of(b, kv, 0, G, D),
                                           heads_of(b, kv, G * D, G, stack->value_size));
    }
    const tsri_value in[] = {q,
                             tsri_graph_permute(b->graph, memory(b, layer, 2), by_key),
                             tsri_graph_permute(b->graph, memory(b, layer, 3), by_key),
                             TSRI_GRAPH_NONE,
                             tsri_model_input_of(b, TSRI_INPUT_SOURCE_LEN),
                             tsri_model_input_of(b, TSRI_INPUT_SOURCE)};
    tsri_model_stage(b, layer, "cross_attention");
    return attend(b, &attrs, in, 6, b->shape->cross, TSRI_OUTPUT_CROSS + (uint32_t)layer, "cross");
}

/* A feed-forward part without experts, or the expert that every token takes. */
static tsri_value dense_mlp(builder *b, int32_t layer, tsri_value x) {
    const uint32_t up = tsri_model_builder_weight(b, layer, TSRI_ROLE_UP);
    tsri_value inner;
    tsri_model_stage(b, layer, "up");
    if (b->shape->learning || tsri_model_builder_has_beside(b, up)) {
        inner = tsri_model_inner(b, x, up);
    } else if (b->stack->gated) {
        const tsr_glu_linear_attrs attrs = {.struct_size = sizeof attrs,
                                            .trans_w = 1,
                                            .activation = b->stack->activation,
                                            .compute = tsri_model_products(b, up),
                                            .limit = b->stack->gate_limit,
                                            .alpha = b->stack->gate_alpha,
                                            .shift = b->stack->gate_shift};
        const tsri_value in[] = {x, tsri_model_weight_leaf(b, up),
                                 tsri_model_weight_leaf(b, up + 1)};
        inner = tsri_graph_op1(b->graph, TSR_OP_GLU_LINEAR, &attrs, in, 3);
    } else {
        inner = tsri_model_linear(b, x, up, b->stack->activation, TSRI_GRAPH_NONE);
    }
    tsri_model_stage(b, layer, "down");
    return tsri_model_linear(b, inner, tsri_model_builder_weight(b, layer, TSRI_ROLE_DOWN),
                             TSR_ACT_NONE, TSRI_GRAPH_NONE);
}

static tsri_value mlp(builder *b, int32_t layer, tsri_value x) {
    if (!tsri_model_layer_has_experts(b->stack, layer))
        return dense_mlp(b, layer, x);
    return tsri_model_experts(b, layer, x,
                              b->stack->shared_ffn ? dense_mlp(b, layer, x) : TSRI_GRAPH_NONE);
}

/* From here on, keeps only the rows that are read; only a decoder's head reads so few. */
static tsri_value pick_rows(builder *b, int32_t layer, tsri_value a) {
    if (layer != b->stack->layers - 1 || b->shape->hidden || b->shape->learning ||
        b->stack->side == TSRI_SIDE_ENCODER)
        return a;
    tsri_model_stage(b, layer, "pick");
    a = tsri_model_pick(b, a, (int64_t)b->stack->heads * b->stack->value_size);
    b->x = tsri_model_pick(b, b->x, b->spec->width);
    if (b->stack->one_norm)
        b->y = tsri_model_pick(b, b->y, b->spec->width);
    b->picked = true;
    return a;
}

/* What a branch adds to the stream: its result after the norm and the factor that some families have
 * there. */
static tsri_value added(builder *b, int32_t layer, tsri_value branch, tsri_model_role role,
                        const char *name) {
    if (norms_added(b->stack)) {
        tsri_model_stage(b, layer, name);
        branch = tsri_model_norm(b, branch, tsri_model_builder_weight(b, layer, role));
    }
    return tsri_model_scaled(b, branch, b->stack->branch_scale);
}

/* Adds a branch to the stream and applies the norm: what the next part of the layer reads. If norms
 * come after the parts, the result is also the stream. */
static void join(builder *b, int32_t layer, tsri_value branch, tsri_model_role role,
                 const char *name) {
    tsri_model_stage(b, layer, name);
    if (b->stack->place == TSRI_NORM_ADDED) {
        b->x = b->y = sum(b, b->x, tsri_model_drop(b, branch));
        return;
    }
    tsri_model_add_norm(b, tsri_model_drop(b, branch), tsri_model_builder_weight(b, layer, role));
    if (b->stack->place == TSRI_NORM_POST)
        b->x = b->y;
}

/* The product with a branch's output matrix. */
static tsri_value out_of(builder *b, int32_t layer, tsri_value a, tsri_model_role role,
                         const char *name, tsri_value residual) {
    tsri_model_stage(b, layer, name);
    return tsri_model_linear(b, a, tsri_model_builder_weight(b, layer, role), TSR_ACT_NONE,
                             residual);
}

/* The rest of a layer whose branches read the same stream; a is what attention gave. */
static void parallel(builder *b, int32_t layer, tsri_value a) {
    tsri_value y = b->y;
    if (!b->stack->one_norm) {
        tsri_model_stage(b, layer, "norm2");
        y = tsri_model_norm(b, b->x, tsri_model_builder_weight(b, layer, TSRI_ROLE_NORM2));
    }
    if (b->shape->learning)
        b->x = sum(b, b->x,
                   tsri_model_drop(b, out_of(b, layer, a, TSRI_ROLE_OUT, "out", TSRI_GRAPH_NONE)));
    else
        b->x = out_of(b, layer, a, TSRI_ROLE_OUT, "out", b->x);
    enter(b, layer + 1, mlp(b, layer, y));
}

/* One layer, up to and including the norm that the next layer begins with. */
static void layer_of(builder *b, int32_t layer) {
    const bool post = b->stack->place == TSRI_NORM_POST, cross = b->stack->cross;
    if (b->stack->embeds_only)
        return;
    tsri_value a = attention(b, layer);
    if (!cross)
        a = pick_rows(b, layer, a);
    if (b->stack->parallel) {
        parallel(b, layer, a);
        return;
    }
    a = added(b, layer, out_of(b, layer, a, TSRI_ROLE_OUT, "out", TSRI_GRAPH_NONE),
              TSRI_ROLE_OUT_NORM, "out_norm");
    if (post)
        join(b, layer, a, TSRI_ROLE_NORM1, "norm1");
    else if (cross)
        join(b, layer, a, TSRI_ROLE_CROSS_NORM, "cross_norm");
    else
        join(b, layer, a, TSRI_ROLE_NORM2, "norm2");
    if (cross) {
        a = pick_rows(b, layer, cross_attention(b, layer));
        a = out_of(b, layer, a, TSRI_ROLE_CROSS_OUT, "cross_out", TSRI_GRAPH_NONE);
        if (post)
            join(b, layer, a, TSRI_ROLE_CROSS_NORM, "cross_norm");
        else
            join(b, layer, a, TSRI_ROLE_NORM2, "norm2");
    }
    const tsri_value inner = added(b, layer, mlp(b, layer, b->y), TSRI_ROLE_DOWN_NORM, "down_norm");
    if (post)
        join(b, layer, inner, TSRI_ROLE_NORM2, "norm2");
    enter(b, layer + 1, post ? TSRI_GRAPH_NONE : inner);
}

/* Stores keys and values of the encoder's output for every layer of the decoder. */
static void keep_source(builder *b) {
    const tsri_model_stack *stack = &b->spec->decoder;
    const int64_t G = stack->kv_heads, D = stack->head_size, Dv = stack->value_size;
    const tsr_rope_attrs attrs = {.struct_size = sizeof attrs};
    for (int32_t layer = 0; layer < stack->layers; layer++) {
        const uint32_t id = tsri_model_layer_weight(b->spec, stack, layer, TSRI_ROLE_CROSS_KV);
        char label[64];
        snprintf(label, sizeof label, "layers.%" PRId32 ".cross_kv", layer);
        tsri_model_scope(b, stack, layer, label);
        const tsri_value kv = tsri_model_linear(b, b->y, id, TSR_ACT_NONE, TSRI_GRAPH_NONE);
        const tsri_value in[] = {memory(b, layer, 2),
                                 memory(b, layer, 3),
                                 heads_of(b, kv, 0, G, D),
                                 heads_of(b, kv, G * D, G, Dv),
                                 tsri_model_input_of(b, TSRI_INPUT_PAST),
                                 tsri_model_input_of(b, TSRI_INPUT_LEN),
                                 tsri_model_input_of(b, TSRI_INPUT_SLOT)};
        tsri_value nothing = TSRI_GRAPH_NONE;
        tsri_graph_op(b->graph, TSR_OP_QKV_APPEND, &attrs, in, 7, 0, &nothing);
    }
}

static void stack_of(builder *b, const tsri_model_stack *stack) {
    b->stack = stack;
    b->picked = false;
    b->T = b->shape->learning && stack->side == TSRI_SIDE_ENCODER && b->spec->decoder.layers
               ? tsri_tensor_symbol(TSR_SYM_S)
           : b->shape->learning && b->shape->learning->steps
               ? tsri_tensor_const(b->shape->learning->steps)
               : tsri_model_T();
    if (stack->recurrent) {
        tsri_model_recurrent_stack(b);
        return;
    }
    b->relative = stack->relative_by_layer ? TSRI_GRAPH_NONE : tsri_model_relative_bias(b, -1);
    tsri_model_begin_distances(b);
    tsri_model_scope(b, stack, -1, "embed");
    embed(b);
    for (int32_t layer = 0; layer < stack->layers; layer++) {
        if (b->shape->hidden)
            tsri_graph_output(b->graph, TSRI_OUTPUT_HIDDEN + (uint32_t)layer, "hidden", b->x);
        const tsri_value before = b->x;
        layer_of(b, layer);
        if (layer == 0 && stack->conv_taps)
            tsri_model_convolve(b, before);
    }
    tsri_model_scope(b, stack, stack->layers - 1, "head");
    if (b->shape->hidden)
        tsri_graph_output(b->graph, TSRI_OUTPUT_HIDDEN + (uint32_t)stack->layers, "hidden", b->y);
}

tsr_status tsri_model_build_stacks(const tsri_model_weights *weights, const tsri_model_shape *shape,
                                   builder *out) {
    *out = (builder){.weights = weights, .spec = weights->spec, .shape = shape};
    TRY(tsri_graph_create(&out->graph));
    if (weights->spec->encoder.layers) {
        stack_of(out, &weights->spec->encoder);
        out->source = out->y;
    }
    if (weights->spec->decoder.layers)
        stack_of(out, &weights->spec->decoder);
    return TSR_OK;
}

tsr_status tsri_model_build(const tsri_model_weights *weights, const tsri_model_shape *shape,
                            tsri_graph **out) {
    builder b = {.weights = weights, .spec = weights->spec, .shape = shape};
    TRY(tsri_graph_create(&b.graph));
    if (shape->sides & TSRI_SIDES_ENCODER) {
        stack_of(&b, &weights->spec->encoder);
        if (shape->encoded)
            tsri_graph_output(b.graph, TSRI_OUTPUT_ENCODED, "encoded", b.y);
        else if (weights->spec->decoder.recurrent)
            tsri_model_recurrent_source(&b);
        else if (weights->spec->decoder.cross)
            keep_source(&b);
        else
            tsri_model_encoder_heads(&b);
    }
    if (shape->sides & TSRI_SIDES_SOURCE) {
        b.stack = &weights->spec->encoder;
        b.T = tsri_model_T();
        b.y = tsri_model_input_of(&b, TSRI_INPUT_ENCODED);
        keep_source(&b);
    }
    if (shape->sides & TSRI_SIDES_DECODER) {
        stack_of(&b, &weights->spec->decoder);
        tsri_model_output_heads(&b);
    }
    const tsr_status status = tsri_graph_status(b.graph);
    if (status != TSR_OK)
        tsri_graph_destroy(&b.graph);
    *out = b.graph;
    return status;
}

/* Ranges of T, as docs/design.md gives them for M: a plan for one token, few, some, many; and for
 * one or several sequences. */
tsr_bounds tsri_model_bounds(int64_t slots, int64_t B, int64_t T, int64_t limit, bool all) {
    static const int64_t most[] = {1, 8, 64, 512};
    int range = 0;
    while (range < 3 && T > most[range])
        range++;
    const int64_t lowest_T = range ? most[range - 1] + 1 : 1,
                  highest_T = most[range] < limit ? most[range] : limit;
    const int64_t lowest_B = B == 1 ? 1 : 2, highest_B = B == 1 ? 1 : slots;
    if (all && B > 1 && T > 1 && B * T <= TSRI_MODEL_FEW_ROWS) {
        const int64_t half = TSRI_MODEL_FEW_ROWS / 2;
        return (tsr_bounds){.struct_size = sizeof(tsr_bounds),
                            .lowest = {2, 2, 1, 1, 1},
                            .highest = {slots < half ? slots : half, limit < half ? limit : half, 1,
                                        1, TSRI_MODEL_FEW_ROWS}};
    }
    return (tsr_bounds){
        .struct_size = sizeof(tsr_bounds),
        .lowest = {lowest_B, lowest_T, 1, 1, 1},
        .highest = {highest_B, highest_T, 1, 1, all ? highest_B * highest_T : highest_B}};
}
