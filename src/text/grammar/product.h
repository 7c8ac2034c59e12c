/* text/grammar/product.h - the texts that several grammars allow, and others do not, as a part of one grammar. */
#ifndef TSRI_TEXT_GRAMMAR_PRODUCT_H
#define TSRI_TEXT_GRAMMAR_PRODUCT_H

#include "text/grammar/tree.h"

/* What rule 0 of a tree allows; or, with `except`, does not allow. */
typedef struct tsri_text_factor {
    tsri_text_tree tree;
    bool except;
} tsri_text_factor;

enum { TSRI_TEXT_FACTORS = 8 };

/* An expression of `to`: the texts of all n factors, from 1 to TSRI_TEXT_FACTORS, at least one of which is without
 * `except`. *empty: there is no such text. Failures are kept in to->status, those of the factors too.
 *
 * error  TSR_E_ARGUMENT  the product is too large */
int32_t tsri_text_product(tsri_text_tree *to, const tsri_text_factor *factors, size_t n,
                          bool *empty);
/* Whether a factor has a text. False after a failure, which is kept in *status. */
bool tsri_text_factor_has(const tsri_text_factor *factor, const char *text, size_t n,
                          tsr_status *status);

#endif
