/* cases/attention/additive_attention.h - what additive_attention and its gradient have in common. */
#ifndef TSRI_CASES_ADDITIVE_ATTENTION_H
#define TSRI_CASES_ADDITIVE_ATTENTION_H

#include "cases/cases.h"

typedef struct tsri_case_additive_form {
    int64_t B, T, S, A, E;
    int n_len; /* 0: missing */
    int32_t len[4];
    const char *what;
} tsri_case_additive_form;

/* Adds a case of `op` with its sizes, with operands 0 to 3, and with lengths as operand `len`. */
tsri_case *tsri_case_additive(tsri_case_list *list, uint32_t op, int len,
                              const tsri_case_additive_form *form);

#endif
