/* verify/additive_attention.h - what additive_attention and its gradient have in common. */
#ifndef TSRI_VERIFY_ADDITIVE_ATTENTION_H
#define TSRI_VERIFY_ADDITIVE_ATTENTION_H

#include "verify/verify.h"

typedef struct tsri_verify_additive_form {
    int64_t B, T, S, A, E;
    int n_len; /* 0: missing */
    int32_t len[4];
    const char *what;
} tsri_verify_additive_form;

/* Adds a case of `op` with its sizes, with operands 0 to 3, and with lengths as operand `len`. */
tsri_verify_case *tsri_verify_additive_case(tsri_verify_list *list, uint32_t op, int len,
                                            const tsri_verify_additive_form *form);

#endif
