/* text/grammar/tree.h - what the text of a grammar says: rules, each of them an expression over Unicode
 * characters. The readers (gbnf.c, schema/) build a tree; automaton.c makes an automaton of it. */
#ifndef TSRI_TEXT_GRAMMAR_TREE_H
#define TSRI_TEXT_GRAMMAR_TREE_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum tsri_text_expression_kind {
    TSRI_TEXT_LITERAL, /* bytes; none: the empty text */
    TSRI_TEXT_CLASS,   /* a character of some ranges; none: nothing matches */
    TSRI_TEXT_BYTES,   /* a byte of a range, which may be a part of a character */
    TSRI_TEXT_CALL,    /* of a rule */
    TSRI_TEXT_SEQUENCE,
    TSRI_TEXT_CHOICE,
    TSRI_TEXT_REPEAT
} tsri_text_expression_kind;

typedef struct tsri_text_characters {
    int32_t first, last; /* Unicode characters */
} tsri_text_characters;

/* a and b are by kind: where the bytes or ranges begin, and how many there are; the first
 * and the last byte; the rule; the two
 * expressions; the expression that is repeated. */
typedef struct tsri_text_expression {
    tsri_text_expression_kind kind;
    int32_t a, b;
    int32_t least, most; /* repetitions; most -1: any number */
    int32_t depth;
} tsri_text_expression;

typedef struct tsri_text_rule {
    char *name;   /* for messages */
    int32_t root; /* its expression; -1: not defined yet */
} tsri_text_rule;

/* All zero is an empty tree. Rule 0 is the root. An expression is its number in the tree, and may be part
 * of several others. The functions that make expressions never fail: the first failure is kept in
 * `status`, and what they return then is of no use. */
typedef struct tsri_text_tree {
    tsri_text_expression *expressions;
    tsri_text_characters *ranges;
    tsri_text_rule *rules;
    tsri_bytes bytes;
    size_t product_states; /* of all products that were written into it (product.h) */
    size_t n, n_ranges, n_rules, room, ranges_room, rules_room;
    tsr_status status;
} tsri_text_tree;

void tsri_text_tree_clear(tsri_text_tree *tree);

int32_t tsri_text_literal(tsri_text_tree *tree, const char *bytes, size_t n);
/* Any character of the ranges, which may overlap, or, with `except`, any other character. */
int32_t tsri_text_class(tsri_text_tree *tree, const tsri_text_characters *ranges, size_t n,
                        bool except);
int32_t tsri_text_bytes(tsri_text_tree *tree, uint8_t first, uint8_t last);
int32_t tsri_text_call(tsri_text_tree *tree, int32_t rule);
int32_t tsri_text_sequence(tsri_text_tree *tree, int32_t a, int32_t b);
int32_t tsri_text_choice(tsri_text_tree *tree, int32_t a, int32_t b);
int32_t tsri_text_repeat(tsri_text_tree *tree, int32_t a, int32_t least, int32_t most);

/* A new rule, to be defined by setting its root. */
int32_t tsri_text_rule_new(tsri_text_tree *tree, const char *name, size_t n);
void tsri_text_rule_set(tsri_text_tree *tree, int32_t rule, int32_t root);

#endif
