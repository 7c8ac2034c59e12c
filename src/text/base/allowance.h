/* text/base/allowance.h - what one text may cost. The parts of a tokenizer come from a file, and a
 * few of them one after another can multiply a text without end or search it for hours: each part
 * makes bytes, and each regular expression takes steps, in proportion to the text. */
#ifndef TSRI_TEXT_BASE_ALLOWANCE_H
#define TSRI_TEXT_BASE_ALLOWANCE_H

#include "base/bytes.h"

#include <stdint.h>

typedef struct tsri_text_allowance {
    size_t most;    /* bytes that one part may make of the whole text */
    size_t normal;  /* of those, the bytes that normalizers may still make */
    uint64_t steps; /* what regular expressions may still take: items tried, characters passed */
} tsri_text_allowance;

/* The allowance of a text of n bytes. */
tsri_text_allowance tsri_text_allowance_of(size_t n);
/* Adds what n more bytes of text allow. */
void tsri_text_allowance_grow(tsri_text_allowance *allowance, size_t n);

#endif
