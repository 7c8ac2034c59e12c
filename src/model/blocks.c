#include "model/blocks.h"

#include "base/error.h"
#include "tensor/shape.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct builder {
    tsri_graph *graph;
    const tsri_model_weights *weights;
    const tsri_model_spec *spec;
    const tsri_model_stack *stack;
    const tsri_model_shape *shape;
    tsri_value ids, positions, past, len, slot, rows, frequencies;
    tsri_value x, y; /* the residual stream, and what the next part reads: x after its norm */
} builder;

static tsr_dim B(void) {
    return tsri_tensor_symbol(TSR_SYM_B);
}

static tsr_dim T(void) {
    return tsri_tensor_symbol(TSR_SYM_T);
}

/* The ops that follow are called "layers.3.attention" and run where layer 3 does. */
static void stage(builder *b, int32_t layer, const char *part) {
    char label[64];
    snprintf(label, sizeof label, "layers.%" PRId32 ".%s", layer, part);
    tsri_graph_scope(b->graph, layer, label);
}

static tsri_value input(builder *b, tsri_model_input id, const char *name, uint32_t rank,
                        tsr_dim first, tsr_dim second) {
    const tsr_dim dims[] = {first, second};
    return tsri_graph_leaf(b->graph, TSR_KIND_INPUT, id, name,
                           id == TSRI_INPUT_FREQUENCIES ? TSR_F32 : TSR_I32, rank, dims);
}

/* NONE for a weight that the model lacks: a missing bias. */
static tsri_value weight(builder *b, uint32_t id) {
    const tsri_model_weight *w = tsri_model_weight_at(b->weights, id);
    if (!w)
        return TSRI_GRAPH_NONE;
    const tsr_dim dims[] = {tsri_tensor_const(w->dims[0]), tsri_tensor_const(w->dims[1])};
    return tsri_graph_leaf(b->graph, TSR_KIND_WEIGHT, id, w->name, w->dtype, w->rank, dims);
}

static uint32_t compute(const builder *b, uint32_t id) {
    const tsri_model_weight *w = tsri_model_weight_at(b->weights, id);
    return w ? tsri_model_weight_compute(b->weights, w) : TSR_COMPUTE_F32;
}

static tsri_value linear(builder *b, tsri_value x, uint32_t id, uint32_t bias,
                         tsr_activation activation, tsri_value residual) {
    const tsr_linear_attrs attrs = {.struct_size = sizeof attrs,
                                    .trans_w = 1,
                                    .activation = activation,
                                    .compute = compute(b, id)};
    const tsri_value in[] = {x, weight(b, id), weight(b, bias), residual};
    return tsri_graph_op1(b->graph, TSR_OP_LINEAR, &attrs, in, 4);
}

static tsri_value norm(builder *b, tsri_value x, uint32_t id) {
    const tsr_norm_attrs attrs = {
        .struct_size = sizeof attrs, .norm = b->stack->norm, .eps = b->stack->norm_eps};
    const tsri_value in[] = {x, weight(b, id), weight(b, id + 1)};
    const bool rms = b->stack->norm == TSR_NORM_RMS;
    return tsri_graph_op1(b->graph, rms ? TSR_OP_RMS_NORM : TSR_OP_LAYER_NORM, &attrs, in,
                          rms ? 2 : 3);
}

/* x += addend, y = norm x, as one op. */
static void add_norm(builder *b, tsri_value addend, uint32_t id) {
    const tsr_norm_attrs attrs = {
        .struct_size = sizeof attrs, .norm = b->stack->norm, .eps = b->stack->norm_eps};
    const tsri_value in[] = {addend, b->x, weight(b, id),
                             b->stack->norm == TSR_NORM_RMS ? TSRI_GRAPH_NONE : weight(b, id + 1)};
    tsri_value out[2] = {TSRI_GRAPH_NONE, TSRI_GRAPH_NONE};
    tsri_graph_op(b->graph, TSR_OP_ADD_NORM, &attrs, in, 4, 0, out);
    b->x = out[0];
    b->y = out[1];
}

/* What enters layer `layer` from the stream and the branch that came before: the norm of that
 * layer, or the final one. */
static void enter(builder *b, int32_t layer, tsri_value addend) {
    const bool last = layer == b->stack->layers;
    const bool normed = last ? b->stack->final_norm : b->stack->place == TSRI_NORM_PRE;
    const uint32_t id =
        last ? TSRI_WEIGHT_FINAL_NORM : tsri_model_weight_of(layer, TSRI_ROLE_NORM1);
    if (last)
        tsri_graph_scope(b->graph, layer - 1, "final_norm");
    else
        stage(b, layer, "norm1");
    if (addend == TSRI_GRAPH_NONE) {
        b->y = normed ? norm(b, b->x, id) : b->x;
    } else if (normed) {
        add_norm(b, addend, id);
    } else {
        const tsri_value in[] = {b->x, addend};
        b->x = b->y = tsri_graph_op1(b->graph, TSR_OP_ADD, NULL, in, 2);
    }
}

