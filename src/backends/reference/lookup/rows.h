/* backends/reference/lookup/rows.h - rows of a table that an index names: copied, or added to. */
#ifndef TSRI_REFERENCE_ROWS_H
#define TSRI_REFERENCE_ROWS_H

#include "backends/reference/reference.h"

/* Copies n elements, times `scale`. */
void tsri_reference_copy_row(const tsri_reference_view *from, int64_t from_at,
                             const tsri_reference_view *to, int64_t to_at, int64_t n, double scale);
/* y[i] = scale * table[index[i]], with the op's operands table and index; `what` names an index in
 * messages. The table has rows first .. of `whole` (0: it is the whole): rows of y with other
 * indices are left as they are. */
tsr_status tsri_reference_pick_rows(const tsri_reference_call *call, const char *what, double scale,
                                    int64_t first, int64_t whole);
/* state[v] = beta * state[v] + scale * the sum of dy[i] over all i with ids[i] == v; without
 * that sum unless it learns. */
void tsri_reference_add_row(const tsri_reference_view *state, int64_t v,
                            const tsri_reference_view *ids, const tsri_reference_view *dy,
                            double beta, double scale, bool learns);

#endif
