/* transports/mpi/mpi.c - the transport "mpi": exchanges between the ranks that mpirun or srun
 * started.
 *
 * Every exchange is begun by calls that don't block, and `wait` asks for its end again and again:
 * an MPI call that blocks could not be ended by a deadline. All MPI calls are made under one lock,
 * because the watcher (watch.c) makes some, too. After a failure MPI is not called any more: an
 * exchange that is given up may still own memory that the caller frees.
 *
 * Where a call itself fails, MPI doesn't say which rank is the cause; the watchers find out. So the
 * failure is reported when they have, or when they have had the time for it.
 */
#include "transports/mpi/link.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIECES = 1, MESSAGES = 2 };           /* tags */
enum { CHUNK = 1 << 30 };                    /* MPI counts in int */
enum { SPIN_NS = 200000, LONGEST = 500000 }; /* a wait first spins, then sleeps ever longer */
enum { PAUSE_NS = 10000000, LOOKS = 8 };     /* of a wait for the watchers */

struct tsr_exchange {
    MPI_Request *requests;
    int n, room;
    const char *call; /* the call that failed, with this code; NULL: none did */
    int code;
};

static tsr_status no_memory(const tsr_link *link) {
    return tsri_mpi_fail(link, TSR_E_HOST_MEMORY, "out of host memory for an exchange of ranks");
}

enum { FAILURE = MPI_MAX_ERROR_STRING + 80 };

static void describe(const char *call, int code, char sentence[FAILURE]) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    (void)MPI_Error_string(code, text, &n);
    snprintf(sentence, FAILURE, "%s failed: %s", call, text);
}

/* Of a call before there is a watcher. */
static tsr_status fail_code(const tsr_link *link, const char *call, int code) {
    char sentence[FAILURE];
    describe(call, code, sentence);
    return tsri_mpi_fail(link, TSR_E_PEER, sentence);
}

static bool has_failed(tsr_link *link) {
    pthread_mutex_lock(&link->lock);
    const bool failed = link->failed;
    pthread_mutex_unlock(&link->lock);
    return failed;
}

/* A call of the exchange has failed. Waits until a watcher has found the rank that is gone: it needs
 * the deadline, its next look, and the next look of this rank's watcher, which hears of it. If none is
 * found, this rank tells the others what has failed. */
static tsr_status fail_exchange(tsr_link *link, const tsr_exchange *x) {
    char sentence[FAILURE];
    tsri_mpi_patience patience =
        tsri_mpi_patience_begin(link->deadline_ns + LOOKS * tsri_mpi_watch_pause(link));
    pthread_mutex_lock(&link->lock);
    describe(x->call, x->code, sentence);
    pthread_mutex_unlock(&link->lock);
    while (link->watching && !has_failed(link) && !tsri_mpi_patience_ends(&patience))
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    tsri_mpi_leave(link, TSR_E_PEER, sentence); /* does nothing where the rank was found */
    return tsri_mpi_fail_as_link(link);
}

/* ---- beginning ---- */

static tsr_exchange *begin(tsr_link *link) {
    pthread_mutex_lock(&link->lock);
    tsr_exchange *x = calloc(1, sizeof *x);
    return x;
}

/* Room for one more request; NULL: there is no memory. */
static MPI_Request *add(tsr_exchange *x) {
    if (x->n == x->room) {
        const int room = x->room ? 2 * x->room : 8;
        MPI_Request *grown = realloc(x->requests, (size_t)room * sizeof *grown);
        if (!grown)
            return NULL;
        x->requests = grown;
        x->room = room;
    }
    x->requests[x->n] = MPI_REQUEST_NULL;
    return &x->requests[x->n++];
}

/* Keeps what a call of an exchange has returned. */
static tsr_status called(tsr_exchange *x, const char *call, int code) {
    if (code == MPI_SUCCESS)
        return TSR_OK;
    x->call = call;
    x->code = code;
    return TSR_E_PEER; /* fail_exchange reports it */
}

