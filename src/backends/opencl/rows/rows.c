/* backends/opencl/rows/rows.c - the table of all kernel variants: which ops the backend offers, and
 * the variants and layouts by their names. */
#include "backends/opencl/rows/rows.h"
#include "backends/opencl/rows/shared/common.h"

#include <string.h>

int tsri_opencl_row_score(const tsri_opencl_row *row, const tsri_opencl_facts *facts) {
    return row->gpu && facts->common.type != TSR_DEVICE_GPU ? row->score / 10 : row->score;
}

const tsri_opencl_row *tsri_opencl_rows_of(tsr_op_id op) {
    static const tsri_opencl_row *const tables[TSR_OP_COUNT] = {
#define TABLE(id, name, attributes) [TSR_OP_##id] = tsri_opencl_rows_##name,
        TSR_OP_LIST(TABLE)
#undef TABLE
    };
    return op > TSR_OP_NONE && op < TSR_OP_COUNT ? tables[op] : NULL;
}

bool tsri_opencl_row_chains(const tsri_opencl_row *row) {
    return row->file && !row->enqueue && !row->gpu && !row->newest_c && !row->alone;
}

static const char *const names[TSR_OP_COUNT] = {
#define NAME(id, name, attributes) [TSR_OP_##id] = #name,
    TSR_OP_LIST(NAME)
#undef NAME
};

const char *tsri_opencl_op_name(tsr_op_id op) {
    return (unsigned)op < TSR_OP_COUNT ? names[op] : NULL;
}

tsr_op_id tsri_opencl_op_of(const char *name, size_t n) {
    for (int op = 1; op < TSR_OP_COUNT; op++)
        if (names[op] && strlen(names[op]) == n && !memcmp(names[op], name, n))
            return (tsr_op_id)op;
    return TSR_OP_NONE;
}

const tsri_opencl_row *tsri_opencl_row_of(tsr_op_id op, const char *name, size_t n) {
    for (const tsri_opencl_row *row = tsri_opencl_rows_of(op); row && row->name; row++)
        if (strlen(row->name) == n && !memcmp(row->name, name, n))
            return row;
    return NULL;
}

const tsri_opencl_row *tsri_opencl_find_row(const char *name) {
    const char *slash = strchr(name, '/');
    const tsr_op_id op = slash ? tsri_opencl_op_of(name, (size_t)(slash - name)) : TSR_OP_NONE;
    return op == TSR_OP_NONE ? NULL : tsri_opencl_row_of(op, slash + 1, strlen(slash + 1));
}

const tsri_opencl_layout *tsri_opencl_layout_by_id(uint32_t id) {
    for (int op = 1; id && op < TSR_OP_COUNT; op++)
        for (const tsri_opencl_row *row = tsri_opencl_rows_of((tsr_op_id)op); row && row->name;
             row++)
            if (row->layout && row->layout->id == id)
                return row->layout;
    return NULL;
}
