/* text/grammar/tree.c - the expressions of a grammar. */
#include "text/grammar/tree.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

enum {
    MOST_EXPRESSIONS = 1 << 19,
    MOST_BYTES = 1 << 24,
    MOST_DEPTH = 512,
    LAST_CHARACTER = 0x10FFFF
};

void tsri_text_tree_clear(tsri_text_tree *tree) {
    for (size_t i = 0; i < tree->n_rules; i++)
        free(tree->rules[i].name);
    free(tree->rules);
    free(tree->ranges);
    free(tree->expressions);
    tsri_base_bytes_clear(&tree->bytes);
    *tree = (tsri_text_tree){0};
}

static void keep(tsri_text_tree *tree, tsr_status status) {
    if (tree->status == TSR_OK)
        tree->status = status;
}

/* a, b: the expressions that it is made of; -1: none. b is one level further down: a chain leans to the left
 * (automaton.c). */
static int32_t depth(const tsri_text_tree *tree, int32_t a, int32_t b) {
    const int32_t of_a = a < 0 || tree->status != TSR_OK ? 0 : tree->expressions[a].depth,
                  of_b = b < 0 || tree->status != TSR_OK ? 0 : tree->expressions[b].depth + 1;
    return of_a > of_b ? of_a : of_b;
}

static int32_t add(tsri_text_tree *tree, tsri_text_expression expression) {
    if (tree->status == TSR_OK && expression.depth > MOST_DEPTH)
        keep(tree,
             tsri_base_fail(TSR_E_ARGUMENT, "it is nested more than %d levels deep", MOST_DEPTH));
    if (tree->status == TSR_OK && (tree->n >= MOST_EXPRESSIONS || tree->bytes.size > MOST_BYTES))
        keep(tree, tsri_base_fail(TSR_E_ARGUMENT,
                                  "it has more than %d parts; make it smaller: fewer properties, "
                                  "values or rules",
                                  MOST_EXPRESSIONS));
    if (tree->status == TSR_OK)
        keep(tree, tsri_base_grow(&tree->expressions, &tree->room, tree->n + 1,
                                  sizeof *tree->expressions));
    if (tree->status != TSR_OK)
        return 0;
    tree->expressions[tree->n] = expression;
    return (int32_t)tree->n++;
}

int32_t tsri_text_literal(tsri_text_tree *tree, const char *bytes, size_t n) {
    const size_t at = tree->bytes.size;
    if (tree->status == TSR_OK && n > MOST_BYTES)
        keep(tree,
             tsri_base_fail(TSR_E_ARGUMENT, "it has a text of more than %d bytes", MOST_BYTES));
    if (tree->status == TSR_OK)
        keep(tree, tsri_base_bytes_append(&tree->bytes, bytes, n));
    return add(
        tree, (tsri_text_expression){.kind = TSRI_TEXT_LITERAL, .a = (int32_t)at, .b = (int32_t)n});
}

