/* backends/reference/lookup/rows.c - rows of a table that an index names. */
#include "backends/reference/lookup/rows.h"

void tsri_reference_copy_row(const tsri_reference_view *from, int64_t from_at,
                             const tsri_reference_view *to, int64_t to_at, int64_t n,
                             double scale) {
    const int64_t from_step = tsri_reference_step(from), to_step = tsri_reference_step(to);
    for (int64_t c = 0; c < n; c++)
        tsri_reference_store(to, to_at + c * to_step,
                             scale * tsri_reference_load(from, from_at + c * from_step));
}

tsr_status tsri_reference_pick_rows(const tsri_reference_call *call, const char *what, double scale,
                                    int64_t first, int64_t whole) {
    const tsri_reference_view table = tsri_reference_in(call, 0),
                              index = tsri_reference_in(call, 1), y = tsri_reference_out(call, 0);
    const int64_t rows = whole ? whole : table.dim[0];
    for (int64_t i = 0, n = tsri_reference_count(&index); i < n; i++) {
        const int64_t row = tsri_reference_load_int(&index, tsri_reference_element_at(&index, i));
        if (row < 0 || row >= rows)
            return tsri_reference_check_index(call->op, what, row, rows);
        if (row >= first && row - first < table.dim[0])
            tsri_reference_copy_row(&table, (row - first) * table.stride[0], &y,
                                    tsri_reference_row_at(&y, i), tsri_reference_columns(&y),
                                    scale);
    }
    return TSR_OK;
}

/* The sum of a whole row is formed in double before it is stored. */
void tsri_reference_add_row(const tsri_reference_view *state, int64_t v,
                            const tsri_reference_view *ids, const tsri_reference_view *dy,
                            double beta, double scale, bool learns) {
    const int64_t n = tsri_reference_count(ids);
    for (int64_t c = 0; c < state->dim[1]; c++) {
        const int64_t at = v * state->stride[0] + c * state->stride[1];
        double sum = 0;
        for (int64_t i = 0; i < n && learns; i++)
            if (tsri_reference_load_int(ids, tsri_reference_element_at(ids, i)) == v)
                sum += tsri_reference_load(dy, tsri_reference_row_at(dy, i) +
                                                   c * tsri_reference_step(dy));
        const double before = beta == 0 ? 0 : beta * tsri_reference_load(state, at);
        tsri_reference_store(state, at, before + scale * sum);
    }
}
