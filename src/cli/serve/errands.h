/* cli/serve/errands.h - requests that the engine runs by itself, between the steps of those for text: lists of
 * them, and what their kinds share. */
#ifndef TESSERA_CLI_SERVE_ERRANDS_H
#define TESSERA_CLI_SERVE_ERRANDS_H

#include "cli/serve/fields.h"

/* The struct of each kind begins with this. */
struct tsri_serve_errand {
    tsri_serve_errand *next;
    tsri_serve_exchange *x;
    json_t *body;
    bool runs; /* it counts as running: it was taken out of its list, and has no answer yet */
    void (*clear)(tsri_serve_errand *errand); /* frees what the kind has besides */
};

/* Reads the request's body into a new errand of `size` bytes, which are 0 beside this. NULL: the request has its
 * answer, and was given back. */
tsri_serve_errand *tsri_serve_errand_create(tsri_serve_exchange *x, size_t size,
                                            void (*clear)(tsri_serve_errand *errand));
/* Frees an errand and gives its request back, which has its answer, or needs none. */
void tsri_serve_errand_end(tsri_serve_errand *errand);
/* The same, after the failure as its answer. */
void tsri_serve_errand_fail(tsri_serve_errand *errand, const tsri_serve_failure *f);

/* Adds an errand, whose model is chosen, behind those of the list; takes one out of its list. Without the server's
 * lock: an errand in a list counts as waiting, one that was taken out as running. */
void tsri_serve_errand_append(tsri_serve_errand **list, tsri_serve_errand *errand);
void tsri_serve_errand_take_out(tsri_serve_errand **list, tsri_serve_errand *errand);
/* It runs no more. To be called before its answer is given, so that a client that has it reads the right numbers. */
void tsri_serve_errand_stops(tsri_serve_errand *errand);
/* Ends the errands of the list whose clients have left; with `all` every one: they have an answer then. */
void tsri_serve_errands_drop(tsri_serve_server *s, tsri_serve_errand **list, bool all);

#endif
