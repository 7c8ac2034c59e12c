/* graph/ops/attention/distance_scores_grad.c - the op distance_scores_grad: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(distance_scores_grad);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *by_query = s->in[BY_QUERY], *by_key = s->in[BY_KEY], *place = s->in[PLACE],
                     *dy = s->in[DY];
    if (!tsri_graph_is_f32(dy) || dy->rank != 4)
        return tsri_graph_refuse("distance_scores_grad", "dy", dy, "f32 [B,H,T,S]");
    const tsr_tensor *const sides[] = {by_query, by_key};
    for (int i = 0; i < 2; i++)
        if (!tsri_graph_is_f32(sides[i]) || sides[i]->rank != 4 ||
            !tsri_tensor_same_dim(sides[i]->dim[0], dy->dim[0]) ||
            !tsri_tensor_same_dim(sides[i]->dim[1], dy->dim[1]) ||
            !tsri_tensor_same_dim(sides[i]->dim[2], dy->dim[2 + i]) ||
            !tsri_tensor_same_dim(sides[i]->dim[3], by_query->dim[3]))
            return tsri_graph_refuse("distance_scores_grad", i ? "by_key" : "by_query", sides[i],
                                     i ? "f32 [B,H,S,P] with dy's B, H and S"
                                       : "f32 [B,H,T,P] with dy's B, H and T");
    if (place->dtype != TSR_I32 || place->rank != 1 || place->dim[0].symbols ||
        place->dim[0].factor % 2 == 0)
        return tsri_graph_refuse("distance_scores_grad", "place", place, "i32 [2R+1]");
    tsri_graph_shape_like(&s->out[DBY_QUERY], TSR_F32, by_query, by_query->dim[3]);
    tsri_graph_shape_like(&s->out[DBY_KEY], TSR_F32, by_key, by_key->dim[3]);
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double dy = tsri_graph_elements(op->in[DY], sizes);
    return (tsri_graph_cost){.flops = 2 * dy,
                             .bytes = 8 * dy + 4 * (tsri_graph_elements(op->out[DBY_QUERY], sizes) +
                                                    tsri_graph_elements(op->out[DBY_KEY], sizes))};
}

const tsri_graph_op_row tsri_graph_op_distance_scores_grad = {.name = "distance_scores_grad",
                                                              .id = TSR_OP_DISTANCE_SCORES_GRAD,
                                                              .infer = infer,
                                                              .cost = cost};
