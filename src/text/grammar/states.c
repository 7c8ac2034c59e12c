/* text/grammar/states.c - the states of a grammar, made as they are reached. */
#include "text/grammar/states.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PLACES = 1 << 14, MOST_WORK = 1 << 22, FIRST_TABLE = 64 };

/* Numbers by the hash of what they stand for. */
typedef struct table {
    int32_t *ids; /* [room] TSRI_TEXT_UNKNOWN: free; room is a power of two */
    size_t room, n;
} table;

typedef struct met {
    tsri_text_place place;
    uint32_t stamp; /* of the set that it is in */
} met;

struct tsri_text_states {
    const tsri_text_automaton *a;
    tsri_text_state *states;
    tsri_text_place *places;
    tsri_text_stack *stacks;
    int32_t *rows;
    size_t n, n_places, n_stacks, room, places_room, stacks_room, rows_room;
    table by_places, by_stack;
    /* the set that is being made */
    tsri_text_place *todo, *found;
    size_t n_todo, n_found, todo_room, found_room;
    met *met; /* [met_room] a power of two */
    size_t met_room, n_met;
    uint32_t stamp;
    bool ends, leaves;
    int64_t work;
};

static uint64_t mix(uint64_t hash, int32_t value) {
    hash = (hash ^ (uint32_t)value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_of_pair(int32_t a, int32_t b) {
    return mix(mix(1, a), b);
}

static uint64_t hash_of_set(const tsri_text_place *places, size_t n) {
    uint64_t hash = 1;
    for (size_t i = 0; i < n; i++)
        hash = mix(mix(hash, places[i].node), places[i].stack);
    return hash;
}

/* The places of a state; NULL, which nothing is added to, where it has none. */
static const tsri_text_place *places_of(const tsri_text_states *s, int32_t id) {
    return s->states[id].n ? s->places + s->states[id].places : NULL;
}

/* ---- tables ---- */

static uint64_t hash_of_id(const tsri_text_states *s, const table *t, int32_t id) {
    if (t == &s->by_stack)
        return hash_of_pair(s->stacks[id].node, s->stacks[id].below);
    return hash_of_set(places_of(s, id), (size_t)s->states[id].n);
}

static void put(const tsri_text_states *s, const table *t, int32_t id) {
    size_t at = hash_of_id(s, t, id) & (t->room - 1);
    while (t->ids[at] >= 0)
        at = (at + 1) & (t->room - 1);
    t->ids[at] = id;
}

static tsr_status grow_table(const tsri_text_states *s, table *t) {
    const table old = *t;
    if ((t->n + 1) * 2 <= t->room)
        return TSR_OK;
    const size_t room = old.room ? old.room * 2 : FIRST_TABLE;
    TRY(tsri_base_new(room, sizeof *t->ids, &t->ids));
    t->room = room;
    for (size_t i = 0; i < room; i++)
        t->ids[i] = TSRI_TEXT_UNKNOWN;
    for (size_t i = 0; i < old.room; i++)
        if (old.ids[i] >= 0)
            put(s, t, old.ids[i]);
    free(old.ids);
    return TSR_OK;
}

/* ---- stacks ---- */

static tsr_status push(tsri_text_states *s, int32_t node, int32_t below, int32_t *out) {
    TRY(grow_table(s, &s->by_stack));
    const table *t = &s->by_stack;
    for (size_t at = hash_of_pair(node, below) & (t->room - 1); t->ids[at] >= 0;
         at = (at + 1) & (t->room - 1)) {
        const tsri_text_stack *k = &s->stacks[t->ids[at]];
        if (k->node == node && k->below == below) {
            *out = t->ids[at];
            return TSR_OK;
        }
    }
    TRY(tsri_base_grow(&s->stacks, &s->stacks_room, s->n_stacks + 1, sizeof *s->stacks));
    s->stacks[s->n_stacks] = (tsri_text_stack){node, below, s->stacks[below].depth + 1};
    *out = (int32_t)s->n_stacks++;
    put(s, t, *out);
    s->by_stack.n++;
    return TSR_OK;
}

/* The part of a stack of `from` that is above `base`, on top of `bottom`. */
static tsr_status copy_stack(tsri_text_states *s, const tsri_text_stack *from, int32_t stack,
                             int32_t base, int32_t bottom, int32_t *out) {
    int32_t *nodes;
    size_t n = 0, left;
    for (int32_t at = stack; at != base; at = from[at].below)
        n++;
    TRY(tsri_base_new(n, sizeof *nodes, &nodes));
    left = n;
    for (int32_t at = stack; at != base; at = from[at].below)
        nodes[--left] = from[at].node; /* the lowest first */
    tsr_status status = TSR_OK;
    *out = bottom;
    /* `from` may be the stacks that grow here: it is not read any more. */
    for (size_t i = 0; i < n && status == TSR_OK; i++)
        status = push(s, nodes[i], *out, out);
    free(nodes);
    return status;
}

/* ---- sets of places ---- */

static void begin_set(tsri_text_states *s) {
    s->n_todo = s->n_found = s->n_met = 0;
    s->ends = s->leaves = false;
    s->stamp++;
}

static bool is_met(tsri_text_states *s, tsri_text_place p, size_t *at) {
    *at = hash_of_pair(p.node, p.stack) & (s->met_room - 1);
    for (; s->met[*at].stamp == s->stamp; *at = (*at + 1) & (s->met_room - 1))
        if (s->met[*at].place.node == p.node && s->met[*at].place.stack == p.stack)
            return true;
    return false;
}

static tsr_status grow_met(tsri_text_states *s) {
    met *old = s->met;
    const size_t old_room = s->met_room, room = old_room ? old_room * 2 : FIRST_TABLE;
    size_t at;
    if ((s->n_met + 1) * 2 <= old_room)
        return TSR_OK;
    TRY(tsri_base_new(room, sizeof *s->met, &s->met));
    s->met_room = room;
    for (size_t i = 0; i < old_room; i++)
        if (old[i].stamp == s->stamp) {
            (void)is_met(s, old[i].place, &at);
            s->met[at] = old[i];
        }
    free(old);
    return TSR_OK;
}

static tsr_status add(tsri_text_states *s, int32_t node, int32_t stack) {
    const tsri_text_place p = {node, stack};
    size_t at;
    TRY(grow_met(s));
    if (is_met(s, p, &at))
        return TSR_OK;
    s->met[at] = (met){p, s->stamp};
    s->n_met++;
    TRY(tsri_base_grow(&s->todo, &s->todo_room, s->n_todo + 1, sizeof p));
    s->todo[s->n_todo++] = p;
    return TSR_OK;
}

static tsr_status add_after_rule(tsri_text_states *s, int32_t stack) {
    s->ends |= stack == TSRI_TEXT_NO_STACK;
    s->leaves |= stack == TSRI_TEXT_BELOW;
    return stack == TSRI_TEXT_NO_STACK || stack == TSRI_TEXT_BELOW
               ? TSR_OK
               : add(s, s->stacks[stack].node, s->stacks[stack].below);
}

/* Goes on to all that a place reaches without reading a byte. */
static tsr_status spread(tsri_text_states *s, tsri_text_place p) {
    bool reads = false;
    if (p.node == 0)
        return add_after_rule(s, p.stack);
    for (int32_t i = s->a->nodes[p.node]; i >= 0; i = s->a->edges[i].next) {
        const tsri_text_edge *e = &s->a->edges[i];
        int32_t stack = p.stack;
        s->work++;
        if (e->rule == TSRI_TEXT_BYTE) {
            reads = true;
        } else if (e->rule == TSRI_TEXT_FREE) {
            TRY(add(s, e->to, stack));
        } else {
            if (e->to) /* a rule at the end of another returns to where that one would */
                TRY(push(s, e->to, stack, &stack));
            TRY(add(s, s->a->starts[e->rule], stack));
        }
    }
    if (!reads)
        return TSR_OK;
    TRY(tsri_base_grow(&s->found, &s->found_room, s->n_found + 1, sizeof p));
    s->found[s->n_found++] = p;
    return TSR_OK;
}

static tsr_status spread_all(tsri_text_states *s) {
    while (s->n_todo) {
        TRY(spread(s, s->todo[--s->n_todo]));
        if (s->n_found > MOST_PLACES || s->work > MOST_WORK)
            return tsri_base_fail(
                TSR_E_ARGUMENT, "the grammar is too ambiguous: at this point of the text there are "
                                "too many ways to read it; make its rules begin differently");
    }
    return TSR_OK;
}

static int by_node(const void *a, const void *b) {
    const tsri_text_place *x = a, *y = b;
    return x->node != y->node ? (x->node > y->node) - (x->node < y->node)
                              : (x->stack > y->stack) - (x->stack < y->stack);
}

static tsr_status add_state(tsri_text_states *s, int32_t *out) {
    const size_t n = s->n_found, classes = (size_t)s->a->n_classes;
    TRY(grow_table(s, &s->by_places));
    TRY(tsri_base_grow(&s->places, &s->places_room, s->n_places + n, sizeof *s->places));
    TRY(tsri_base_grow(&s->states, &s->room, s->n + 1, sizeof *s->states));
    TRY(tsri_base_grow(&s->rows, &s->rows_room, (s->n + 1) * classes, sizeof *s->rows));
    for (size_t i = 0; i < classes; i++)
        s->rows[s->n * classes + i] = n ? TSRI_TEXT_UNKNOWN : TSRI_TEXT_DEAD;
    if (n)
        memcpy(s->places + s->n_places, s->found, n * sizeof *s->places);
    s->states[s->n] = (tsri_text_state){.places = s->n_places,
                                        .n = (int32_t)n,
                                        .ends = s->ends,
                                        .leaves = s->leaves,
                                        .mask = -1,
                                        .outer = -1};
    s->n_places += n;
    s->work += (int64_t)(n + classes);
    *out = (int32_t)s->n++;
    put(s, &s->by_places, *out);
    s->by_places.n++;
    return TSR_OK;
}

/* The state of the set that was made. */
static tsr_status finish_set(tsri_text_states *s, int32_t *out) {
    const table *t = &s->by_places;
    TRY(spread_all(s));
    qsort(s->found, s->n_found, sizeof *s->found, by_node);
    for (size_t at = hash_of_set(s->found, s->n_found) & (t->room - 1); t->ids[at] >= 0;
         at = (at + 1) & (t->room - 1)) {
        const tsri_text_state *k = &s->states[t->ids[at]];
        if ((size_t)k->n == s->n_found && k->ends == s->ends && k->leaves == s->leaves &&
            (!k->n || !memcmp(s->places + k->places, s->found, s->n_found * sizeof *s->found))) {
            *out = t->ids[at];
            return TSR_OK;
        }
    }
    return add_state(s, out);
}

/* ---- public ---- */

static tsr_status begin(tsri_text_states *s) {
    int32_t dead;
    TRY(tsri_base_grow(&s->stacks, &s->stacks_room, 2, sizeof *s->stacks));
    s->stacks[TSRI_TEXT_NO_STACK] = s->stacks[TSRI_TEXT_BELOW] = (tsri_text_stack){-1, -1, 0};
    s->n_stacks = 2;
    TRY(tsri_base_grow(&s->found, &s->found_room, 1, sizeof *s->found));
    begin_set(s);
    return add_state(s, &dead);
}

tsr_status tsri_text_states_create(const tsri_text_automaton *automaton, tsri_text_states **out) {
    tsri_text_states *s;
    TRY(tsri_base_new(1, sizeof *s, &s));
    s->a = automaton;
    const tsr_status status = begin(s);
    if (status != TSR_OK)
        tsri_text_states_destroy(&s);
    *out = s;
    return status;
}

void tsri_text_states_destroy(tsri_text_states **states) {
    tsri_text_states *s = *states;
    if (!s)
        return;
    void *const arrays[] = {s->states, s->places, s->stacks,        s->rows,        s->todo,
                            s->found,  s->met,    s->by_places.ids, s->by_stack.ids};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    free(s);
    *states = NULL;
}

void tsri_text_states_begin_work(tsri_text_states *states) {
    states->work = 0;
}

tsr_status tsri_text_states_start(tsri_text_states *s, int32_t *state) {
    begin_set(s);
    TRY(add(s, s->a->starts[0], TSRI_TEXT_NO_STACK));
    return finish_set(s, state);
}

tsr_status tsri_text_states_return(tsri_text_states *s, int32_t stack, int32_t *state) {
    begin_set(s);
    TRY(add_after_rule(s, stack));
    return finish_set(s, state);
}

tsr_status tsri_text_states_step(tsri_text_states *s, int32_t state, uint8_t byte, int32_t *next) {
    const uint8_t class = s->a->classes[byte];
    const size_t at = (size_t)state * (size_t)s->a->n_classes + class,
                 first = s->states[state].places;
    *next = s->rows[at];
    if (*next != TSRI_TEXT_UNKNOWN)
        return TSR_OK;
    begin_set(s);
    for (int32_t i = 0; i < s->states[state].n; i++) {
        const tsri_text_place p = s->places[first + (size_t)i];
        for (int32_t k = s->a->nodes[p.node]; k >= 0; k = s->a->edges[k].next) {
            const tsri_text_edge *e = &s->a->edges[k];
            if (e->rule == TSRI_TEXT_BYTE && class >= e->first && class <= e->last)
                TRY(add(s, e->to, p.stack));
            s->work++;
        }
    }
    TRY(finish_set(s, next));
    s->rows[at] = *next;
    return TSR_OK;
}

const int32_t *tsri_text_states_rows(const tsri_text_states *states) {
    return states->rows;
}

tsri_text_state *tsri_text_states_at(tsri_text_states *states, int32_t state) {
    return &states->states[state];
}

const tsri_text_place *tsri_text_states_places(const tsri_text_states *states, int32_t state) {
    return places_of(states, state);
}

int32_t tsri_text_states_base(const tsri_text_states *s, int32_t state) {
    const tsri_text_state *k = &s->states[state];
    const tsri_text_place *places = places_of(s, state);
    int32_t base = k->ends || !k->n ? TSRI_TEXT_NO_STACK : places[0].stack;
    for (int32_t i = 1; i < k->n && base != TSRI_TEXT_NO_STACK; i++)
        for (int32_t other = places[i].stack; other != base;) {
            const bool deeper = s->stacks[other].depth > s->stacks[base].depth;
            *(deeper ? &other : &base) = s->stacks[deeper ? other : base].below;
        }
    return base;
}

tsr_status tsri_text_states_above(tsri_text_states *s, int32_t state, int32_t base,
                                  int32_t *above) {
    const size_t first = s->states[state].places;
    begin_set(s);
    for (int32_t i = 0; i < s->states[state].n; i++) {
        tsri_text_place p = s->places[first + (size_t)i];
        TRY(copy_stack(s, s->stacks, p.stack, base, TSRI_TEXT_BELOW, &p.stack));
        TRY(tsri_base_grow(&s->found, &s->found_room, s->n_found + 1, sizeof p));
        s->found[s->n_found++] = p;
    }
    return finish_set(s, above);
}

size_t tsri_text_states_size(const tsri_text_states *s) {
    return s->n * (sizeof *s->states + (size_t)s->a->n_classes * sizeof *s->rows) +
           s->n_places * sizeof *s->places + s->n_stacks * sizeof *s->stacks;
}

static tsr_status move(tsri_text_states *to, const tsri_text_states *from, int32_t *state) {
    const tsri_text_state *k = &from->states[*state];
    begin_set(to);
    to->ends = k->ends;
    to->leaves = k->leaves;
    for (int32_t i = 0; i < k->n; i++) {
        tsri_text_place p = from->places[k->places + (size_t)i];
        TRY(copy_stack(to, from->stacks, p.stack, TSRI_TEXT_NO_STACK, TSRI_TEXT_NO_STACK,
                       &p.stack));
        TRY(tsri_base_grow(&to->found, &to->found_room, to->n_found + 1, sizeof p));
        to->found[to->n_found++] = p;
    }
    return finish_set(to, state);
}

tsr_status tsri_text_states_forget(tsri_text_states *s, int32_t *const *keep, size_t n) {
    tsri_text_states *fresh;
    tsr_status status = tsri_text_states_create(s->a, &fresh);
    for (size_t i = 0; i < n && status == TSR_OK; i++)
        status = move(fresh, s, keep[i]);
    if (status == TSR_OK) {
        const tsri_text_states old = *s;
        *s = *fresh;
        *fresh = old;
    }
    tsri_text_states_destroy(&fresh);
    return status;
}
