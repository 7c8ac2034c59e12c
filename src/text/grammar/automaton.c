/* text/grammar/automaton.c - from expressions to nodes and edges, as Thompson's construction has it, built
 * from the end to the beginning. */
#include "text/grammar/automaton.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/unicode.h"

#include <stdlib.h>

enum { MOST_NODES = 1 << 18, SUFFIXES = 64 };

/* Within a class of characters: a node that reads a byte of a range and goes on to another. */
typedef struct suffix {
    int32_t to, node;
    uint8_t first, last;
} suffix;

typedef struct builder {
    const tsri_text_tree *tree;
    tsri_text_automaton *a;
    suffix suffixes[SUFFIXES]; /* of the class that is being built */
    size_t n_suffixes;
    tsr_status status; /* the first failure: what is built then is of no use */
} builder;

void tsri_text_automaton_clear(tsri_text_automaton *automaton) {
    free(automaton->nodes);
    free(automaton->edges);
    free(automaton->starts);
    *automaton = (tsri_text_automaton){0};
}

static int32_t new_node(builder *b) {
    tsri_text_automaton *a = b->a;
    if (b->status == TSR_OK && a->n_nodes >= MOST_NODES)
        b->status =
            tsri_base_fail(TSR_E_ARGUMENT,
                           "it needs more than %d states; make it smaller: fewer or shorter "
                           "repetitions, properties or values",
                           MOST_NODES);
    if (b->status == TSR_OK)
        b->status = tsri_base_grow(&a->nodes, &a->nodes_room, a->n_nodes + 1, sizeof *a->nodes);
    if (b->status != TSR_OK)
        return 0;
    a->nodes[a->n_nodes] = TSRI_TEXT_NO_EDGE;
    return (int32_t)a->n_nodes++;
}

static void add_edge(builder *b, int32_t from, tsri_text_edge edge) {
    tsri_text_automaton *a = b->a;
    if (b->status == TSR_OK)
        b->status = tsri_base_grow(&a->edges, &a->edges_room, a->n_edges + 1, sizeof *a->edges);
    if (b->status != TSR_OK)
        return;
    edge.next = a->nodes[from];
    a->nodes[from] = (int32_t)a->n_edges;
    a->edges[a->n_edges++] = edge;
}

static void go(builder *b, int32_t from, int32_t to, int32_t rule) {
    add_edge(b, from, (tsri_text_edge){.to = to, .rule = rule});
}

static void read_byte(builder *b, int32_t from, int32_t to, uint8_t first, uint8_t last) {
    add_edge(b, from,
             (tsri_text_edge){.to = to, .rule = TSRI_TEXT_BYTE, .first = first, .last = last});
}

/* ---- characters ---- */

static int32_t suffix_node(builder *b, uint8_t first, uint8_t last, int32_t to) {
    for (size_t i = 0; i < b->n_suffixes; i++) {
        const suffix *s = &b->suffixes[i];
        if (s->to == to && s->first == first && s->last == last)
            return s->node;
    }
    const int32_t node = new_node(b);
    read_byte(b, node, to, first, last);
    if (b->n_suffixes < SUFFIXES)
        b->suffixes[b->n_suffixes++] = (suffix){to, node, first, last};
    return node;
}

/* Characters whose UTF-8 has the same length and differs in one place only, or in whole places at its
 * end. */
static void add_bytes(builder *b, int32_t from, int32_t to, int32_t first, int32_t last) {
    char low[4], high[4];
    const size_t n = tsri_text_utf8_put(first, low);
    tsri_text_utf8_put(last, high);
    for (size_t i = n - 1; i > 0; i--)
        to = suffix_node(b, (uint8_t)low[i], (uint8_t)high[i], to);
    read_byte(b, from, to, (uint8_t)low[0], (uint8_t)high[0]);
}

/* The first character of the part of [first, last] that has to be split off; first: none. */
static int32_t split_at(int32_t first, int32_t last) {
    static const int32_t longer[] = {0x80, 0x800, 0x10000};
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
        if (first < longer[i] && last >= longer[i])
            return longer[i];
    if (last < 0x80)
        return first;
    for (int i = 1; i <= 3; i++) {
        const int32_t within = ((int32_t)1 << (6 * i)) - 1;
        if ((first & ~within) == (last & ~within))
            continue;
        if (first & within)
            return (first | within) + 1;
        if ((last & within) != within)
            return last & ~within;
    }
    return first;
}

static void add_range(builder *b, int32_t from, int32_t to, int32_t first, int32_t last) {
    while (first <= last && b->status == TSR_OK) {
        int32_t end = last, at;
        while ((at = split_at(first, end)) > first)
            end = at - 1;
        add_bytes(b, from, to, first, end);
        first = end + 1;
    }
}

