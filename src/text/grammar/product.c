/* text/grammar/product.c - the product of the automata of several grammars: a state of each, for every beginning of a
 * text. States from which no text comes to an end are left out, and each of the others becomes a rule. */
#include "text/grammar/product.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/grammar/states.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STATES = 1 << 15, MOST_IN_ALL = 1 << 18, FIRST_TABLE = 256, BYTES = 256 };

typedef struct machine {
    tsri_text_automaton automaton;
    tsri_text_states *states;
    bool except;
} machine;

/* A state of each machine. */
typedef struct tuple {
    int32_t at[TSRI_TEXT_FACTORS];
    size_t edges; /* where they begin; the next tuple's begin behind them */
    int32_t rule;
    bool ends, alive;
} tuple;

typedef struct edge {
    int32_t to;
    uint8_t first, last;
} edge;

typedef struct product {
    machine machines[TSRI_TEXT_FACTORS];
    size_t n_machines;
    tuple *tuples;
    edge *edges;
    int32_t *table; /* [table_room] tuples by hash; -1: free; a power of two */
    size_t n, n_edges, room, edges_room, table_room;
    bool begins[BYTES + 1]; /* bytes that some machine tells from the one before them */
} product;

/* ---- machines ---- */

static tsr_status open_machine(machine *m, const tsri_text_factor *factor) {
    TRY(factor->tree.status);
    m->except = factor->except;
    TRY(tsri_text_automaton_make(&factor->tree, &m->automaton));
    return tsri_text_states_create(&m->automaton, &m->states);
}

static void close_machine(machine *m) {
    tsri_text_states_destroy(&m->states);
    tsri_text_automaton_clear(&m->automaton);
}

bool tsri_text_factor_has(const tsri_text_factor *factor, const char *text, size_t n,
                          tsr_status *status) {
    machine m = {0};
    int32_t at = TSRI_TEXT_DEAD;
    if (*status == TSR_OK)
        *status = open_machine(&m, factor);
    if (*status == TSR_OK)
        *status = tsri_text_states_start(m.states, &at);
    for (size_t i = 0; i < n && *status == TSR_OK; i++)
        *status = tsri_text_states_step(m.states, at, (uint8_t)text[i], &at);
    const bool ends = *status == TSR_OK && tsri_text_states_at(m.states, at)->ends;
    close_machine(&m);
    return *status == TSR_OK && ends != factor->except;
}

/* ---- tuples ---- */

static size_t hash_of(const product *p, const int32_t *at) {
    uint64_t hash = 1;
    for (size_t i = 0; i < p->n_machines; i++)
        hash = (hash ^ (uint32_t)at[i]) * 0x9E3779B97F4A7C15u;
    return (size_t)(hash ^ hash >> 29);
}

/* Where a tuple is in the table, or would be. */
static size_t find(const product *p, const int32_t *at) {
    size_t place = hash_of(p, at) & (p->table_room - 1);
    while (p->table[place] >= 0 &&
           memcmp(p->tuples[p->table[place]].at, at, p->n_machines * sizeof *at))
        place = (place + 1) & (p->table_room - 1);
    return place;
}

static tsr_status grow_table(product *p) {
    if ((p->n + 1) * 2 <= p->table_room)
        return TSR_OK;
    free(p->table);
    p->table = NULL;
    p->table_room = p->table_room ? p->table_room * 2 : FIRST_TABLE;
    TRY(tsri_base_new(p->table_room, sizeof *p->table, &p->table));
    for (size_t i = 0; i < p->table_room; i++)
        p->table[i] = -1;
    for (size_t i = 0; i < p->n; i++)
        p->table[find(p, p->tuples[i].at)] = (int32_t)i;
    return TSR_OK;
}

/* No text that goes on from there is in the product. */
static bool is_dead(const product *p, const int32_t *at) {
    bool dead = false;
    for (size_t i = 0; i < p->n_machines; i++)
        dead |= at[i] == TSRI_TEXT_DEAD && !p->machines[i].except;
    return dead;
}

static tsr_status add_tuple(product *p, const int32_t *at, int32_t *out) {
    TRY(grow_table(p));
    const size_t place = find(p, at);
    *out = p->table[place];
    if (*out >= 0)
        return TSR_OK;
    if (p->n == MOST_STATES)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "what has to hold at the same time (a pattern, a format, a length, "
                              "names) needs more than %d states: use shorter lengths or simpler "
                              "patterns",
                              MOST_STATES);
    TRY(tsri_base_grow(&p->tuples, &p->room, p->n + 1, sizeof *p->tuples));
    tuple *t = &p->tuples[p->n];
    *t = (tuple){.rule = -1, .ends = true};
    for (size_t i = 0; i < p->n_machines; i++) {
        t->at[i] = at[i];
        t->ends &= tsri_text_states_at(p->machines[i].states, at[i])->ends != p->machines[i].except;
    }
    *out = (int32_t)p->n;
    p->table[place] = (int32_t)p->n++;
    return TSR_OK;
}

