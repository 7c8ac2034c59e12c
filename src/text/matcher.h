/* text/matcher.h - which of many fixed strings starts here: a trie over bytes, the longest match
 * wins. */
#ifndef TSRI_TEXT_MATCHER_H
#define TSRI_TEXT_MATCHER_H

#include "tessera/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tsri_text_node {
    int32_t value; /* -1: no string ends here */
    uint32_t child, sibling;
    unsigned char byte;
} tsri_text_node;

/* All zero is an empty one. */
typedef struct tsri_text_matcher {
    tsri_text_node *nodes; /* [0] is unused: 0 means none */
    size_t count, capacity;
    uint32_t roots[256];
} tsri_text_matcher;

/* n >= 1, value >= 0. A string added twice keeps its first value. */
tsr_status tsri_text_matcher_add(tsri_text_matcher *m, const char *text, size_t n, int32_t value);
/* Bytes of the longest added string that text starts with, 0 for none; *value is its own. */
size_t tsri_text_matcher_longest(const tsri_text_matcher *m, const char *text, size_t n,
                                 int32_t *value);
void tsri_text_matcher_clear(tsri_text_matcher *m);

#endif