static int32_t build_class(builder *b, const tsri_text_expression *e, int32_t end) {
    const int32_t start = new_node(b);
    b->n_suffixes = 0;
    for (int32_t i = 0; i < e->b; i++) {
        const tsri_text_characters *r = &b->tree->ranges[e->a + i];
        add_range(b, start, end, r->first, r->last);
    }
    return start;
}

/* ---- expressions ---- */

static int32_t build(builder *b, int32_t expression, int32_t end);

static int32_t build_literal(builder *b, const tsri_text_expression *e, int32_t end) {
    for (int32_t i = e->b - 1; i >= 0; i--) {
        const uint8_t byte = (uint8_t)b->tree->bytes.data[e->a + i];
        const int32_t node = new_node(b);
        read_byte(b, node, end, byte, byte);
        end = node;
    }
    return end;
}

static int32_t build_bytes(builder *b, const tsri_text_expression *e, int32_t end) {
    const int32_t node = new_node(b);
    read_byte(b, node, end, (uint8_t)e->a, (uint8_t)e->b);
    return node;
}

static int32_t build_repeat(builder *b, const tsri_text_expression *e, int32_t end) {
    int32_t at = end;
    if (e->most < 0) {
        at = new_node(b);
        go(b, at, end, TSRI_TEXT_FREE);
        go(b, at, build(b, e->a, at), TSRI_TEXT_FREE);
    }
    for (int32_t i = e->least; i < e->most && b->status == TSR_OK; i++) {
        const int32_t node = new_node(b);
        go(b, node, end, TSRI_TEXT_FREE);
        go(b, node, build(b, e->a, at), TSRI_TEXT_FREE);
        at = node;
    }
    for (int32_t i = 0; i < e->least && b->status == TSR_OK; i++)
        at = build(b, e->a, at);
    return at;
}

/* Long sequences and choices lean to the left, and are taken in a loop. */
static int32_t build(builder *b, int32_t expression, int32_t end) {
    const tsri_text_expression *e = &b->tree->expressions[expression];
    while (e->kind == TSRI_TEXT_SEQUENCE && b->status == TSR_OK) {
        end = build(b, e->b, end);
        e = &b->tree->expressions[e->a];
    }
    if (b->status != TSR_OK)
        return 0;
    switch (e->kind) {
    case TSRI_TEXT_LITERAL:
        return build_literal(b, e, end);
    case TSRI_TEXT_CLASS:
        return build_class(b, e, end);
    case TSRI_TEXT_BYTES:
        return build_bytes(b, e, end);
    case TSRI_TEXT_REPEAT:
        return build_repeat(b, e, end);
    default:
        break;
    }
    const int32_t node = new_node(b);
    for (; e->kind == TSRI_TEXT_CHOICE && b->status == TSR_OK; e = &b->tree->expressions[e->a])
        go(b, node, build(b, e->b, end), TSRI_TEXT_FREE);
    if (e->kind == TSRI_TEXT_CALL)
        go(b, node, end, e->a);
    else if (b->status == TSR_OK)
        go(b, node, build(b, (int32_t)(e - b->tree->expressions), end), TSRI_TEXT_FREE);
    return node;
}

/* ---- rules that begin with themselves ---- */

/* A node that a rule reaches without reading a byte, and the edge of it to be looked at next. */
typedef struct place {
    int32_t node, edge;
} place;

typedef struct frame {
    int32_t rule;
    size_t places; /* where its places begin */
} frame;

/* From each rule to those that it can begin with, which are finished first, because what follows a rule
 * that may be empty is a beginning, too. */
typedef struct walk {
    const tsri_text_automaton *a;
    bool *empty;    /* [rules] whether it may read nothing; known once it is finished */
    uint8_t *state; /* [rules] */
    bool *seen;     /* [nodes] */
    place *places;  /* [nodes] */
    frame *frames;  /* [rules] */
    size_t n_places, n_frames;
} walk;

enum { NEW, OPEN, FINISHED };

static void reach(walk *w, int32_t rule, int32_t node) {
    w->empty[rule] |= node == 0;
    if (node == 0 || w->seen[node])
        return;
    w->seen[node] = true;
    w->places[w->n_places++] = (place){node, w->a->nodes[node]};
}

static void enter(walk *w, int32_t rule) {
    w->state[rule] = OPEN;
    w->frames[w->n_frames++] = (frame){rule, w->n_places};
    reach(w, rule, w->a->starts[rule]);
}