static void embed(builder *b) {
    const tsr_embed_attrs attrs = {.struct_size = sizeof attrs, .scale = b->spec->embed_scale},
                          plain = {.struct_size = sizeof plain};
    const tsri_value words[] = {weight(b, TSRI_WEIGHT_EMBED), b->ids},
                     places[] = {weight(b, TSRI_WEIGHT_POSITION), b->positions};
    tsri_value addend = TSRI_GRAPH_NONE;
    b->x = tsri_graph_op1(b->graph, TSR_OP_EMBED, &attrs, words, 2);
    if (b->stack->positions == TSRI_POSITIONS_LEARNED)
        addend = tsri_graph_op1(b->graph, TSR_OP_EMBED, &plain, places, 2);
    enter(b, 0, addend);
}

/* Heads `first` .. of a matrix of heads of one size: columns `column` .. of qkv, as
 * [B,T,heads,size]. */
static tsri_value heads_of(builder *b, tsri_value qkv, int64_t column, int64_t heads,
                           int64_t size) {
    return tsri_graph_split(b->graph, tsri_graph_slice(b->graph, qkv, 2, column, heads * size), 2,
                            heads, size);
}

static tsri_value head_norm(builder *b, tsri_value x, int32_t layer, tsri_model_role role) {
    const tsr_norm_attrs attrs = {
        .struct_size = sizeof attrs, .norm = TSR_NORM_RMS, .eps = b->stack->norm_eps};
    const tsri_value in[] = {x, weight(b, tsri_model_weight_of(layer, role))};
    return tsri_graph_op1(b->graph, TSR_OP_RMS_NORM, &attrs, in, 2);
}

/* Queries and keys from the matrix product, normed where the model does so. */
static void queries_and_keys(builder *b, int32_t layer, tsri_value qkv, tsri_value *q,
                             tsri_value *k) {
    const int64_t H = b->stack->heads, G = b->stack->kv_heads, D = b->stack->head_size;
    *q = heads_of(b, qkv, 0, H, D);
    *k = heads_of(b, qkv, H * D, G, D);
    if (b->stack->qk_norm) {
        stage(b, layer, "qk_norm");
        *q = head_norm(b, *q, layer, TSRI_ROLE_Q_NORM);
        *k = head_norm(b, *k, layer, TSRI_ROLE_K_NORM);
    }
}

/* [slots, G, capacity, size]: the keys of one head lie one after the other. */
static tsri_value memory(builder *b, uint32_t id, const char *what, int32_t layer, int64_t size) {
    char name[64];
    const tsr_dim dims[] = {tsri_tensor_const(b->shape->slots),
                            tsri_tensor_const(b->stack->kv_heads),
                            tsri_tensor_const(b->shape->capacity), tsri_tensor_const(size)};
    snprintf(name, sizeof name, "layers.%" PRId32 ".%s", layer, what);
    return tsri_graph_leaf(b->graph, TSR_KIND_STATE, b->shape->first_state + id, name,
                           b->shape->kv_dtype, 4, dims);
}

/* Rotates queries and keys where the model does so, and appends keys and values behind what each
 * slot has. */
static tsri_value remember(builder *b, int32_t layer, tsri_value keys, tsri_value values,
                           tsri_value q, tsri_value k, tsri_value v) {
    const bool rotary = b->stack->positions == TSRI_POSITIONS_ROTARY;
    const tsri_model_rope *rope = &b->stack->rope;
    const tsr_rope_attrs attrs = {.struct_size = sizeof attrs,
                                  .rotary = rotary ? (uint32_t)rope->rotary : 0,
                                  .interleaved = rope->interleaved,
                                  .magnitude = (float)rope->magnitude};
    const tsri_value in[] = {keys,         values,        k, v, b->past, b->len, b->slot, q,
                             b->positions, b->frequencies};
    tsri_value rotated = TSRI_GRAPH_NONE;
    stage(b, layer, "append");
    tsri_graph_op(b->graph, TSR_OP_QKV_APPEND, &attrs, in, rotary ? 10 : 7, rotary, &rotated);
    return rotary ? rotated : q;
}

