/* text/grammar/grammar.c - masks over a vocabulary: a walk over the trie of its tokens, from a state of the
 * grammar.
 *
 * Most of a walk does not depend on the rules that are open around the innermost one: inside a text in
 * quotes nearly all tokens may follow, wherever that text stands. So a state is cut at the deepest stack
 * that all its places share; the walk above that is made once for all states that are alike there, and
 * notes the nodes where the rule ends. From these nodes on, which are few, each state is walked by itself. */
#include "text/grammar/grammar.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/grammar/states.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 48 << 20 };

/* The nodes of the trie where a walk left what it began in. */
typedef struct leaving {
    uint32_t *nodes;
    size_t n, room;
} leaving;

struct tsri_text_matcher {
    tsri_text_grammar *grammar;
    tsri_text_matcher *next, **from;
    int32_t state;
};

struct tsri_text_grammar {
    tsri_text_automaton automaton;
    tsri_text_states *states;
    const tsri_text_trie *trie;
    uint32_t **masks;  /* by tsri_text_state.mask */
    leaving *leavings; /* by tsri_text_state.outer */
    size_t n_masks, n_leavings, masks_room, leavings_room, words;
    size_t size;   /* bytes of masks and leavings */
    int32_t *path; /* [depth + 1] states, of a walk */
    tsri_text_matcher *matchers;
    uint32_t references;
};

/* ---- masks ---- */

static void set(uint32_t *mask, const tsri_text_trie *trie, const tsri_text_trie_node *node) {
    int32_t token = node->token;
    if (token < 0)
        return;
    mask[token / 32] |= (uint32_t)1 << (token % 32);
    while (node->shared && (token = trie->twins[token]) >= 0)
        mask[token / 32] |= (uint32_t)1 << (token % 32);
}

/* Walks the nodes [from, to), which are below a node at which the text is in `state`. */
static tsr_status walk(tsri_text_grammar *g, uint32_t from, uint32_t to, int32_t state,
                       uint32_t *mask, leaving *out) {
    const tsri_text_trie_node *nodes = g->trie->nodes;
    const size_t classes = (size_t)g->automaton.n_classes;
    const int32_t *rows = tsri_text_states_rows(g->states);
    const tsri_text_state *states = tsri_text_states_at(g->states, 0);
    if (from == to)
        return TSR_OK;
    g->path[nodes[from].depth - 1] = state;
    for (uint32_t i = from; i < to;) {
        const tsri_text_trie_node *node = &nodes[i];
        const int32_t before = g->path[node->depth - 1];
        int32_t after = rows[(size_t)before * classes + g->automaton.classes[node->byte]];
        if (after == TSRI_TEXT_UNKNOWN) {
            TRY(tsri_text_states_step(g->states, before, node->byte, &after));
            rows = tsri_text_states_rows(g->states);
            states = tsri_text_states_at(g->states, 0);
        }
        const tsri_text_state *s = &states[after];
        if (s->leaves && out) {
            TRY(tsri_base_grow(&out->nodes, &out->room, out->n + 1, sizeof *out->nodes));
            out->nodes[out->n++] = i;
        }
        if (s->n || s->ends)
            set(mask, g->trie, node);
        g->path[node->depth] = after;
        i = s->n ? i + 1 : node->end;
    }
    return TSR_OK;
}

static tsr_status new_mask(tsri_text_grammar *g, uint32_t **mask) {
    TRY(tsri_base_grow(&g->masks, &g->masks_room, g->n_masks + 1, sizeof *g->masks));
    TRY(tsri_base_new(g->words, sizeof **mask, mask));
    g->masks[g->n_masks++] = *mask;
    g->size += g->words * sizeof **mask;
    return TSR_OK;
}

static tsr_status walk_whole(tsri_text_grammar *g, int32_t state, leaving *out) {
    uint32_t *mask;
    TRY(new_mask(g, &mask));
    const int32_t number = (int32_t)g->n_masks - 1;
    TRY(walk(g, 0, g->trie->n, state, mask, out));
    tsri_text_states_at(g->states, state)->mask = number;
    return TSR_OK;
}

/* What may follow above a stack that is not looked at. */
static tsr_status walk_above(tsri_text_grammar *g, int32_t above) {
    if (tsri_text_states_at(g->states, above)->mask >= 0)
        return TSR_OK;
    TRY(tsri_base_grow(&g->leavings, &g->leavings_room, g->n_leavings + 1, sizeof *g->leavings));
    leaving *out = &g->leavings[g->n_leavings++];
    *out = (leaving){0};
    tsri_text_states_at(g->states, above)->outer = (int32_t)g->n_leavings - 1;
    TRY(walk_whole(g, above, out));
    g->size += out->room * sizeof *out->nodes;
    return TSR_OK;
}

static tsr_status make_mask(tsri_text_grammar *g, int32_t state) {
    const int32_t base = tsri_text_states_base(g->states, state);
    int32_t above, after;
    uint32_t *mask;
    if (base == TSRI_TEXT_NO_STACK)
        return walk_whole(g, state, NULL);
    TRY(tsri_text_states_above(g->states, state, base, &above));
    TRY(walk_above(g, above));
    TRY(tsri_text_states_return(g->states, base, &after));
    TRY(new_mask(g, &mask));
    const int32_t number = (int32_t)g->n_masks - 1;
    const tsri_text_state *s = tsri_text_states_at(g->states, above);
    const leaving *out = &g->leavings[s->outer];
    memcpy(mask, g->masks[s->mask], g->words * sizeof *mask);
    for (size_t i = 0; i < out->n && after != TSRI_TEXT_DEAD; i++) {
        const uint32_t node = out->nodes[i];
        set(mask, g->trie, &g->trie->nodes[node]);
        TRY(walk(g, node + 1, g->trie->nodes[node].end, after, mask, NULL));
    }
    tsri_text_states_at(g->states, state)->mask = number;
    return TSR_OK;
}

