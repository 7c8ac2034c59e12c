/* cases/attention/attention.h - what attention and its gradient have in common. */
#ifndef TSRI_CASES_ATTENTION_H
#define TSRI_CASES_ATTENTION_H

#include "cases/cases.h"

typedef struct tsri_case_attention_form {
    int64_t B, T, S, H, G, D, Dv;
    uint32_t causal, window;
    int n_past, n_len; /* 0: missing */
    int32_t past[4], len[4];
    const char *what;
} tsri_case_attention_form;

/* Adds a case of `op` with its sizes and attributes (which both ops have), with queries, keys and
 * values as operands 0 to 2, and with past and lengths as operands `past` and `past` + 1. */
tsri_case *tsri_case_attention(tsri_case_list *list, uint32_t op, int past, float scale,
                               const tsri_case_attention_form *form);

/* Adds a case of attention with its bound; `kind` is a word before what the form says. */
tsri_case *tsri_case_attention_add(tsri_case_list *list, const tsri_case_attention_form *form);
tsri_case *tsri_case_attention_add_as(tsri_case_list *list, const char *kind,
                                      const tsri_case_attention_form *form);

/* The shapes of a bias [B,H,T,S], as " bias [1,H,T,S]": which of its sizes are not 1. */
enum { TSRI_CASE_BIASES = 4 };
typedef struct tsri_case_bias {
    const char *what;
    bool B, H, T;
} tsri_case_bias;
extern const tsri_case_bias tsri_case_biases[TSRI_CASE_BIASES];
/* Gives a case such a bias, as its operand number `operand`. */
void tsri_case_give_bias(tsri_case *c, int operand, const tsri_case_bias *bias, int64_t H);

/* Sets the bound of a case with S keys, heads of D elements and scores up to `score`. */
void tsri_case_attention_bound(tsri_case *c, int64_t S, int64_t D, double score);

/* attention_with.c */
enum { TSRI_CASE_PAGES = 17 };
/* Describes an operand as `pages` pages of each of B sequences, at most TSRI_CASE_MAX_LIST in all. */
void tsri_case_pages(tsri_case *c, int operand, int64_t B, int64_t pages);
void tsri_cases_attention_with(tsri_case_list *list);

#endif