/* The edges of a tuple: one for bytes in a row that lead to the same. */
static tsr_status expand(product *p, size_t number) {
    const size_t from = p->n_edges;
    int32_t at[TSRI_TEXT_FACTORS] = {0}, to = -1;
    p->tuples[number].edges = from;
    for (int byte = 0; byte < BYTES; byte++) {
        if (p->begins[byte]) {
            for (size_t i = 0; i < p->n_machines; i++) {
                machine *m = &p->machines[i];
                tsri_text_states_begin_work(m->states);
                TRY(tsri_text_states_step(m->states, p->tuples[number].at[i], (uint8_t)byte,
                                          &at[i]));
            }
            to = -1;
            if (!is_dead(p, at))
                TRY(add_tuple(p, at, &to));
        }
        edge *last = p->n_edges > from ? &p->edges[p->n_edges - 1] : NULL;
        if (last && last->to == to && last->last == byte - 1) {
            last->last = (uint8_t)byte;
        } else if (to >= 0) {
            TRY(tsri_base_grow(&p->edges, &p->edges_room, p->n_edges + 1, sizeof *p->edges));
            p->edges[p->n_edges++] = (edge){to, (uint8_t)byte, (uint8_t)byte};
        }
    }
    return TSR_OK;
}

static size_t edges_end(const product *p, size_t number) {
    return number + 1 < p->n ? p->tuples[number + 1].edges : p->n_edges;
}

/* Marks the tuples from which a text comes to an end. */
static void find_alive(product *p) {
    for (bool more = true; more;) {
        more = false;
        for (size_t i = p->n; i-- > 0;) {
            tuple *t = &p->tuples[i];
            bool alive = t->ends;
            for (size_t k = t->edges; k < edges_end(p, i) && !alive && !t->alive; k++)
                alive = p->tuples[p->edges[k].to].alive;
            more |= alive && !t->alive;
            t->alive |= alive;
        }
    }
}

static tsr_status make(product *p, const tsri_text_factor *factors, size_t n) {
    int32_t at[TSRI_TEXT_FACTORS] = {0}, first;
    p->begins[0] = true;
    for (; p->n_machines < n; p->n_machines++) {
        machine *m = &p->machines[p->n_machines];
        TRY(open_machine(m, &factors[p->n_machines]));
        TRY(tsri_text_states_start(m->states, &at[p->n_machines]));
        for (int byte = 1; byte < BYTES; byte++)
            p->begins[byte] |= m->automaton.classes[byte] != m->automaton.classes[byte - 1];
    }
    TRY(add_tuple(p, at, &first));
    for (size_t i = 0; i < p->n; i++)
        TRY(expand(p, i));
    find_alive(p);
    return TSR_OK;
}

/* ---- rules ---- */

/* Whether a text must end there. */
static bool is_last(const product *p, size_t number) {
    bool last = true;
    for (size_t k = p->tuples[number].edges; k < edges_end(p, number); k++)
        last &= !p->tuples[p->edges[k].to].alive;
    return last;
}

static int32_t expression_of(const product *p, size_t number, tsri_text_tree *to) {
    const tuple *t = &p->tuples[number];
    int32_t all = t->ends ? tsri_text_literal(to, "", 0) : tsri_text_class(to, NULL, 0, false);
    for (size_t k = t->edges; k < edges_end(p, number); k++) {
        const edge *e = &p->edges[k];
        const tuple *next = &p->tuples[e->to];
        if (!next->alive)
            continue;
        int32_t one = tsri_text_bytes(to, e->first, e->last);
        if (next->rule >= 0)
            one = tsri_text_sequence(to, one, tsri_text_call(to, next->rule));
        all = tsri_text_choice(to, all, one);
    }
    return all;
}

static int32_t write_rules(product *p, tsri_text_tree *to) {
    static const char name[] = "a text";
    for (size_t i = 0; i < p->n; i++)
        if (p->tuples[i].alive && (!i || !is_last(p, i)))
            p->tuples[i].rule = tsri_text_rule_new(to, name, sizeof name - 1);
    for (size_t i = 0; i < p->n && to->status == TSR_OK; i++)
        if (p->tuples[i].rule >= 0)
            tsri_text_rule_set(to, p->tuples[i].rule, expression_of(p, i, to));
    return tsri_text_call(to, p->tuples[0].rule);
}

int32_t tsri_text_product(tsri_text_tree *to, const tsri_text_factor *factors, size_t n,
                          bool *empty) {
    product p = {.n = 0};
    int32_t all = 0;
    *empty = false;
    if (to->status == TSR_OK)
        to->status = make(&p, factors, n);
    to->product_states += p.n;
    if (to->status == TSR_OK && to->product_states > MOST_IN_ALL)
        to->status = tsri_base_fail(
            TSR_E_ARGUMENT,
            "all places where several rules hold for a text or a name need more than %d states",
            MOST_IN_ALL);
    if (to->status == TSR_OK) {
        *empty = !p.tuples[0].alive;
        all = *empty ? tsri_text_class(to, NULL, 0, false) : write_rules(&p, to);
    }
    for (size_t i = 0; i < n; i++)
        close_machine(&p.machines[i]);
    free(p.tuples);
    free(p.edges);
    free(p.table);
    return all;
}
