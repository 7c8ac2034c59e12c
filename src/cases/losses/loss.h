/* cases/losses/loss.h - what the cases of cross_entropy, kl_divergence and their gradients have
 * in common. Sums over the classes have 16 partial sums over segments of 1024, so that K = 80 +
 * V/1024 roundings reach a sum of exponentials, those of the exponentials included. */
#ifndef TSRI_CASES_LOSS_H
#define TSRI_CASES_LOSS_H

#include "cases/cases.h"

typedef struct tsri_case_loss_form {
    int64_t B, T, V;
    double range; /* of logits */
    float smoothing, temperature;
    int ignored; /* 0: none, 1: every third target, 2: all; 3 (kl_divergence): no targets */
    bool teacher, addend;
    const char *what;
} tsri_case_loss_form;

enum { TSRI_CASE_ENTROPIES = 15, TSRI_CASE_DIVERGENCES = 18 };
extern const tsri_case_loss_form tsri_case_entropies[TSRI_CASE_ENTROPIES],
    tsri_case_divergences[TSRI_CASE_DIVERGENCES];

double tsri_case_loss_roundings(const tsri_case_loss_form *f); /* K */
/* Adds a case of `op` with its sizes, its logits and, where there are any, its targets. */
tsri_case *tsri_case_loss(tsri_case_list *list, tsr_op_id op, const tsri_case_loss_form *f);
/* Operand i has one element, or the classes, for each row. */
tsri_case_operand *tsri_case_loss_rows(tsri_case *c, int i, tsr_dtype dtype);
tsri_case_operand *tsri_case_loss_classes(tsri_case *c, int i, const tsri_case_loss_form *f,
                                          double range);
void tsri_case_set_entropy(tsri_case *c, const tsri_case_loss_form *f);
/* The same as tsri_case_loss, with the teacher and the attributes. */
tsri_case *tsri_case_divergence(tsri_case_list *list, tsr_op_id op, const tsri_case_loss_form *f);

#endif
