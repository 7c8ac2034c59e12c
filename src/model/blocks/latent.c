/* model/blocks/latent.c - queries, keys and values of latent attention: keys and values of all heads are made
 * from one vector of a token, and a part of the key, which alone has positions, is the same for all heads.
 *
 *     c, k_shared = split(kv_latent x)      k_h, v_h = kv_up norm(c)      key_h = [k_h, rotated k_shared]
 *     q_h = q norm(q_latent x), or q x: its last elements are rotated
 *
 * source  DeepSeek-AI 2024, arXiv:2405.04434, section 2.1 */
#include "model/blocks/builder.h"

#include "tensor/shape.h"

typedef tsri_model_builder builder;

static tsri_value normed(builder *b, int32_t layer, tsri_value x, tsri_model_role role) {
    const tsr_norm_attrs attrs = {
        .struct_size = sizeof attrs, .norm = TSR_NORM_RMS, .eps = b->stack->latent_eps};
    const tsri_value in[] = {x,
                             tsri_model_weight_leaf(b, tsri_model_builder_weight(b, layer, role))};
    return tsri_graph_op1(b->graph, TSR_OP_RMS_NORM, &attrs, in, 2);
}

static tsri_value product(builder *b, int32_t layer, tsri_value x, tsri_model_role role) {
    return tsri_model_linear(b, x, tsri_model_builder_weight(b, layer, role), TSR_ACT_NONE,
                             TSRI_GRAPH_NONE);
}

static tsri_value joined(builder *b, tsri_value own, tsri_value rotated) {
    return tsri_graph_op1(b->graph, TSR_OP_CONCAT, NULL, (tsri_value[]){own, rotated}, 2);
}

/* Queries, [B,T,H,D]. */
static tsri_value queries(builder *b, int32_t layer) {
    const tsri_model_stack *stack = b->stack;
    const int64_t R = stack->rope.rotary, own = stack->head_size - R;
    tsri_value x = b->y;
    if (stack->q_latent) {
        tsri_model_stage(b, layer, "q_latent");
        x = normed(b, layer, product(b, layer, x, TSRI_ROLE_Q_LATENT), TSRI_ROLE_Q_LATENT_NORM);
    }
    tsri_model_stage(b, layer, "q");
    const tsri_value q = tsri_graph_split(b->graph, product(b, layer, x, TSRI_ROLE_QKV), 2,
                                          stack->heads, stack->head_size);
    const tsri_value rotated =
        tsri_model_rotated_part(b, layer, tsri_graph_slice(b->graph, q, 3, own, R));
    return joined(b, tsri_graph_slice(b->graph, q, 3, 0, own), rotated);
}

/* n copies of x side by side: what the gradient of an expanded view would have to add up. */
static tsri_value repeated(builder *b, tsri_value x, int64_t n) {
    enum { MOST = 4 }; /* operands of concat */
    const int64_t parts = n < MOST ? n : MOST;
    if (n == 1)
        return x;
    const tsri_value few = repeated(b, x, n / parts),
                     more = n % parts ? repeated(b, x, n / parts + 1) : few;
    tsri_value in[MOST];
    for (int64_t i = 0; i < parts; i++)
        in[i] = i < n % parts ? more : few;
    return tsri_graph_op1(b->graph, TSR_OP_CONCAT, NULL, in, (uint32_t)parts);
}

/* The part of a key that all heads share, [B,T,H,R]. */
static tsri_value shared(builder *b, int32_t layer, tsri_value latent) {
    const tsri_model_stack *stack = b->stack;
    const int64_t H = stack->heads, R = stack->rope.rotary;
    const tsr_dim dims[] = {tsri_model_B(), b->T, tsri_tensor_const(R)};
    const tsri_value part = tsri_graph_slice(b->graph, latent, 2, stack->kv_latent, R),
                     rotated = tsri_model_rotated_part(b, layer,
                                                       tsri_graph_split(b->graph, part, 2, 1, R)),
                     one = tsri_graph_reshape(b->graph, rotated, 3, dims);
    if (b->shape->learning)
        return tsri_graph_split(b->graph, repeated(b, one, H), 2, H, R);
    const tsri_value all = tsri_graph_expand(b->graph, one, 2, tsri_tensor_const(H));
    return tsri_graph_op1(b->graph, TSR_OP_COPY, NULL, &all, 1);
}

void tsri_model_latent_heads(builder *b, int32_t layer, tsri_value out[3]) {
    const tsri_model_stack *stack = b->stack;
    const int64_t H = stack->heads, own = stack->head_size - stack->rope.rotary,
                  Dv = stack->value_size;
    const bool apart =
        tsri_model_builder_has(b, tsri_model_builder_weight(b, layer, TSRI_ROLE_V_UP));
    out[0] = queries(b, layer);
    tsri_model_stage(b, layer, "kv_latent");
    const tsri_value latent = product(b, layer, b->y, TSRI_ROLE_KV_LATENT),
                     x = normed(b, layer,
                                tsri_graph_slice(b->graph, latent, 2, 0, stack->kv_latent),
                                TSRI_ROLE_KV_LATENT_NORM);
    tsri_model_stage(b, layer, "kv");
    const tsri_value up = tsri_graph_split(b->graph, product(b, layer, x, TSRI_ROLE_KV_UP), 2, H,
                                           apart ? own : own + Dv);
    out[2] = apart ? tsri_graph_split(b->graph, product(b, layer, x, TSRI_ROLE_V_UP), 2, H, Dv)
                   : tsri_graph_slice(b->graph, up, 3, own, Dv);
    const tsri_value keys = apart ? up : tsri_graph_slice(b->graph, up, 3, 0, own);
    tsri_model_stage(b, layer, "keys");
    out[1] = joined(b, keys, shared(b, layer, latent));
}
