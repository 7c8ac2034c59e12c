/* backends/reference/lookup/gather.c - embed, gather and kv_append: copies rows that an index
 * names. */
#include "backends/reference/reference.h"

static void copy_row(const tsri_reference_view *from, int64_t from_at,
                     const tsri_reference_view *to, int64_t to_at, int64_t n, double scale) {
    const int64_t from_step = tsri_reference_step(from), to_step = tsri_reference_step(to);
    for (int64_t c = 0; c < n; c++)
        tsri_reference_store(to, to_at + c * to_step,
                             scale * tsri_reference_load(from, from_at + c * from_step));
}

static tsr_status pick(const tsri_reference_call *call, const char *what, double scale) {
    const tsri_reference_view table = tsri_reference_in(call, 0),
                              index = tsri_reference_in(call, 1), y = tsri_reference_out(call, 0);
    for (int64_t i = 0, n = tsri_reference_count(&index); i < n; i++) {
        const int64_t row = tsri_reference_load_int(&index, tsri_reference_element_at(&index, i));
        if (row < 0 || row >= table.dim[0])
            return tsri_reference_check_index(call->op, what, row, table.dim[0]);
        copy_row(&table, row * table.stride[0], &y, tsri_reference_row_at(&y, i),
                 tsri_reference_columns(&y), scale);
    }
    return TSR_OK;
}

tsr_status tsri_reference_embed(const tsri_reference_call *call) {
    tsr_embed_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    return pick(call, "id", attrs.scale == 0 ? 1 : attrs.scale);
}

tsr_status tsri_reference_gather(const tsri_reference_call *call) {
    return pick(call, "index", 1);
}

tsr_status tsri_reference_kv_append(const tsri_reference_call *call) {
    const tsri_reference_view state = tsri_reference_in(call, 0), x = tsri_reference_in(call, 1),
                              past = tsri_reference_in(call, 2), len = tsri_reference_in(call, 3),
                              slot = tsri_reference_in(call, 4);
    for (int64_t b = 0; b < x.dim[0]; b++) {
        const int64_t j = slot.data ? tsri_reference_load_int(&slot, b * slot.stride[0]) : b;
        const int64_t before = tsri_reference_load_int(&past, b * past.stride[0]);
        const int64_t length = tsri_reference_load_int(&len, b * len.stride[0]);
        const int64_t end = length < state.dim[2] ? length : state.dim[2];
        for (int64_t t = 0; t < x.dim[1] && before + t < end; t++) {
            if (j < 0 || j >= state.dim[0])
                return tsri_reference_check_index(call->op, "slot", j, state.dim[0]);
            if (before < 0)
                return tsri_reference_check_index(call->op, "position", before, state.dim[2]);
            for (int64_t g = 0; g < x.dim[2]; g++)
                copy_row(&x, b * x.stride[0] + t * x.stride[1] + g * x.stride[2], &state,
                         j * state.stride[0] + g * state.stride[1] + (before + t) * state.stride[2],
                         x.dim[3], 1);
        }
    }
    return TSR_OK;
}
