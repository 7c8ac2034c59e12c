/* cases/recurrent/gru_cell.h - what gru_cell and its gradient have in common. */
#ifndef TSRI_CASES_GRU_CELL_H
#define TSRI_CASES_GRU_CELL_H

#include "cases/cases.h"

/* Adds a case of `op` with its sizes, attributes (which both ops have) and operands 0 to 3; weights
 * are at most L / E. */
tsri_case *tsri_case_gru(tsri_case_list *list, uint32_t op, int64_t B, int64_t T, int64_t E,
                         tsr_dtype dtype, bool reverse, bool unequal, double L);

#endif