/* Begins to send or receive in chunks. */
static tsr_status move(tsr_link *link, tsr_exchange *x, bool sends, int peer, int tag, void *data,
                       uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += CHUNK) {
        const int n = bytes - at < CHUNK ? (int)(bytes - at) : CHUNK;
        MPI_Request *request = add(x);
        if (!request)
            return no_memory(link);
        char *from = (char *)data + at;
        const int code = sends ? MPI_Isend(from, n, MPI_BYTE, peer, tag, link->work, request)
                               : MPI_Irecv(from, n, MPI_BYTE, peer, tag, link->work, request);
        const tsr_status status = called(x, sends ? "MPI_Isend" : "MPI_Irecv", code);
        if (status != TSR_OK)
            return status;
    }
    return TSR_OK;
}

static void drop(tsr_exchange *x) {
    free(x->requests);
    free(x);
}

static tsr_status mpi_wait(tsr_link *link, tsr_exchange *x, uint64_t timeout_ns);

/* Ends what began an exchange: gives up the lock, and waits where there is no handle to give. */
static tsr_status begun(tsr_link *link, tsr_exchange *x, tsr_status status, tsr_exchange **done) {
    if (status == TSR_OK && link->failed)
        status = tsri_mpi_fail_as_link(link);
    pthread_mutex_unlock(&link->lock);
    if (status != TSR_OK) {
        if (x && x->call)
            status = fail_exchange(link, x);
        if (x)
            drop(x);
        return status;
    }
    if (!done)
        return mpi_wait(link, x, UINT64_MAX);
    *done = x;
    return TSR_OK;
}

static bool usable(const tsr_link *link, const tsr_exchange *x, tsr_status *status) {
    *status = x ? TSR_OK : no_memory(link);
    return x && !link->failed;
}

/* ---- exchanges ---- */

static tsr_status mpi_barrier(tsr_link *link, tsr_exchange **done) {
    tsr_status status;
    tsr_exchange *x = begin(link);
    if (usable(link, x, &status)) {
        MPI_Request *request = add(x);
        status = request ? called(x, "MPI_Ibarrier", MPI_Ibarrier(link->work, request))
                         : no_memory(link);
    }
    return begun(link, x, status, done);
}

static tsr_status mpi_broadcast(tsr_link *link, uint32_t root, void *data, uint64_t bytes,
                                tsr_exchange **done) {
    tsr_status status;
    tsr_exchange *x = begin(link);
    if (usable(link, x, &status))
        for (uint64_t at = 0; at < bytes && status == TSR_OK; at += CHUNK) {
            const int n = bytes - at < CHUNK ? (int)(bytes - at) : CHUNK;
            MPI_Request *request = add(x);
            status = request ? called(x, "MPI_Ibcast",
                                      MPI_Ibcast((char *)data + at, n, MPI_BYTE, (int)root,
                                                 link->work, request))
                             : no_memory(link);
        }
    return begun(link, x, status, done);
}

/* Ranks in the order in which this one turns to them: each begins with its successor, so that not
 * all of them send to rank 0 first. */
static int turn(const tsr_link *link, int i) {
    return (link->rank + i) % link->size;
}

static tsr_status mpi_all_to_all(tsr_link *link, const tsr_parts *out, const tsr_parts *in,
                                 tsr_exchange **done) {
    tsr_status status;
    tsr_exchange *x = begin(link);
    const int own = link->rank;
    if (usable(link, x, &status)) {
        if (out->bytes[own])
            memcpy(in->data[own], out->data[own], out->bytes[own]);
        for (int i = 1; i < link->size && status == TSR_OK; i++) {
            const int from = turn(link, link->size - i);
            status = move(link, x, false, from, PIECES, in->data[from], in->bytes[from]);
        }
        for (int i = 1; i < link->size && status == TSR_OK; i++) {
            const int to = turn(link, i);
            status = move(link, x, true, to, PIECES, out->data[to], out->bytes[to]);
        }
    }
    return begun(link, x, status, done);
}

