/* text/base/matcher.h - which of many fixed strings starts at a place: a trie over bytes, with all
 * its edges in one hash table, so that a step costs the same however many children a node has. */
#ifndef TSRI_TEXT_BASE_MATCHER_H
#define TSRI_TEXT_BASE_MATCHER_H

#include "tessera/status.h"

#include <stddef.h>
#include <stdint.h>

enum { TSRI_TEXT_ROOT = 0 };

/* All zero is an empty matcher. */
typedef struct tsri_text_matcher {
    int32_t *values;        /* by node: the value of the string that ends there, or -1 */
    size_t nodes, capacity; /* 0 nodes: no string was added */
    uint64_t
        *edges; /* open addressing: parent and byte in the upper 36 bits, child below; 0: no edge */
    size_t n_edges, edge_slots;
    uint16_t *tails; /* the ends of strings that no other string shares: see matcher.c */
    size_t tails_size, tails_room;
    uint32_t roots[256]; /* the root's children, by byte */
} tsri_text_matcher;

/* n >= 1. A string that is added twice keeps its first value. With the value -1 the string itself
 * is never found, but it has a node. */
tsr_status tsri_text_matcher_add(tsri_text_matcher *m, const char *text, size_t n, int32_t value);
/* The child of a node, 0 if it has none; the value of a node, -1 if it has none. A node's number
 * holds until another string is added. */
uint32_t tsri_text_matcher_step(const tsri_text_matcher *m, uint32_t node, unsigned char byte);
int32_t tsri_text_matcher_value(const tsri_text_matcher *m, uint32_t node);
/* The length in bytes of the longest added string that text starts with, 0 if there is none; *value
 * is that string's value. */
size_t tsri_text_matcher_longest(const tsri_text_matcher *m, const char *text, size_t n,
                                 int32_t *value);
/* The same from a node, as if the string that leads to that node stood before the text. */
size_t tsri_text_matcher_longest_from(const tsri_text_matcher *m, uint32_t node, const char *text,
                                      size_t n, int32_t *value);
void tsri_text_matcher_clear(tsri_text_matcher *m);

#endif
