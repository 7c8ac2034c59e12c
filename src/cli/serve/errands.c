/* cli/serve/errands.c - requests that the engine runs by itself. */
#include "cli/serve/errands.h"

#include <stdlib.h>

tsri_serve_errand *tsri_serve_errand_create(tsri_serve_exchange *x, size_t size,
                                            void (*clear)(tsri_serve_errand *errand)) {
    const tsri_serve_failure f = {.status = 503, .message = "out of memory"};
    json_t *body = tsri_serve_body(x);
    tsri_serve_errand *errand = body ? calloc(1, size) : NULL;
    if (!errand) {
        if (body)
            tsri_serve_answer_failure(x, &f);
        json_decref(body);
        tsri_serve_give_back(x);
        return NULL;
    }
    errand->x = x;
    errand->body = body;
    errand->clear = clear;
    return errand;
}

void tsri_serve_errand_end(tsri_serve_errand *errand) {
    tsri_serve_exchange *x = errand->x;
    tsri_serve_errand_stops(errand);
    errand->clear(errand);
    json_decref(errand->body);
    free(errand);
    tsri_serve_give_back(x);
}

void tsri_serve_errand_fail(tsri_serve_errand *errand, const tsri_serve_failure *f) {
    tsri_serve_errand_stops(errand);
    tsri_serve_answer_failure(errand->x, f);
    tsri_serve_errand_end(errand);
}

/* Those in a list wait: --queue bounds them, and the metrics show them. `waits`: 1 more or less does. */
static void count(tsri_serve_errand *errand, int waits, bool runs) {
    tsri_serve_server *s = errand->x->server;
    tsri_serve_metrics *m = &errand->x->model->metrics;
    pthread_mutex_lock(&s->lock);
    m->errands.waiting += (uint64_t)waits;
    m->errands.running += (uint64_t)runs - (uint64_t)errand->runs;
    errand->runs = runs;
    tsri_serve_waits_no_more(errand->x);
    pthread_mutex_unlock(&s->lock);
}

void tsri_serve_errand_stops(tsri_serve_errand *errand) {
    count(errand, 0, false);
}

void tsri_serve_errand_append(tsri_serve_errand **list, tsri_serve_errand *errand) {
    while (*list)
        list = &(*list)->next;
    *list = errand;
    errand->next = NULL;
    count(errand, 1, false);
}

void tsri_serve_errand_take_out(tsri_serve_errand **list, tsri_serve_errand *errand) {
    while (*list != errand)
        list = &(*list)->next;
    *list = errand->next;
    count(errand, -1, true);
}

void tsri_serve_errands_drop(tsri_serve_server *s, tsri_serve_errand **list, bool all) {
    for (tsri_serve_errand *errand = *list, *next; errand; errand = next) {
        next = errand->next;
        pthread_mutex_lock(&s->lock);
        const bool gone = errand->x->gone;
        pthread_mutex_unlock(&s->lock);
        if (!gone && !all)
            continue;
        tsri_serve_errand_take_out(list, errand);
        tsri_serve_errand_end(errand);
    }
}
