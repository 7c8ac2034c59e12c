/* graph/ops/elements/cast.c - the op cast: its shapes and its cost. */
#include "graph/ops/check.h"

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_cast_attrs *attrs = s->attrs;
    const tsr_tensor to = {.dtype = attrs->dtype};
    if (!tsri_graph_is_kv(s->in[0]) || !tsri_graph_is_float(&to))
        return tsri_graph_refuse("cast", "x", s->in[0],
                                 "f32, f16, bf16 or q8_0 blocks, to become f32, f16 or bf16");
    tsri_graph_shape_like(&s->out[0], (tsr_dtype)attrs->dtype, s->in[0],
                          tsri_tensor_columns(s->in[0]));
    return TSR_OK;
}

const tsri_graph_op_row tsri_graph_op_cast = {.name = "cast",
                                              .id = TSR_OP_CAST,
                                              .attrs_size = sizeof(tsr_cast_attrs),
                                              .infer = infer,
                                              .cost = tsri_graph_cost_unary};
