/* text/grammar/automaton.h - a grammar as an automaton over bytes: each rule is a graph whose edges read a
 * byte, or call a rule and go on behind it. Characters are the bytes of their UTF-8, so a token that ends
 * within a character needs nothing special. */
#ifndef TSRI_TEXT_GRAMMAR_AUTOMATON_H
#define TSRI_TEXT_GRAMMAR_AUTOMATON_H

#include "text/grammar/tree.h"

enum { TSRI_TEXT_NO_EDGE = -1, TSRI_TEXT_FREE = -1, TSRI_TEXT_BYTE = -2 };

typedef struct tsri_text_edge {
    int32_t next; /* of the same node */
    int32_t to;
    int32_t rule;        /* that is called first; TSRI_TEXT_FREE: nothing is read; TSRI_TEXT_BYTE */
    uint8_t first, last; /* classes of bytes */
} tsri_text_edge;

typedef struct tsri_text_automaton {
    int32_t *nodes; /* the first edge of each */
    tsri_text_edge *edges;
    int32_t *starts; /* the first node of each rule */
    size_t n_nodes, n_edges, n_rules, nodes_room, edges_room;
    uint8_t classes[256]; /* of each byte: bytes of a class are alike to all edges */
    int32_t n_classes;
} tsri_text_automaton;

/* Node 0 is the end of every rule: what called it goes on.
 *
 * error  TSR_E_ARGUMENT  a rule is not defined, or begins with itself; or there are too many nodes */
tsr_status tsri_text_automaton_make(const tsri_text_tree *tree, tsri_text_automaton *out);
void tsri_text_automaton_clear(tsri_text_automaton *automaton);

#endif
