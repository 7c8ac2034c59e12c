/* graph/ops/lookup/embed_add.c - the op embed_add: its shapes and its cost. */
#include "graph/ops/check.h"

#include <string.h>

TSRI_OPERANDS(embed_add);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *state = s->in[STATE], *ids = s->in[IDS];
    if (!tsri_graph_is_f32(state) || state->rank != 2)
        return tsri_graph_refuse("embed_add", "the state", state, "f32 [V,C]");
    if (ids->dtype != TSR_I32 || ids->rank < 1 || ids->rank >= TSR_MAX_RANK)
        return tsri_graph_refuse("embed_add", "ids", ids, "i32");
    tsr_tensor dy = {.rank = ids->rank + 1};
    memcpy(dy.dim, ids->dim, sizeof ids->dim);
    dy.dim[ids->rank] = state->dim[1];
    if (!tsri_graph_is_f32(s->in[DY]) || !tsri_graph_same_shape(s->in[DY], &dy))
        return tsri_graph_refuse("embed_add", "dy", s->in[DY],
                                 "f32 of the shape of ids, followed by the state's C");
    if (!tsri_graph_is_vector(tsri_graph_operand(s, BETA), tsri_tensor_const(1)))
        return tsri_graph_refuse("embed_add", "beta", s->in[BETA], "f32 [1]");
    return TSR_OK;
}

/* With beta the whole state is read and written; without it, only the rows that ids name. */
static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double dy = tsri_graph_elements(op->in[DY], sizes);
    const bool beta = op->n_in > BETA && op->in[BETA];
    return (tsri_graph_cost){.flops = 2 * dy,
                             .bytes = 12 * dy +
                                      (beta ? 8 * tsri_graph_elements(op->in[STATE], sizes) : 0)};
}

const tsri_graph_op_row tsri_graph_op_embed_add = {.name = "embed_add",
                                                   .id = TSR_OP_EMBED_ADD,
                                                   .attrs_size = sizeof(tsr_embed_attrs),
                                                   .infer = infer,
                                                   .cost = cost};