static tsri_value attention(builder *b, int32_t layer) {
    const int64_t H = b->stack->heads, G = b->stack->kv_heads, D = b->stack->head_size,
                  Dv = b->stack->value_size;
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs,
                                       .causal = b->stack->causal,
                                       .window = (uint32_t)tsri_model_layer_window(b->stack, layer),
                                       .scale = b->stack->attention_scale};
    stage(b, layer, "qkv");
    const tsri_value qkv =
        linear(b, b->y, tsri_model_weight_of(layer, TSRI_ROLE_QKV),
               tsri_model_weight_of(layer, TSRI_ROLE_QKV_BIAS), TSR_ACT_NONE, TSRI_GRAPH_NONE);
    tsri_value q, k, y, probabilities;
    queries_and_keys(b, layer, qkv, &q, &k);
    const tsri_value v = heads_of(b, qkv, (H + G) * D, G, Dv);
    const tsri_value keys = memory(b, 2 * (uint32_t)layer, "keys", layer, D),
                     values = memory(b, 2 * (uint32_t)layer + 1, "values", layer, Dv);
    q = remember(b, layer, keys, values, q, k, v);
    static const uint32_t by_key[] = {0, 2, 1, 3};
    const tsri_value in[] = {q,
                             tsri_graph_permute(b->graph, keys, by_key),
                             tsri_graph_permute(b->graph, values, by_key),
                             b->past,
                             b->len,
                             b->slot};
    stage(b, layer, "attention");
    if (b->shape->attention) {
        tsri_graph_attention_steps(b->graph, &attrs, in, 6, &probabilities, &y);
        tsri_graph_output(b->graph, TSRI_OUTPUT_ATTENTION + (uint32_t)layer, "attn", probabilities);
    } else {
        y = tsri_graph_op1(b->graph, TSR_OP_ATTENTION, &attrs, in, 6);
    }
    const tsr_dim merged[] = {B(), T(), tsri_tensor_const(H * Dv)};
    return tsri_graph_reshape(b->graph, y, 3, merged);
}

/* The rows of [B,T,..] that are wanted out, as [N,..]. */
static tsri_value pick(builder *b, tsri_value x, int64_t columns) {
    const tsr_dim dims[] = {tsri_tensor_times(B(), T()), tsri_tensor_const(columns)};
    const tsri_value in[] = {tsri_graph_reshape(b->graph, x, 2, dims), b->rows};
    return tsri_graph_op1(b->graph, TSR_OP_GATHER, NULL, in, 2);
}

static tsri_value mlp(builder *b, int32_t layer, tsri_value x) {
    const uint32_t up = tsri_model_weight_of(layer, TSRI_ROLE_UP),
                   up_bias = tsri_model_weight_of(layer, TSRI_ROLE_UP_BIAS);
    tsri_value inner;
    stage(b, layer, "up");
    if (b->stack->gated) {
        const tsr_glu_linear_attrs attrs = {.struct_size = sizeof attrs,
                                            .trans_w = 1,
                                            .activation = b->stack->activation,
                                            .compute = compute(b, up)};
        const tsri_value in[] = {x, weight(b, up), weight(b, up_bias)};
        inner = tsri_graph_op1(b->graph, TSR_OP_GLU_LINEAR, &attrs, in, 3);
    } else {
        inner = linear(b, x, up, up_bias, b->stack->activation, TSRI_GRAPH_NONE);
    }
    stage(b, layer, "down");
    return linear(b, inner, tsri_model_weight_of(layer, TSRI_ROLE_DOWN),
                  tsri_model_weight_of(layer, TSRI_ROLE_DOWN_BIAS), TSR_ACT_NONE, TSRI_GRAPH_NONE);
}

/* One layer, up to and with the norm that the next begins with. */
static void layer_of(builder *b, int32_t layer) {
    const uint32_t out = tsri_model_weight_of(layer, TSRI_ROLE_OUT),
                   out_bias = tsri_model_weight_of(layer, TSRI_ROLE_OUT_BIAS);
    const uint32_t norm1 = tsri_model_weight_of(layer, TSRI_ROLE_NORM1),
                   norm2 = tsri_model_weight_of(layer, TSRI_ROLE_NORM2);
    tsri_value a = attention(b, layer);
    stage(b, layer, "pick");
    if (layer == b->stack->layers - 1 &&
        !b->shape->hidden) { /* from here on only the rows that someone reads */
        a = pick(b, a, (int64_t)b->stack->heads * b->stack->value_size);
        b->x = pick(b, b->x, b->spec->width);
    }
    if (b->stack->parallel) {
        stage(b, layer, "norm2");
        const tsri_value y = norm(b, b->x, norm2);
        stage(b, layer, "out");
        b->x = linear(b, a, out, out_bias, TSR_ACT_NONE, b->x);
        enter(b, layer + 1, mlp(b, layer, y));
        return;
    }
    stage(b, layer, "out");
    const tsri_value o = linear(b, a, out, out_bias, TSR_ACT_NONE, TSRI_GRAPH_NONE);
    if (b->stack->place == TSRI_NORM_POST) {
        stage(b, layer, "norm1");
        add_norm(b, o, norm1);
        b->x = b->y;
        const tsri_value inner = mlp(b, layer, b->x);
        stage(b, layer, "norm2");
        add_norm(b, inner, norm2);
        b->x = b->y;
        enter(b, layer + 1, TSRI_GRAPH_NONE);
        return;
    }
    stage(b, layer, "norm2");
    add_norm(b, o, norm2);
    enter(b, layer + 1, mlp(b, layer, b->y));
}

