/* graph/ops.c - the op table. */
#include "graph/ops.h"

#include <string.h>

static const tsri_graph_op_row *const rows[] = {
#define ROW(id, name, attributes) &tsri_graph_op_##name,
    TSR_OP_LIST(ROW)
#undef ROW
};

size_t tsri_graph_op_count(void) {
    return sizeof rows / sizeof *rows;
}

const tsri_graph_op_row *tsri_graph_op_at(size_t i) {
    return rows[i];
}

const tsri_graph_op_row *tsri_graph_op_find(tsr_op_id id) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i]->id == id)
            return rows[i];
    return NULL;
}

bool tsri_graph_op_decomposes(const tsr_op *op) {
    const tsri_graph_op_row *row = tsri_graph_op_find((tsr_op_id)op->id);
    return row->decompose && (!row->decomposes || row->decomposes(op));
}

const tsri_graph_op_row *tsri_graph_op_named(const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i]->name, name))
            return rows[i];
    return NULL;
}