static tsr_status mpi_all_gather(tsr_link *link, const tsr_parts *parts, tsr_exchange **done) {
    tsr_status status;
    tsr_exchange *x = begin(link);
    const int own = link->rank;
    if (usable(link, x, &status)) {
        for (int i = 1; i < link->size && status == TSR_OK; i++) {
            const int from = turn(link, link->size - i);
            status = move(link, x, false, from, PIECES, parts->data[from], parts->bytes[from]);
        }
        for (int i = 1; i < link->size && status == TSR_OK; i++)
            status =
                move(link, x, true, turn(link, i), PIECES, parts->data[own], parts->bytes[own]);
    }
    return begun(link, x, status, done);
}

static tsr_status message(tsr_link *link, bool sends, uint32_t peer, void *data, uint64_t bytes,
                          tsr_exchange **done) {
    tsr_status status;
    tsr_exchange *x = begin(link);
    if (usable(link, x, &status))
        status = move(link, x, sends, (int)peer, MESSAGES, data, bytes);
    return begun(link, x, status, done);
}

static tsr_status mpi_send(tsr_link *link, uint32_t to, const void *data, uint64_t bytes,
                           tsr_exchange **done) {
    return message(link, true, to, (void *)(uintptr_t)data, bytes, done);
}

static tsr_status mpi_receive(tsr_link *link, uint32_t from, void *data, uint64_t bytes,
                              tsr_exchange **done) {
    return message(link, false, from, data, bytes, done);
}

/* ---- waiting ---- */

static void rest(uint64_t waited, long *ns) {
    if (waited < SPIN_NS) {
        sched_yield();
        return;
    }
    *ns = *ns * 2 < LONGEST ? *ns * 2 : LONGEST;
    nanosleep(&(struct timespec){.tv_nsec = *ns}, NULL);
}

static tsr_status mpi_wait(tsr_link *link, tsr_exchange *x, uint64_t timeout_ns) {
    const uint64_t from = tsri_mpi_now();
    long ns = 5000;
    for (;;) {
        int done = 0;
        tsr_status status = TSR_OK;
        pthread_mutex_lock(&link->lock);
        const bool failed = link->failed;
        if (!failed)
            status = called(x, "MPI_Testall",
                            MPI_Testall(x->n, x->requests, &done, MPI_STATUSES_IGNORE));
        pthread_mutex_unlock(&link->lock);
        const uint64_t waited = tsri_mpi_now() - from;
        if (!failed && status == TSR_OK && !done) {
            if (waited >= timeout_ns)
                return TSR_E_STATE;
            rest(waited, &ns);
            continue;
        }
        if (failed)
            status = tsri_mpi_fail_as_link(link);
        else if (status != TSR_OK)
            status = fail_exchange(link, x);
        drop(x);
        return status;
    }
}

/* ---- opening and closing ---- */

/* Waits for the end of a call of `join`, which all ranks make, up to the deadline: the watcher, which
 * sees that a rank is gone, needs what they make. */
static tsr_status joined(const tsr_link *link, const char *call, int code, MPI_Request *request) {
    const uint64_t from = tsri_mpi_now();
    tsri_mpi_patience patience = tsri_mpi_patience_begin(link->deadline_ns);
    char sentence[160];
    long ns = 5000;
    for (int done = 0; code == MPI_SUCCESS && !done;) {
        code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || done)
            continue;
        if (tsri_mpi_patience_ends(&patience)) {
            snprintf(sentence, sizeof sentence,
                     "not all of the %d ranks joined within %g s: start all of them again",
                     link->size, (double)link->deadline_ns * 1e-9);
            return tsri_mpi_fail(link, TSR_E_PEER, sentence);
        }
        rest(tsri_mpi_now() - from, &ns);
    }
    return code == MPI_SUCCESS ? TSR_OK : fail_code(link, call, code);
}

/* Makes what the ranks share: two groups, and the names of their hosts. */
static tsr_status meet(tsr_link *link) {
    MPI_Request request;
    int n = 0, code = MPI_Comm_idup(MPI_COMM_WORLD, &link->work, &request);
    tsr_status status = joined(link, "MPI_Comm_idup", code, &request);
    if (status != TSR_OK)
        return status;
    code = MPI_Comm_idup(MPI_COMM_WORLD, &link->watch, &request);
    if ((status = joined(link, "MPI_Comm_idup", code, &request)) != TSR_OK)
        return status;
    (void)MPI_Comm_set_errhandler(link->work, MPI_ERRORS_RETURN);
    (void)MPI_Comm_set_errhandler(link->watch, MPI_ERRORS_RETURN);
    (void)MPI_Get_processor_name(link->hosts[link->rank], &n);
    code = MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, link->hosts, sizeof *link->hosts,
                          MPI_CHAR, link->work, &request);
    return joined(link, "MPI_Iallgather", code, &request);
}

