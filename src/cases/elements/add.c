/* cases/elements/add.c - the cases of add. */
#include "cases/elements/binary.h"

void tsri_cases_add(tsri_case_list *list) {
    tsri_cases_binary(list, TSR_OP_ADD);
}
