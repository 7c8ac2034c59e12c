/* transports/mpi/caller.c - MPI_Init_thread and MPI_Finalize. Both wait for all ranks, and MPI has
 * no form of them that doesn't block.
 *
 * So one thread makes both calls (MPI wants them from the same one), and the caller waits for that
 * thread, at most for the deadline. If the caller gives up, the thread stays in its call until the
 * process ends.
 */
#include "transports/mpi/link.h"

#include <stdlib.h>

enum { LOOKS_IN_DEADLINE = 8 };

typedef enum step { JOINS, JOINED, FINALIZES, LEAVES, ENDED } step;

struct tsri_mpi_caller {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* step was set */
    step step;
    int code, given; /* of MPI_Init_thread */
};

static void set_step(tsri_mpi_caller *c, step to) {
    pthread_mutex_lock(&c->lock);
    c->step = to;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void *make_calls(void *data) {
    tsri_mpi_caller *c = data;
    c->code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &c->given);
    set_step(c, JOINED);
    pthread_mutex_lock(&c->lock);
    while (c->step == JOINED)
        pthread_cond_wait(&c->changed, &c->lock);
    const bool finalizes = c->step == FINALIZES;
    pthread_mutex_unlock(&c->lock);
    if (finalizes)
        MPI_Finalize();
    set_step(c, ENDED);
    return NULL;
}

/* Waits until the thread has made `to` of a step, up to the deadline. */
static bool arrives(const tsr_link *link, step to) {
    tsri_mpi_caller *c = link->caller;
    tsri_mpi_patience patience = tsri_mpi_patience_begin(link->deadline_ns);
    pthread_mutex_lock(&c->lock);
    while (c->step != to && !tsri_mpi_patience_ends(&patience)) {
        (void)tsri_system_wait_until(&c->changed, &c->lock,
                                     tsri_mpi_now() + link->deadline_ns / LOOKS_IN_DEADLINE);
    }
    const bool arrived = c->step == to;
    pthread_mutex_unlock(&c->lock);
    return arrived;
}

static void give_up(tsr_link *link) {
    pthread_detach(link->caller->thread);
    link->caller = NULL;
}

static void drop(tsri_mpi_caller *c) {
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

tsr_status tsri_mpi_join(tsr_link *link, int *code, int *given) {
    char sentence[160];
    tsri_mpi_caller *c = calloc(1, sizeof *c);
    if (!c)
        return tsri_mpi_fail(link, TSR_E_HOST_MEMORY, "out of host memory");
    c->step = JOINS;
    c->given = MPI_THREAD_SINGLE;
    pthread_mutex_init(&c->lock, NULL);
    (void)tsri_system_condition(&c->changed);
    if (tsri_system_thread(&c->thread, make_calls, c) != 0) {
        drop(c);
        return tsri_mpi_fail(link, TSR_E_HOST_MEMORY,
                             "the thread that joins the other ranks can't be started");
    }
    link->caller = c;
    if (!arrives(link, JOINED)) {
        give_up(link);
        snprintf(sentence, sizeof sentence,
                 "not all ranks joined within %g s: start all of them again",
                 (double)link->deadline_ns * 1e-9);
        return tsri_mpi_fail(link, TSR_E_PEER, sentence);
    }
    *code = c->code;
    *given = c->given;
    return TSR_OK;
}

bool tsri_mpi_part(tsr_link *link, bool finalizes) {
    char sentence[160];
    tsri_mpi_caller *c = link->caller;
    if (!c)
        return true;
    set_step(c, finalizes ? FINALIZES : LEAVES);
    if (arrives(link, ENDED)) {
        pthread_join(c->thread, NULL);
        drop(c);
        return true;
    }
    give_up(link);
    snprintf(sentence, sizeof sentence,
             "not all of the %d ranks ended within %g s: this one ends without them, and what it "
             "did is complete",
             link->size, (double)link->deadline_ns * 1e-9);
    (void)tsri_mpi_fail(link, TSR_E_PEER, sentence);
    return false;
}
