#include "graph/ops/check.h"

const tsri_graph_op_row tsri_graph_op_mul = {.name = "mul",
                                             .id = TSR_OP_MUL,
                                             .min_in = 2,
                                             .max_in = 2,
                                             .n_out = 1,
                                             .may_overwrite = 1,
                                             .infer = tsri_graph_infer_binary,
                                             .cost = tsri_graph_cost_unary};
