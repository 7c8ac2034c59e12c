/* A transport in one process: it is rank 0 of 2, and rank 1 does what it does. Of a collective exchange that is begun and not waited for, it
 * tells whoever asked by `twin_watch`. */
#include "tessera/transport.h"

#include <stdlib.h>
#include <string.h>

struct tsr_link {
    const tsr_transport_host *host;
};

static void (*watcher)(void *data);
static void *watcher_data;

__attribute__((visibility("default"))) void twin_watch(void (*watch)(void *data), void *data) {
    watcher = watch;
    watcher_data = data;
}

static tsr_status begun(tsr_link *link, tsr_exchange **done) {
    if (done)
        *done = (tsr_exchange *)(void *)link;
    return TSR_OK;
}

static tsr_status twin_open(const tsr_transport_host *host, const tsr_transport_options *options,
                            tsr_link **out) {
    (void)options;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return TSR_E_HOST_MEMORY;
    (*out)->host = host;
    return TSR_OK;
}

static void twin_close(tsr_link *link) {
    free(link);
}

static void twin_leave(tsr_link *link, tsr_status status, const char *sentence) {
    (void)link, (void)status, (void)sentence;
}

static tsr_status twin_facts(tsr_link *link, tsr_transport_facts *facts) {
    (void)link;
    facts->rank = facts->local_rank = 0;
    facts->size = 2;
    return TSR_OK;
}

static const char *twin_host_of(tsr_link *link, uint32_t rank) {
    (void)link;
    return rank < 2 ? "here" : NULL;
}

static tsr_status twin_barrier(tsr_link *link, tsr_exchange **done) {
    return begun(link, done);
}

static tsr_status twin_broadcast(tsr_link *link, uint32_t root, void *data, uint64_t bytes,
                                 tsr_exchange **done) {
    (void)root, (void)data, (void)bytes;
    return begun(link, done);
}

static tsr_status twin_all_to_all(tsr_link *link, const tsr_parts *out, const tsr_parts *in,
                                  tsr_exchange **done) {
    for (int r = 0; r < 2; r++)
        if (in->bytes[r])
            memcpy(in->data[r], out->data[0], in->bytes[r]);
    if (done && watcher)
        watcher(watcher_data);
    return begun(link, done);
}

static tsr_status twin_all_gather(tsr_link *link, const tsr_parts *parts, tsr_exchange **done) {
    if (parts->bytes[0] == parts->bytes[1])
        memcpy(parts->data[1], parts->data[0], parts->bytes[0]);
    return begun(link, done);
}

static tsr_status twin_send(tsr_link *link, uint32_t to, const void *data, uint64_t bytes,
                            tsr_exchange **done) {
    (void)to, (void)data, (void)bytes;
    return begun(link, done);
}

static tsr_status twin_receive(tsr_link *link, uint32_t from, void *data, uint64_t bytes,
                               tsr_exchange **done) {
    (void)from, (void)data, (void)bytes;
    return begun(link, done);
}

static tsr_status twin_wait(tsr_link *link, tsr_exchange *exchange, uint64_t timeout_ns) {
    (void)link, (void)exchange, (void)timeout_ns;
    return TSR_OK;
}

__attribute__((visibility("default"))) const tsr_transport *tsr_transport_get(uint32_t abi) {
    static const tsr_transport table = {.struct_size = sizeof table,
                                        .abi = TSR_TRANSPORT_ABI,
                                        .name = "twin",
                                        .version = TESSERA_VERSION,
                                        .description = "two ranks that do the same",
                                        .open = twin_open,
                                        .close = twin_close,
                                        .leave = twin_leave,
                                        .facts = twin_facts,
                                        .host_of = twin_host_of,
                                        .barrier = twin_barrier,
                                        .broadcast = twin_broadcast,
                                        .all_to_all = twin_all_to_all,
                                        .all_gather = twin_all_gather,
                                        .send = twin_send,
                                        .receive = twin_receive,
                                        .wait = twin_wait};
    return abi >> 16 == TSR_TRANSPORT_ABI >> 16 ? &table : NULL;
}
