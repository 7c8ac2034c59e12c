/* transports/mpi/link.h - what the files of the transport "mpi" share. */
#ifndef TSRI_TRANSPORTS_MPI_LINK_H
#define TSRI_TRANSPORTS_MPI_LINK_H

#include "base/system/system.h"
#include "tessera/transport.h"

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { TSRI_MPI_SENTENCE = 1024 };

/* The last words of a rank, or about one. */
typedef struct tsri_mpi_notice {
    int32_t status; /* tsr_status */
    char sentence[TSRI_MPI_SENTENCE];
} tsri_mpi_notice;

/* How long something has been waited for, in time that this process had. If two looks are more than
 * half the deadline apart, the process was suspended, as by a job scheduler, which suspends the
 * other ranks, too: the wait begins anew. */
typedef struct tsri_mpi_patience {
    uint64_t deadline_ns, begun, looked;
} tsri_mpi_patience;

/* The thread that calls MPI_Init_thread and MPI_Finalize. */
typedef struct tsri_mpi_caller tsri_mpi_caller;

struct tsr_link {
    const tsr_transport_host *host;
    MPI_Comm work, watch; /* of exchanges; of the watcher */
    int rank, size, local_rank;
    char (*hosts)[MPI_MAX_PROCESSOR_NAME]; /* of each rank */
    uint64_t deadline_ns;
    tsri_mpi_caller *caller;
    pthread_mutex_t lock; /* held for every MPI call, and for what follows */
    bool failed;
    tsri_mpi_notice why; /* not changed any more once `failed` is set */
    /* the watcher's */
    pthread_t thread;
    bool watching, ends;
    pthread_cond_t wake;
    char beat, heard;
    tsri_mpi_notice notice;
    MPI_Request sent, hears, told; /* a beat on its way; the next one expected; a notice expected */
    tsri_mpi_patience patience;    /* since the predecessor's last beat */
};

static inline uint64_t tsri_mpi_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline tsr_status tsri_mpi_fail(const tsr_link *link, tsr_status status,
                                       const char *sentence) {
    link->host->report(link->host->data, status, sentence);
    return status;
}

/* Of a call after the link has failed. */
static inline tsr_status tsri_mpi_fail_as_link(const tsr_link *link) {
    return tsri_mpi_fail(link, (tsr_status)link->why.status, link->why.sentence);
}

/* ---- wait.c ---- */

tsri_mpi_patience tsri_mpi_patience_begin(uint64_t deadline_ns);
void tsri_mpi_patience_renew(tsri_mpi_patience *patience);
/* A look: whether the deadline has passed. To be called several times within the deadline. */
bool tsri_mpi_patience_ends(tsri_mpi_patience *patience);

/* ---- caller.c ---- */

/* Calls MPI_Init_thread; *code is what it returned. Fails where that takes longer than the
 * deadline; MPI can't be called then. */
tsr_status tsri_mpi_join(tsr_link *link, int *code, int *given);
/* Ends what tsri_mpi_join began, by MPI_Finalize where `finalizes` is true. false: that takes
 * longer than the deadline, which was reported; MPI still uses the link's memory then. */
bool tsri_mpi_part(tsr_link *link, bool finalizes);

/* ---- watch.c ---- */

/* Starts the thread that sends and expects signs of life; a link of one rank needs none. */
tsr_status tsri_mpi_watch_begin(tsr_link *link);
/* Nanoseconds between two looks of that thread. */
uint64_t tsri_mpi_watch_pause(const tsr_link *link);
/* Ends it; after a failure without another MPI call. */
void tsri_mpi_watch_end(tsr_link *link);
void tsri_mpi_leave(tsr_link *link, tsr_status status, const char *sentence);

#endif
