/* cases/elements/binary.h - the cases that add and mul share. */
#ifndef TSRI_CASES_BINARY_H
#define TSRI_CASES_BINARY_H

#include "cases/cases.h"

void tsri_cases_binary(tsri_case_list *list, tsr_op_id op);

#endif
