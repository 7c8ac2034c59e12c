/* cases/elements/mul.c - the cases of mul. */
#include "cases/elements/binary.h"

void tsri_cases_mul(tsri_case_list *list) {
    tsri_cases_binary(list, TSR_OP_MUL);
}