/* Looks at one edge of the rule that was entered last, or finishes it. False: it begins with a rule that is
 * open, *again. */
static bool look(walk *w, int32_t *again) {
    const frame *f = &w->frames[w->n_frames - 1];
    if (w->n_places == f->places) {
        w->state[f->rule] = FINISHED;
        w->n_frames--;
        return true;
    }
    place *p = &w->places[w->n_places - 1];
    if (p->edge < 0) {
        w->n_places--;
        return true;
    }
    const tsri_text_edge *e = &w->a->edges[p->edge];
    if (e->rule >= 0 && w->state[e->rule] != FINISHED) {
        *again = e->rule;
        if (w->state[e->rule] == OPEN)
            return false;
        enter(w, e->rule);
        return true;
    }
    p->edge = e->next;
    if (e->rule == TSRI_TEXT_FREE || (e->rule >= 0 && w->empty[e->rule]))
        reach(w, f->rule, e->to);
    return true;
}

/* A rule that begins with itself. That of a JSON schema has the name of its place, #/..., as no other rule has. */
static tsr_status fail_recursion(const char *rule) {
    if (*rule == '#')
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the schema at \"%.60s\" refers to itself (\"$ref\") before a value "
                              "begins: refer to it within \"properties\" or \"items\" alone",
                              rule);
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "rule \"%.60s\" begins with itself (left recursion), which is "
                          "not served: write x ::= y z* in place of x ::= x z | y",
                          rule);
}

static tsr_status look_at_all(walk *w, const tsri_text_tree *tree) {
    int32_t again;
    for (size_t r = 0; r < w->a->n_rules; r++) {
        if (w->state[r] == NEW)
            enter(w, (int32_t)r);
        while (w->n_frames)
            if (!look(w, &again))
                return fail_recursion(tree->rules[again].name);
    }
    return TSR_OK;
}

static tsr_status check_beginnings(const tsri_text_tree *tree, const tsri_text_automaton *a) {
    walk w = {.a = a};
    tsr_status status = tsri_base_new(a->n_rules, sizeof *w.empty, &w.empty);
    if (status == TSR_OK)
        status = tsri_base_new(a->n_rules, sizeof *w.state, &w.state);
    if (status == TSR_OK)
        status = tsri_base_new(a->n_nodes, sizeof *w.seen, &w.seen);
    if (status == TSR_OK)
        status = tsri_base_new(a->n_nodes, sizeof *w.places, &w.places);
    if (status == TSR_OK)
        status = tsri_base_new(a->n_rules, sizeof *w.frames, &w.frames);
    if (status == TSR_OK)
        status = look_at_all(&w, tree);
    void *const arrays[] = {w.empty, w.state, w.seen, w.places, w.frames};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    return status;
}

/* ---- the whole ---- */

/* Bytes that no edge tells apart become one class, and edges read classes. */
static void find_classes(tsri_text_automaton *a) {
    bool begins[257] = {true};
    for (size_t i = 0; i < a->n_edges; i++)
        if (a->edges[i].rule == TSRI_TEXT_BYTE)
            begins[a->edges[i].first] = begins[a->edges[i].last + 1] = true;
    int32_t class = -1;
    for (int i = 0; i < 256; i++) {
        class += begins[i];
        a->classes[i] = (uint8_t) class;
    }
    a->n_classes = class + 1;
    for (size_t i = 0; i < a->n_edges; i++) {
        a->edges[i].first = a->classes[a->edges[i].first];
        a->edges[i].last = a->classes[a->edges[i].last];
    }
}

static tsr_status make(const tsri_text_tree *tree, tsri_text_automaton *a) {
    builder b = {.tree = tree, .a = a};
    TRY(tree->status);
    TRY(tsri_base_new(tree->n_rules, sizeof *a->starts, &a->starts));
    a->n_rules = tree->n_rules;
    new_node(&b);
    for (size_t r = 0; r < tree->n_rules; r++) {
        if (tree->rules[r].root < 0)
            return tsri_base_fail(TSR_E_ARGUMENT, "rule \"%.60s\" is used but not defined",
                                  tree->rules[r].name);
        a->starts[r] = build(&b, tree->rules[r].root, 0);
        TRY(b.status);
    }
    find_classes(a);
    return check_beginnings(tree, a);
}

tsr_status tsri_text_automaton_make(const tsri_text_tree *tree, tsri_text_automaton *out) {
    *out = (tsri_text_automaton){0};
    const tsr_status status = make(tree, out);
    if (status != TSR_OK)
        tsri_text_automaton_clear(out);
    return status;
}
