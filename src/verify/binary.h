/* verify/binary.h - the cases that add and mul share. */
#ifndef TSRI_VERIFY_BINARY_H
#define TSRI_VERIFY_BINARY_H

#include "verify/verify.h"

void tsri_verify_binary_cases(tsri_verify_list *list, tsr_op_id op);

#endif
