/* graph/ops/attention/distance_scores.c - the op distance_scores: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(distance_scores);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *by_query = s->in[BY_QUERY], *by_key = s->in[BY_KEY], *place = s->in[PLACE];
    if (!tsri_graph_is_f32(by_query) || by_query->rank != 4)
        return tsri_graph_refuse("distance_scores", "by_query", by_query, "f32 [B,H,T,P]");
    if (!tsri_graph_is_f32(by_key) || by_key->rank != 4 ||
        !tsri_tensor_same_dim(by_key->dim[0], by_query->dim[0]) ||
        !tsri_tensor_same_dim(by_key->dim[1], by_query->dim[1]) ||
        !tsri_tensor_same_dim(by_key->dim[3], by_query->dim[3]))
        return tsri_graph_refuse("distance_scores", "by_key", by_key,
                                 "f32 [B,H,S,P] with by_query's B, H and P");
    if (place->dtype != TSR_I32 || place->rank != 1 || place->dim[0].symbols ||
        place->dim[0].factor % 2 == 0)
        return tsri_graph_refuse("distance_scores", "place", place, "i32 [2R+1]");
    tsri_graph_shape_like(&s->out[Y], TSR_F32, by_query, by_key->dim[2]);
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double y = tsri_graph_elements(op->out[Y], sizes);
    return (tsri_graph_cost){.flops = y, .bytes = 12 * y};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsri_value in[] = {node->in[BY_QUERY], node->in[BY_KEY], node->in[PLACE], d_out[Y]};
    tsri_value d[2];
    tsri_graph_op(tsri_graph_of(b), TSR_OP_DISTANCE_SCORES_GRAD, NULL, in, 4, 0, d);
    tsri_graph_give(b, node->in[BY_QUERY], d[0]);
    tsri_graph_give(b, node->in[BY_KEY], d[1]);
}

const tsri_graph_op_row tsri_graph_op_distance_scores = {.name = "distance_scores",
                                                         .id = TSR_OP_DISTANCE_SCORES,
                                                         .infer = infer,
                                                         .gradient = gradient,
                                                         .cost = cost};