static int by_first(const void *a, const void *b) {
    const tsri_text_characters *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static void put_range(tsri_text_tree *tree, int32_t first, int32_t last) {
    if (first > last || tree->status != TSR_OK)
        return;
    keep(tree, tsri_base_grow(&tree->ranges, &tree->ranges_room, tree->n_ranges + 1,
                              sizeof *tree->ranges));
    if (tree->status == TSR_OK)
        tree->ranges[tree->n_ranges++] = (tsri_text_characters){first, last};
}

/* Sorted and joined, and without surrogates, which UTF-8 does not have. */
static void put_ranges(tsri_text_tree *tree, const tsri_text_characters *sorted, size_t n,
                       bool except) {
    enum { SURROGATES = 0xD800, PAST_SURROGATES = 0xE000 };
    int32_t next = 0; /* the first character that is in none of the ranges so far */
    const size_t from = tree->n_ranges;
    for (size_t i = 0; i < n; i++) {
        const tsri_text_characters *r = &sorted[i];
        if (except)
            put_range(tree, next, r->first - 1);
        else
            put_range(tree, r->first > next ? r->first : next, r->last);
        next = r->last + 1 > next ? r->last + 1 : next;
    }
    if (except)
        put_range(tree, next, LAST_CHARACTER);
    for (size_t i = from, all = tree->n_ranges; i < all && tree->status == TSR_OK; i++) {
        tsri_text_characters *r = &tree->ranges[i];
        const int32_t last = r->last;
        if (last < SURROGATES || r->first >= PAST_SURROGATES)
            continue;
        r->last = SURROGATES - 1; /* before `first`, where the range begins in them: nothing */
        put_range(tree, PAST_SURROGATES, last);
    }
}

int32_t tsri_text_class(tsri_text_tree *tree, const tsri_text_characters *ranges, size_t n,
                        bool except) {
    const size_t at = tree->n_ranges;
    tsri_text_characters *sorted = NULL;
    if (tree->status == TSR_OK)
        keep(tree, tsri_base_new(n, sizeof *sorted, &sorted));
    if (tree->status == TSR_OK) {
        for (size_t i = 0; i < n; i++)
            sorted[i] = ranges[i];
        qsort(sorted, n, sizeof *sorted, by_first);
        put_ranges(tree, sorted, n, except);
    }
    free(sorted);
    return add(tree, (tsri_text_expression){.kind = TSRI_TEXT_CLASS,
                                            .a = (int32_t)at,
                                            .b = (int32_t)(tree->n_ranges - at)});
}

int32_t tsri_text_bytes(tsri_text_tree *tree, uint8_t first, uint8_t last) {
    return add(tree, (tsri_text_expression){.kind = TSRI_TEXT_BYTES, .a = first, .b = last});
}

int32_t tsri_text_call(tsri_text_tree *tree, int32_t rule) {
    return add(tree, (tsri_text_expression){.kind = TSRI_TEXT_CALL, .a = rule});
}

static bool is(const tsri_text_tree *tree, int32_t e, tsri_text_expression_kind kind) {
    return tree->status == TSR_OK && tree->expressions[e].kind == kind && !tree->expressions[e].b;
}

int32_t tsri_text_sequence(tsri_text_tree *tree, int32_t a, int32_t b) {
    return is(tree, a, TSRI_TEXT_LITERAL) ? b
           : is(tree, b, TSRI_TEXT_LITERAL)
               ? a
               : add(tree,
                     (tsri_text_expression){TSRI_TEXT_SEQUENCE, a, b, 0, 0, depth(tree, a, b)});
}

int32_t tsri_text_choice(tsri_text_tree *tree, int32_t a, int32_t b) {
    return is(tree, a, TSRI_TEXT_CLASS) ? b
           : is(tree, b, TSRI_TEXT_CLASS)
               ? a
               : add(tree, (tsri_text_expression){TSRI_TEXT_CHOICE, a, b, 0, 0, depth(tree, a, b)});
}

int32_t tsri_text_repeat(tsri_text_tree *tree, int32_t a, int32_t least, int32_t most) {
    if (most == 0)
        return tsri_text_literal(tree, "", 0);
    if (is(tree, a, TSRI_TEXT_LITERAL) || (least == 1 && most == 1))
        return a;
    return add(tree,
               (tsri_text_expression){TSRI_TEXT_REPEAT, a, -1, least, most, depth(tree, -1, a)});
}

int32_t tsri_text_rule_new(tsri_text_tree *tree, const char *name, size_t n) {
    if (tree->status == TSR_OK)
        keep(tree, tsri_base_grow(&tree->rules, &tree->rules_room, tree->n_rules + 1,
                                  sizeof *tree->rules));
    char *own = tree->status == TSR_OK ? tsri_base_copy_text(name, n) : NULL;
    if (!own) {
        keep(tree, TSR_E_HOST_MEMORY);
        return 0;
    }
    tree->rules[tree->n_rules] = (tsri_text_rule){.name = own, .root = -1};
    return (int32_t)tree->n_rules++;
}

void tsri_text_rule_set(tsri_text_tree *tree, int32_t rule, int32_t root) {
    if (tree->status == TSR_OK)
        tree->rules[rule].root = root;
}
