/* transport/ranks.c - implements tessera/ranks.h over a transport's table. */
#include "transport/ranks.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "transport/load.h"

#include <stdlib.h>
#include <string.h>

/* With the default, and the few seconds that it takes to notice and to end, a run in which a rank is
 * stopped ends within 30 seconds on all ranks. */
enum { DEADLINE_SECONDS = 20, MOST_SECONDS = 1 << 20 };

struct tsr_ranks {
    const tsr_transport *transport;
    tsr_transport_host host;
    tsr_link *link;
    tsr_transport_facts facts;
    uint64_t waited_ns;
    tsr_status reported; /* the last status that the transport reported */
    /* of tsri_ranks_gather_equal */
    void **data;
    uint64_t *bytes;
};

static void report(void *data, tsr_status status, const char *sentence) {
    tsr_ranks *ranks = data;
    ranks->reported = tsri_base_fail(status, "%s", sentence);
}

/* How many ranks there are by the variables of launchers. Slurm sets SLURM_NTASKS in a batch
 * script, too, which runs once; only srun sets the number of a step's tasks. */
static long launched(void) {
    const char *const numbers[] = {getenv("OMPI_COMM_WORLD_SIZE"), getenv("PMI_SIZE"),
                                   getenv("SLURM_STEP_NUM_TASKS")};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const long n = numbers[i] ? strtol(numbers[i], NULL, 10) : 0;
        if (n > 1)
            return n;
    }
    return 1;
}

static tsr_status start(tsr_ranks *ranks, const char *name, uint32_t seconds) {
    const tsr_transport_options options = {.struct_size = sizeof options,
                                           .deadline_ms = seconds * 1000};
    TRY(tsri_transport_load(name, &ranks->transport));
    ranks->host = (tsr_transport_host){.struct_size = sizeof ranks->host,
                                       .abi = TSR_TRANSPORT_ABI,
                                       .data = ranks,
                                       .report = report};
    (void)tsri_base_fail(TSR_OK, /* replaced by the sentence that the transport reports */
                         "it gives no reason");
    const tsr_status status = ranks->transport->open(&ranks->host, &options, &ranks->link);
    if (status != TSR_OK)
        return tsri_base_fail_within(status, "transport %s does not start", name);
    ranks->facts.struct_size = sizeof ranks->facts;
    TRY(ranks->transport->facts(ranks->link, &ranks->facts));
    TRY(tsri_base_new(ranks->facts.size, sizeof *ranks->data, &ranks->data));
    return tsri_base_new(ranks->facts.size, sizeof *ranks->bytes, &ranks->bytes);
}

tsr_status tsr_ranks_open(const tsr_ranks_options *options, tsr_ranks **out) {
    tsr_ranks_options given;
    tsr_ranks *ranks = NULL;
    const tsri_base_kept before = tsri_base_keep();
    TRY(NEED(out));
    TRY(tsri_base_adopt("tsr_ranks_options", options, &given, sizeof given));
    *out = NULL;
    const long n = given.transport ? 0 : launched();
    const char *name = given.transport ? given.transport : n > 1 ? "mpi" : "none";
    const uint32_t seconds = given.deadline_seconds ? given.deadline_seconds : DEADLINE_SECONDS;
    if (seconds > MOST_SECONDS)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "tsr_ranks_options.deadline_seconds is %u; give at most %d", seconds,
                              MOST_SECONDS);
    if (!strcmp(name, "none"))
        return TSR_OK;
    TRY(tsri_base_new(1, sizeof *ranks, &ranks));
    tsr_status status = start(ranks, name, seconds);
    if (status == TSR_OK && n > 1 && ranks->facts.size == 1)
        status = tsri_base_fail(TSR_E_PEER,
                                "the launcher started %ld processes, but MPI joins only this one: "
                                "start them with the mpirun of the MPI that the transport mpi was "
                                "built with, or by srun --mpi=pmix, or let each work alone "
                                "(--transport none)",
                                n);
    if (status == TSR_OK) /* `start` reported a sentence in advance */
        tsri_base_restore(TSR_OK, &before);
    else
        (void)tsr_ranks_close(&ranks);
    *out = ranks;
    return status;
}

tsr_status tsr_ranks_close(tsr_ranks **ranks) {
    TRY(NEED(ranks));
    tsr_ranks *r = *ranks;
    if (!r)
        return TSR_OK;
    r->reported = TSR_OK;
    if (r->link)
        r->transport->close(r->link);
    const tsr_status status = r->reported;
    free(r->data);
    free(r->bytes);
    free(r);
    *ranks = NULL;
    return status;
}

/* The other ranks can't act on most errors of this one: to them it is gone. */
static tsr_status of_others(tsr_status status) {
    const bool of_device =
        status == TSR_E_DEVICE_MEMORY || status == TSR_E_DEVICE || status == TSR_E_BUILD;
    return of_device ? TSR_E_DEVICE : TSR_E_PEER;
}

void tsr_ranks_leave(tsr_ranks *ranks, tsr_status status, const char *sentence) {
    if (ranks && sentence)
        ranks->transport->leave(ranks->link, of_others(status), sentence);
}

