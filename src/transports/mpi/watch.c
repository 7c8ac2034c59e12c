/* transports/mpi/watch.c - a thread that notices when a rank is gone.
 *
 * The ranks stand in a ring: each sends a byte to its successor several times within the deadline,
 * and expects one from its predecessor. So a rank that is stopped, killed or cut off is noticed by
 * one other, which tells the rest by a notice. Where two neighbours are gone, the one after them
 * notices the nearer. The thread beats while the rank computes: slow work is not a failure.
 */
#include "transports/mpi/link.h"

#include <stdlib.h>
#include <string.h>

enum { BEATS = 1, NOTICES = 2 }; /* tags */
enum { BEATS_IN_DEADLINE = 8, LONGEST_MS = 1000 };
static const uint64_t farewell_ns = 500000000; /* how long notices may take to be sent */

static int before(const tsr_link *link) {
    return (link->rank + link->size - 1) % link->size;
}

/* Holds the lock: sends a notice to every other rank, and waits a moment until they are on their
 * way. A rank that is gone takes none. */
static void tell_all(tsr_link *link, const tsri_mpi_notice *why) {
    MPI_Request *requests = calloc((size_t)link->size, sizeof *requests);
    tsri_mpi_notice *notice = calloc(1, sizeof *notice);
    int n = 0, done = 0;
    if (requests && notice) {
        *notice = *why;
        for (int r = 0; r < link->size; r++)
            if (r != link->rank && MPI_Isend(notice, sizeof *notice, MPI_BYTE, r, NOTICES,
                                             link->watch, &requests[n]) == MPI_SUCCESS)
                n++;
        const uint64_t from = tsri_mpi_now();
        while (!done && tsri_mpi_now() - from < farewell_ns) {
            if (MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS)
                break;
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
    }
    free(requests);
    if (done) /* otherwise MPI may still read it */
        free(notice);
}

/* Holds the lock. */
static void fail(tsr_link *link, const tsri_mpi_notice *why) {
    link->why = *why;
    link->failed = true;
}

static void lost(tsr_link *link, const char *how) {
    tsri_mpi_notice why = {.status = TSR_E_PEER};
    snprintf(why.sentence, sizeof why.sentence, "rank %d on %s %s: the run ends", before(link),
             link->hosts[before(link)], how);
    tell_all(link, &why);
    fail(link, &why);
}

static void expect_beat(tsr_link *link) {
    if (MPI_Irecv(&link->heard, 1, MPI_CHAR, before(link), BEATS, link->watch, &link->hears) !=
        MPI_SUCCESS)
        link->hears = MPI_REQUEST_NULL;
}

static void send_beat(tsr_link *link) {
    int done = 1;
    if (link->sent != MPI_REQUEST_NULL &&
        MPI_Test(&link->sent, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return;
    if (done && MPI_Isend(&link->beat, 1, MPI_CHAR, (link->rank + 1) % link->size, BEATS,
                          link->watch, &link->sent) != MPI_SUCCESS)
        link->sent = MPI_REQUEST_NULL;
}

/* Holds the lock: one look at the other ranks. */
static void look(tsr_link *link) {
    char how[80];
    int done = 0;
    if (MPI_Test(&link->told, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done) {
        fail(link, &link->notice);
        return;
    }
    for (done = 1; done && link->hears != MPI_REQUEST_NULL;) {
        if (MPI_Test(&link->hears, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            lost(link, "can't be reached");
            return;
        }
        if (done) {
            tsri_mpi_patience_renew(&link->patience);
            expect_beat(link);
        }
    }
    send_beat(link);
    if (tsri_mpi_patience_ends(&link->patience)) {
        snprintf(how, sizeof how, "gave no sign of life for %.0f s",
                 (double)link->deadline_ns * 1e-9);
        lost(link, how);
    }
}

uint64_t tsri_mpi_watch_pause(const tsr_link *link) {
    const uint64_t pause = link->deadline_ns / BEATS_IN_DEADLINE,
                   most = LONGEST_MS * (uint64_t)1000000;
    return pause < most ? pause : most;
}

static void *watch(void *data) {
    tsr_link *link = data;
    const uint64_t pause = tsri_mpi_watch_pause(link);
    pthread_mutex_lock(&link->lock);
    while (!link->ends && !link->failed) {
        look(link);
        const uint64_t until = tsri_mpi_now() + pause;
        while (!link->ends && !link->failed &&
               tsri_system_wait_until(&link->wake, &link->lock, until))
            ;
    }
    pthread_mutex_unlock(&link->lock);
    return NULL;
}

tsr_status tsri_mpi_watch_begin(tsr_link *link) {
    (void)tsri_system_condition(&link->wake);
    link->sent = link->hears = link->told = MPI_REQUEST_NULL;
    if (link->size == 1)
        return TSR_OK;
    link->patience = tsri_mpi_patience_begin(link->deadline_ns);
    expect_beat(link);
    if (MPI_Irecv(&link->notice, sizeof link->notice, MPI_BYTE, MPI_ANY_SOURCE, NOTICES,
                  link->watch, &link->told) != MPI_SUCCESS)
        link->told = MPI_REQUEST_NULL;
    link->watching = tsri_system_thread(&link->thread, watch, link) == 0;
    return link->watching ? TSR_OK
                          : tsri_mpi_fail(link, TSR_E_HOST_MEMORY,
                                          "the thread that watches the other ranks can't be "
                                          "started");
}

/* The requests that are still open: a beat that was not sent, and those that nobody will answer. */
static void give_up_requests(tsr_link *link) {
    MPI_Request *const open[] = {&link->sent, &link->hears, &link->told};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (*open[i] != MPI_REQUEST_NULL) {
            (void)MPI_Cancel(open[i]);
            (void)MPI_Request_free(open[i]);
        }
}

void tsri_mpi_watch_end(tsr_link *link) {
    if (link->watching) {
        pthread_mutex_lock(&link->lock);
        link->ends = true;
        pthread_cond_signal(&link->wake);
        pthread_mutex_unlock(&link->lock);
        pthread_join(link->thread, NULL);
        if (!link->failed)
            give_up_requests(link);
    }
    pthread_cond_destroy(&link->wake);
}

void tsri_mpi_leave(tsr_link *link, tsr_status status, const char *sentence) {
    tsri_mpi_notice why = {.status = status};
    char own[MPI_MAX_PROCESSOR_NAME + 32];
    const int n = snprintf(own, sizeof own, "rank %d on %s ", link->rank, link->hosts[link->rank]);
    const bool named = !strncmp(sentence, own, (size_t)n);
    snprintf(why.sentence, sizeof why.sentence, "%s%s%.*s", named ? "" : own,
             named ? "" : "ended: ", (int)(sizeof why.sentence - sizeof own - sizeof "ended: "),
             sentence);
    pthread_mutex_lock(&link->lock);
    if (!link->failed) {
        tell_all(link, &why);
        fail(link, &why);
    }
    pthread_mutex_unlock(&link->lock);
}
