/* graph/ops/lookup/embed.c - the op embed: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

#include <string.h>

TSRI_OPERANDS(embed);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *table = s->in[TABLE], *ids = s->in[IDS];
    if ((!tsri_graph_is_float(table) && !tsri_graph_is_blocks(table)) || table->rank != 2)
        return tsri_graph_refuse("embed", "the table", table,
                                 "f32, f16 or bf16 [V,C], or blocks (q8_0, q4_K, mxfp4 ...) with C "
                                 "a multiple of their size");
    if (ids->dtype != TSR_I32 || ids->rank < 1 || ids->rank >= TSR_MAX_RANK)
        return tsri_graph_refuse("embed", "ids", ids, "i32");
    s->out[Y].dtype = TSR_F32;
    s->out[Y].rank = ids->rank + 1;
    memcpy(s->out[Y].dim, ids->dim, sizeof ids->dim);
    s->out[Y].dim[ids->rank] = table->dim[1];
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.bytes = 8 * tsri_graph_elements(op->out[Y], sizes)};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsr_embed_attrs *attrs = node->attrs;
    if (attrs->whole && tsri_graph_wants(b, node->in[TABLE]))
        tsri_graph_fail(tsri_graph_of(b), TSR_E_UNSUPPORTED,
                        "%s: the gradient of a part of a table is not supported", node->label);
    tsri_graph_give_rows(b, node->in[TABLE], attrs, node->in[IDS], d_out[Y]);
}

const tsri_graph_op_row tsri_graph_op_embed = {.name = "embed",
                                               .id = TSR_OP_EMBED,
                                               .attrs_size = sizeof(tsr_embed_attrs),
                                               .infer = infer,
                                               .gradient = gradient,
                                               .cost = cost};