tsr_status tsr_ranks_info_get(const tsr_ranks *ranks, tsr_ranks_info *out) {
    TRY(NEED(out));
    TRY(tsri_base_check_out("tsr_ranks_info", out));
    const tsr_ranks_info info = {.struct_size = sizeof info,
                                 .rank = tsri_ranks_rank(ranks),
                                 .size = tsri_ranks_size(ranks),
                                 .local_rank = ranks ? ranks->facts.local_rank : 0,
                                 .transport = ranks ? ranks->transport->name : "none",
                                 .host = tsri_ranks_host(ranks, tsri_ranks_rank(ranks))};
    tsri_base_give(&info, sizeof info, out);
    return TSR_OK;
}

/* ---- for the library's own parts ---- */

uint32_t tsri_ranks_rank(const tsr_ranks *ranks) {
    return ranks ? ranks->facts.rank : 0;
}

uint32_t tsri_ranks_size(const tsr_ranks *ranks) {
    return ranks ? ranks->facts.size : 1;
}

const char *tsri_ranks_host(const tsr_ranks *ranks, uint32_t rank) {
    const char *host = ranks ? ranks->transport->host_of(ranks->link, rank) : NULL;
    return host ? host : "";
}

uint64_t tsri_ranks_waited_ns(const tsr_ranks *ranks) {
    return ranks ? ranks->waited_ns : 0;
}

/* Returns the status of a call that began then, and counts its time. */
static tsr_status count(tsr_ranks *ranks, uint64_t begun_ns, tsr_status status) {
    ranks->waited_ns += tsri_base_now_ns() - begun_ns;
    return status;
}

tsr_status tsri_ranks_barrier(tsr_ranks *ranks) {
    const uint64_t begun = tsri_base_now_ns();
    if (!ranks)
        return TSR_OK;
    return count(ranks, begun, ranks->transport->barrier(ranks->link, NULL));
}

tsr_status tsri_ranks_broadcast(tsr_ranks *ranks, uint32_t root, void *data, uint64_t bytes) {
    return tsri_ranks_begin_broadcast(ranks, root, data, bytes, NULL);
}

tsr_status tsri_ranks_begin_broadcast(tsr_ranks *ranks, uint32_t root, void *data, uint64_t bytes,
                                      tsr_exchange **done) {
    const uint64_t begun = tsri_base_now_ns();
    if (!ranks)
        return TSR_OK;
    return count(ranks, begun, ranks->transport->broadcast(ranks->link, root, data, bytes, done));
}

tsr_status tsri_ranks_all_to_all(tsr_ranks *ranks, const tsr_parts *send,
                                 const tsr_parts *receive) {
    return tsri_ranks_begin_all_to_all(ranks, send, receive, NULL);
}

tsr_status tsri_ranks_begin_all_to_all(tsr_ranks *ranks, const tsr_parts *send,
                                       const tsr_parts *receive, tsr_exchange **done) {
    const uint64_t begun = tsri_base_now_ns();
    if (ranks)
        return count(ranks, begun, ranks->transport->all_to_all(ranks->link, send, receive, done));
    if (send->bytes[0])
        memcpy(receive->data[0], send->data[0], send->bytes[0]);
    return TSR_OK;
}

tsr_status tsri_ranks_all_gather(tsr_ranks *ranks, const tsr_parts *parts) {
    return tsri_ranks_begin_all_gather(ranks, parts, NULL);
}

tsr_status tsri_ranks_begin_all_gather(tsr_ranks *ranks, const tsr_parts *parts,
                                       tsr_exchange **done) {
    const uint64_t begun = tsri_base_now_ns();
    if (!ranks)
        return TSR_OK;
    return count(ranks, begun, ranks->transport->all_gather(ranks->link, parts, done));
}

tsr_status tsri_ranks_send(tsr_ranks *ranks, uint32_t to, const void *data, uint64_t bytes,
                           tsr_exchange **done) {
    const uint64_t begun = tsri_base_now_ns();
    if (!ranks)
        return TSR_OK;
    return count(ranks, begun, ranks->transport->send(ranks->link, to, data, bytes, done));
}

tsr_status tsri_ranks_receive(tsr_ranks *ranks, uint32_t from, void *data, uint64_t bytes,
                              tsr_exchange **done) {
    const uint64_t begun = tsri_base_now_ns();
    if (!ranks)
        return TSR_OK;
    return count(ranks, begun, ranks->transport->receive(ranks->link, from, data, bytes, done));
}

tsr_status tsri_ranks_wait(tsr_ranks *ranks, tsr_exchange *exchange, uint64_t timeout_ns) {
    const uint64_t begun = tsri_base_now_ns();
    if (!ranks)
        return TSR_OK;
    return count(ranks, begun, ranks->transport->wait(ranks->link, exchange, timeout_ns));
}

tsr_status tsri_ranks_gather_equal(tsr_ranks *ranks, const void *own, void *all, uint64_t bytes) {
    const uint32_t rank = tsri_ranks_rank(ranks);
    memcpy((char *)all + rank * bytes, own, bytes);
    if (!ranks)
        return TSR_OK;
    for (uint32_t r = 0; r < ranks->facts.size; r++) {
        ranks->data[r] = (char *)all + r * bytes;
        ranks->bytes[r] = bytes;
    }
    return tsri_ranks_all_gather(
        ranks,
        &(tsr_parts){.struct_size = sizeof(tsr_parts), .data = ranks->data, .bytes = ranks->bytes});
}
