/* text/grammar/states.h - where a text stands in a grammar. A state is a set of places: a node of the
 * automaton, and the stack of nodes where the rules that are open go on. States are made as they are
 * reached, each once, with a row of the states that follow on each class of bytes; so a byte whose step
 * was taken before is one look-up. */
#ifndef TSRI_TEXT_GRAMMAR_STATES_H
#define TSRI_TEXT_GRAMMAR_STATES_H

#include "text/grammar/automaton.h"

/* State 0 has no place: the text is outside the grammar. Stack 0 is the empty one; stack 1 stands for a
 * stack that is not looked at: a state "leaves" where it would go on in it. */
enum { TSRI_TEXT_DEAD = 0, TSRI_TEXT_UNKNOWN = -1, TSRI_TEXT_NO_STACK = 0, TSRI_TEXT_BELOW = 1 };

typedef struct tsri_text_place {
    int32_t node, stack;
} tsri_text_place;

typedef struct tsri_text_stack {
    int32_t node, below; /* where it goes on when a rule ends; the stack then */
    int32_t depth;
} tsri_text_stack;

typedef struct tsri_text_state {
    size_t places; /* where they begin; sorted, each with an edge that reads a byte */
    int32_t n;
    bool ends, leaves;   /* the text may end here; or what is below may go on here */
    int32_t mask, outer; /* for masks.c; -1: none yet */
} tsri_text_state;

typedef struct tsri_text_states tsri_text_states;

/* The automaton is borrowed. */
tsr_status tsri_text_states_create(const tsri_text_automaton *automaton, tsri_text_states **out);
void tsri_text_states_destroy(tsri_text_states **states);

/* Where every text begins. */
tsr_status tsri_text_states_start(tsri_text_states *states, int32_t *state);
/* The state after a byte. The only one of these that is called for each byte of a vocabulary.
 * error  TSR_E_ARGUMENT  the grammar is too ambiguous: a step, or all since begin_work, is too much work */
tsr_status tsri_text_states_step(tsri_text_states *states, int32_t state, uint8_t byte,
                                 int32_t *next);
/* The states of all rows, and the classes of bytes, for a loop that looks steps up by itself:
 * rows[state * n_classes + class], or TSRI_TEXT_UNKNOWN, for which step is called. */
const int32_t *tsri_text_states_rows(const tsri_text_states *states);
void tsri_text_states_begin_work(tsri_text_states *states);

tsri_text_state *tsri_text_states_at(tsri_text_states *states, int32_t state);
const tsri_text_place *tsri_text_states_places(const tsri_text_states *states, int32_t state);

/* The deepest stack that all places of a state stand on. */
int32_t tsri_text_states_base(const tsri_text_states *states, int32_t state);
/* The same state with TSRI_TEXT_BELOW in place of that stack. */
tsr_status tsri_text_states_above(tsri_text_states *states, int32_t state, int32_t base,
                                  int32_t *above);
/* The state where a rule has ended over this stack. */
tsr_status tsri_text_states_return(tsri_text_states *states, int32_t stack, int32_t *state);

/* Bytes that all states take. */
size_t tsri_text_states_size(const tsri_text_states *states);
/* Forgets all states but those in keep[0 .. n), which get new numbers. */
tsr_status tsri_text_states_forget(tsri_text_states *states, int32_t *const *keep, size_t n);

#endif