/* Logits of the wanted rows, and what is found in them on the device. */
static void head(builder *b) {
    const tsri_model_shape *shape = b->shape;
    const tsri_value rows = shape->hidden ? pick(b, b->y, b->spec->width) : b->y;
    if (!shape->logits && !shape->argmax && !shape->top_k)
        return;
    const tsri_value logits = linear(b, rows, b->spec->tied ? TSRI_WEIGHT_EMBED : TSRI_WEIGHT_HEAD,
                                     TSRI_WEIGHT_HEAD_BIAS, TSR_ACT_NONE, TSRI_GRAPH_NONE);
    if (shape->logits)
        tsri_graph_output(b->graph, TSRI_OUTPUT_LOGITS, "logits", logits);
    if (shape->argmax)
        tsri_graph_output(b->graph, TSRI_OUTPUT_ARGMAX, "argmax",
                          tsri_graph_op1(b->graph, TSR_OP_ARGMAX, NULL, &logits, 1));
    if (!shape->top_k)
        return;
    const tsr_topk_attrs attrs = {.struct_size = sizeof attrs, .k = (uint32_t)shape->top_k};
    tsri_value out[3] = {TSRI_GRAPH_NONE, TSRI_GRAPH_NONE, TSRI_GRAPH_NONE};
    tsri_graph_op(b->graph, TSR_OP_TOPK, &attrs, &logits, 1, 4, out);
    tsri_graph_output(b->graph, TSRI_OUTPUT_TOP_LOGITS, "top.logits", out[0]);
    tsri_graph_output(b->graph, TSRI_OUTPUT_TOP_IDS, "top.ids", out[1]);
    tsri_graph_output(b->graph, TSRI_OUTPUT_TOP_LSE, "top.lse", out[2]);
}

static void inputs(builder *b) {
    const tsr_dim none = tsri_tensor_const(0);
    b->ids = input(b, TSRI_INPUT_IDS, "ids", 2, B(), T());
    b->past = input(b, TSRI_INPUT_PAST, "past", 1, B(), none);
    b->len = input(b, TSRI_INPUT_LEN, "len", 1, B(), none);
    b->slot = input(b, TSRI_INPUT_SLOT, "slot", 1, B(), none);
    b->rows = input(b, TSRI_INPUT_ROWS, "rows", 1, tsri_tensor_symbol(TSR_SYM_N), none);
    if (b->stack->positions != TSRI_POSITIONS_NONE)
        b->positions = input(b, TSRI_INPUT_POSITIONS, "positions", 2, B(), T());
    if (b->stack->positions != TSRI_POSITIONS_ROTARY)
        return;
    if (b->stack->rope.scaling == TSRI_SCALING_DYNAMIC)
        b->frequencies = input(b, TSRI_INPUT_FREQUENCIES, "frequencies", 1,
                               tsri_tensor_const(b->stack->rope.rotary / 2), none);
    else
        b->frequencies = weight(b, TSRI_WEIGHT_FREQUENCIES);
}

tsr_status tsri_model_build(const tsri_model_weights *weights, const tsri_model_shape *shape,
                            tsri_graph **out) {
    builder b = {.weights = weights,
                 .spec = weights->spec,
                 .stack = &weights->spec->decoder,
                 .shape = shape};
    TRY(tsri_graph_create(&b.graph));
    tsri_graph_scope(b.graph, -1, "embed");
    inputs(&b);
    embed(&b);
    for (int32_t layer = 0; layer < b.stack->layers; layer++) {
        if (shape->hidden)
            tsri_graph_output(b.graph, TSRI_OUTPUT_HIDDEN + (uint32_t)layer, "hidden", b.x);
        layer_of(&b, layer);
    }
    tsri_graph_scope(b.graph, b.stack->layers - 1, "head");
    if (shape->hidden)
        tsri_graph_output(b.graph, TSRI_OUTPUT_HIDDEN + (uint32_t)b.stack->layers, "hidden", b.y);
    head(&b);
    const tsr_status status = tsri_graph_status(b.graph);
    if (status != TSR_OK)
        tsri_graph_destroy(&b.graph);
    *out = b.graph;
    return status;
}
