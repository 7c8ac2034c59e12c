/* verify/add.c - the cases of add. */
#include "verify/binary.h"

void tsri_verify_add_cases(tsri_verify_list *list) {
    tsri_verify_binary_cases(list, TSR_OP_ADD);
}
