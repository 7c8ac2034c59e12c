/* verify/mul.c - the cases of mul. */
#include "verify/binary.h"

void tsri_verify_mul_cases(tsri_verify_list *list) {
    tsri_verify_binary_cases(list, TSR_OP_MUL);
}