/* ---- memory ---- */

static void clear_masks(tsri_text_grammar *g) {
    for (size_t i = 0; i < g->n_masks; i++)
        free(g->masks[i]);
    for (size_t i = 0; i < g->n_leavings; i++)
        free(g->leavings[i].nodes);
    g->n_masks = g->n_leavings = g->size = 0;
}

/* Where much has been kept, only the states of the texts that go on are. */
static tsr_status make_room(tsri_text_grammar *g) {
    int32_t **keep;
    size_t n = 0;
    tsri_text_states_begin_work(g->states);
    if (g->size + tsri_text_states_size(g->states) <= MOST_BYTES)
        return TSR_OK;
    for (const tsri_text_matcher *m = g->matchers; m; m = m->next)
        n++;
    TRY(tsri_base_new(n, sizeof *keep, &keep));
    n = 0;
    for (tsri_text_matcher *m = g->matchers; m; m = m->next)
        keep[n++] = &m->state;
    const tsr_status status = tsri_text_states_forget(g->states, keep, n);
    free(keep);
    if (status == TSR_OK)
        clear_masks(g);
    return status;
}

/* ---- grammars ---- */

tsr_status tsri_text_grammar_create(const tsri_text_tree *tree, const tsri_text_trie *trie,
                                    tsri_text_grammar **out) {
    tsri_text_grammar *g;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *g, &g));
    g->references = 1;
    g->trie = trie;
    g->words = trie ? ((size_t)trie->V + 31) / 32 : 0;
    tsr_status status = tsri_text_automaton_make(tree, &g->automaton);
    if (status == TSR_OK)
        status = tsri_text_states_create(&g->automaton, &g->states);
    if (status == TSR_OK && trie)
        status = tsri_base_new((size_t)trie->depth + 1, sizeof *g->path, &g->path);
    if (status != TSR_OK)
        tsri_text_grammar_release(&g);
    *out = g;
    return status;
}

void tsri_text_grammar_release(tsri_text_grammar **grammar) {
    tsri_text_grammar *g = *grammar;
    *grammar = NULL;
    if (!g || --g->references)
        return;
    clear_masks(g);
    free(g->masks);
    free(g->leavings);
    free(g->path);
    tsri_text_states_destroy(&g->states);
    tsri_text_automaton_clear(&g->automaton);
    free(g);
}

/* ---- matchers ---- */

tsr_status tsri_text_matcher_create(tsri_text_grammar *grammar, tsri_text_matcher **out) {
    tsri_text_matcher *m;
    *out = NULL;
    TRY(make_room(grammar));
    TRY(tsri_base_new(1, sizeof *m, &m));
    const tsr_status status = tsri_text_states_start(grammar->states, &m->state);
    if (status != TSR_OK) {
        free(m);
        return status;
    }
    m->grammar = grammar;
    m->next = grammar->matchers;
    m->from = &grammar->matchers;
    if (m->next)
        m->next->from = &m->next;
    grammar->matchers = m;
    grammar->references++;
    *out = m;
    return TSR_OK;
}

void tsri_text_matcher_destroy(tsri_text_matcher **matcher) {
    tsri_text_matcher *m = *matcher;
    if (!m)
        return;
    *m->from = m->next;
    if (m->next)
        m->next->from = m->from;
    tsri_text_grammar_release(&m->grammar);
    free(m);
    *matcher = NULL;
}

/* The state behind some bytes. */
static tsr_status step(tsri_text_matcher *m, const char *bytes, size_t n, int32_t *state) {
    TRY(make_room(m->grammar));
    *state = m->state;
    for (size_t i = 0; i < n && *state != TSRI_TEXT_DEAD; i++)
        TRY(tsri_text_states_step(m->grammar->states, *state, (uint8_t)bytes[i], state));
    return TSR_OK;
}

tsr_status tsri_text_matcher_take(tsri_text_matcher *m, const char *bytes, size_t n) {
    int32_t state;
    TRY(step(m, bytes, n, &state));
    m->state = state;
    return TSR_OK;
}

tsr_status tsri_text_matcher_take_special(tsri_text_matcher *m, int32_t id) {
    char mark[TSRI_TEXT_MARK_ROOM];
    int32_t state;
    TRY(step(m, mark, tsri_text_token_mark(id, mark), &state));
    if (state != TSRI_TEXT_DEAD)
        m->state = state;
    return TSR_OK;
}

static const tsri_text_state *state_of(const tsri_text_matcher *m) {
    return tsri_text_states_at(m->grammar->states, m->state);
}

bool tsri_text_matcher_may_end(const tsri_text_matcher *matcher) {
    return state_of(matcher)->ends;
}

bool tsri_text_matcher_must_end(const tsri_text_matcher *matcher) {
    return state_of(matcher)->ends && !state_of(matcher)->n;
}

bool tsri_text_matcher_dead(const tsri_text_matcher *matcher) {
    return matcher->state == TSRI_TEXT_DEAD;
}

int32_t tsri_text_matcher_vocabulary(const tsri_text_matcher *matcher) {
    return matcher->grammar->trie->V;
}

tsr_status tsri_text_matcher_mask(tsri_text_matcher *m, const uint32_t **mask) {
    tsri_text_grammar *g = m->grammar;
    TRY(make_room(g));
    if (state_of(m)->mask < 0)
        TRY(make_mask(g, m->state));
    *mask = g->masks[state_of(m)->mask];
    return TSR_OK;
}
