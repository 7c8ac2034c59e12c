/* text/base/allowance.h - what one text may cost. The parts of a tokenizer come from a file, and
 * a few of them in a row can multiply a text without end or look at it for hours: each part
 * makes bytes, and each regular expression takes steps, in proportion to the text. */
#ifndef TSRI_TEXT_BASE_ALLOWANCE_H
#define TSRI_TEXT_BASE_ALLOWANCE_H

#include "base/bytes.h"

#include <stdint.h>

typedef struct tsri_text_allowance {
    size_t most;    /* bytes that a part may make of the whole text */
    size_t normal;  /* of them, those that normalizers have left */
    uint64_t steps; /* that regular expressions have left: items tried, characters passed */
} tsri_text_allowance;

/* Of a text of n bytes. */
tsri_text_allowance tsri_text_allowance_of(size_t n);
/* Adds what n more bytes of it allow. */
void tsri_text_allowance_grow(tsri_text_allowance *allowance, size_t n);

#endif
