#include "graph/ops/check.h"

const tsri_graph_op_row tsri_graph_op_sigmoid = {.name = "sigmoid",
                                                 .id = TSR_OP_SIGMOID,
                                                 .min_in = 1,
                                                 .max_in = 1,
                                                 .n_out = 1,
                                                 .may_overwrite = 1,
                                                 .infer = tsri_graph_infer_unary,
                                                 .cost = tsri_graph_cost_unary};