static tsr_status join(tsr_link *link) {
    int begun = 0, given, code;
    (void)MPI_Initialized(&begun);
    if (begun)
        return tsri_mpi_fail(link, TSR_E_STATE, "this process has already joined its ranks");
    tsr_status status = tsri_mpi_join(link, &code, &given);
    if (status != TSR_OK)
        return status;
    if (code != MPI_SUCCESS)
        return fail_code(link, "MPI_Init_thread", code);
    if (given < MPI_THREAD_SERIALIZED)
        return tsri_mpi_fail(link, TSR_E_UNSUPPORTED,
                             "this MPI can't be called by two threads in turn "
                             "(MPI_THREAD_SERIALIZED)");
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &link->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &link->size);
    link->hosts = calloc((size_t)link->size, sizeof *link->hosts);
    if (!link->hosts)
        return no_memory(link);
    status = meet(link);
    for (int r = 0; r < link->rank && status == TSR_OK; r++)
        link->local_rank += !strcmp(link->hosts[r], link->hosts[link->rank]);
    return status;
}

static tsr_status mpi_open(const tsr_transport_host *host, const tsr_transport_options *options,
                           tsr_link **out) {
    tsr_link *link = calloc(1, sizeof *link);
    if (!link) {
        host->report(host->data, TSR_E_HOST_MEMORY, "out of host memory");
        return TSR_E_HOST_MEMORY;
    }
    link->host = host;
    link->deadline_ns = (uint64_t)options->deadline_ms * 1000000;
    pthread_mutex_init(&link->lock, NULL);
    tsr_status status = join(link);
    if (status == TSR_OK)
        status = tsri_mpi_watch_begin(link);
    if (status == TSR_OK) {
        *out = link;
        return TSR_OK;
    }
    (void)tsri_mpi_part(link, false);
    free(link->hosts);
    free(link);
    return status;
}

static void mpi_close(tsr_link *link) {
    const bool whole = mpi_barrier(link, NULL) == TSR_OK;
    tsri_mpi_watch_end(link);
    if (!tsri_mpi_part(link, whole))
        return;
    pthread_mutex_destroy(&link->lock);
    free(link->hosts);
    free(link);
}

static tsr_status mpi_facts(tsr_link *link, tsr_transport_facts *facts) {
    const tsr_transport_facts all = {.struct_size = facts->struct_size,
                                     .rank = (uint32_t)link->rank,
                                     .size = (uint32_t)link->size,
                                     .local_rank = (uint32_t)link->local_rank};
    memcpy(facts, &all, facts->struct_size < sizeof all ? facts->struct_size : sizeof all);
    return TSR_OK;
}

static const char *mpi_host_of(tsr_link *link, uint32_t rank) {
    return rank < (uint32_t)link->size ? link->hosts[rank] : NULL;
}

__attribute__((visibility("default"))) const tsr_transport *tsr_transport_get(uint32_t abi) {
    static const tsr_transport table = {.struct_size = sizeof table,
                                        .abi = TSR_TRANSPORT_ABI,
                                        .name = "mpi",
                                        .version = TESSERA_VERSION,
                                        .description = "the ranks of mpirun or srun",
                                        .open = mpi_open,
                                        .close = mpi_close,
                                        .leave = tsri_mpi_leave,
                                        .facts = mpi_facts,
                                        .host_of = mpi_host_of,
                                        .barrier = mpi_barrier,
                                        .broadcast = mpi_broadcast,
                                        .all_to_all = mpi_all_to_all,
                                        .all_gather = mpi_all_gather,
                                        .send = mpi_send,
                                        .receive = mpi_receive,
                                        .wait = mpi_wait};
    return abi >> 16 == TSR_TRANSPORT_ABI >> 16 ? &table : NULL;
}
