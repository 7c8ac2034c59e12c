/* Which ops the backend offers, and their rows. */
#include "backends/opencl/rows/common.h"

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
