/* limited.c - a transport for measurements: another transport, with the latency and the bandwidth of a
 * network that is slower.
 *
 *     LIMITED_TRANSPORT    the file of the plugin that carries the bytes: .../transports/mpi.so
 *     LIMITED_LATENCY_US   how long a byte is on its way (default: 0)
 *     LIMITED_GBITS        what the link of a rank carries each way, in Gbit/s (default: no limit)
 *
 * The network that it stands for: each rank has one link, of two directions. The messages of a rank
 * leave one after the other, each bytes / bandwidth long; a latency later they come in at the other
 * end, there, too, one after the other. A collective exchange is a message from each rank to each
 * other one that it has bytes for, the next rank first.
 *
 * With each message travels the time at which it leaves. The receiver reckons from it when the last
 * byte would have come, and ends the exchange no earlier. So an exchange takes what the slower of the
 * two networks takes, also where it was begun long before it is waited for. The times are those of one
 * clock, so the ranks must be on one host.
 */
#include "tessera/transport.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A message as the link sees it. */
typedef struct message {
    uint64_t left; /* when its first byte left, in ns */
    uint64_t bytes;
    bool expected;
} message;

struct tsr_link {
    const tsr_transport_host *host;
    const tsr_transport *of; /* the transport that carries the bytes, and its link */
    tsr_link *under;
    uint32_t rank, size;
    uint64_t latency_ns;
    double ns_a_byte;
    uint64_t out_free, in_free; /* when the directions of this rank's link are free */
};

/* An exchange of the transport below, in two parts: the times, then the bytes. */
struct tsr_exchange {
    tsr_exchange *parts[2]; /* NULL: has ended */
    uint64_t sent;          /* when the last byte has left */
    uint64_t ends;          /* when all is over; 0: it is not known yet */
    message *in;            /* [size] what comes from each rank */
    uint64_t *stamps[2];    /* [size] the times that are sent and received */
    void **data[2];         /* [size] arguments of the exchange of these times */
    uint64_t *bytes;
};

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns) {
    const struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
                               .tv_nsec = (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
        ;
}

static tsr_status fail(const tsr_transport_host *host, tsr_status status, const char *sentence) {
    host->report(host->data, status, sentence);
    return status;
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* ---- exchanges ---- */

static void drop(tsr_exchange *x) {
    for (int i = 0; i < 2; i++) {
        free(x->stamps[i]);
        free(x->data[i]);
    }
    free(x->bytes);
    free(x->in);
    free(x);
}

static tsr_status create(tsr_link *link, tsr_exchange **out) {
    tsr_exchange *x = calloc(1, sizeof *x);
    bool whole = x != NULL;
    if (x) {
        x->in = calloc(link->size, sizeof *x->in);
        x->bytes = calloc(link->size, sizeof *x->bytes);
        whole = x->in && x->bytes;
        for (int i = 0; i < 2; i++) {
            x->stamps[i] = calloc(link->size, sizeof *x->stamps[i]);
            x->data[i] = calloc(link->size, sizeof *x->data[i]);
            whole = whole && x->stamps[i] && x->data[i];
        }
    }
    if (!whole) {
        if (x)
            drop(x);
        return fail(link->host, TSR_E_HOST_MEMORY, "out of host memory for an exchange of ranks");
    }
    for (uint32_t r = 0; r < link->size; r++) {
        x->data[0][r] = &x->stamps[0][r];
        x->data[1][r] = &x->stamps[1][r];
        x->bytes[r] = sizeof(uint64_t);
    }
    x->sent = now();
    *out = x;
    return TSR_OK;
}

/* A message to a rank takes its turn on this rank's link. */
static void leave_to(tsr_link *link, tsr_exchange *x, uint32_t to, uint64_t bytes) {
    if (to == link->rank)
        return;
    x->stamps[0][to] = later(now(), link->out_free);
    link->out_free = x->stamps[0][to] + (uint64_t)((double)bytes * link->ns_a_byte);
    x->sent = later(x->sent, link->out_free);
}

static void expect(tsr_link *link, tsr_exchange *x, uint32_t from, uint64_t bytes) {
    if (from != link->rank)
        x->in[from] = (message){.bytes = bytes, .expected = true};
}

/* Begins the exchange of the times of all messages of a collective exchange. */
static tsr_status begin_stamps(tsr_link *link, tsr_exchange *x) {
    const tsr_parts out = {.struct_size = sizeof out, .data = x->data[0], .bytes = x->bytes},
                    in = {.struct_size = sizeof in, .data = x->data[1], .bytes = x->bytes};
    return link->of->all_to_all(link->under, &out, &in, &x->parts[0]);
}

/* The times of all messages are known: they come in, those that left first before the others. */
static uint64_t reckon_end(tsr_link *link, tsr_exchange *x) {
    for (uint32_t r = 0; r < link->size; r++)
        x->in[r].left = x->stamps[1][r];
    uint64_t end = x->sent;
    for (;;) {
        message *first = NULL;
        for (uint32_t r = 0; r < link->size; r++)
            if (x->in[r].expected && (!first || x->in[r].left < first->left))
                first = &x->in[r];
        if (!first)
            return end;
        first->expected = false;
        link->in_free = later(link->in_free, first->left + link->latency_ns) +
                        (uint64_t)((double)first->bytes * link->ns_a_byte);
        end = later(end, link->in_free);
    }
}

/* After a failure the transport below may still use the memory of an exchange, so it stays. */
static tsr_status limited_wait(tsr_link *link, tsr_exchange *x, uint64_t timeout_ns) {
    const uint64_t begun = now(),
                   limit = begun + timeout_ns < begun ? UINT64_MAX : begun + timeout_ns;
    for (int i = 0; i < 2; i++) {
        const uint64_t at = now();
        if (!x->parts[i])
            continue;
        const uint64_t left = limit == UINT64_MAX ? UINT64_MAX : limit > at ? limit - at : 0;
        const tsr_status status = link->of->wait(link->under, x->parts[i], left);
        if (status != TSR_OK)
            return status;
        x->parts[i] = NULL;
    }
    if (!x->ends)
        x->ends = reckon_end(link, x);
    if (x->ends > limit) {
        sleep_until(limit);
        return TSR_E_STATE;
    }
    if (x->ends > now())
        sleep_until(x->ends);
    drop(x);
    return TSR_OK;
}

/* Ends what began an exchange. */
static tsr_status begun(tsr_link *link, tsr_exchange *x, tsr_status status, tsr_exchange **done) {
    if (status != TSR_OK)
        return status;
    if (!done)
        return limited_wait(link, x, UINT64_MAX);
    *done = x;
    return TSR_OK;
}

static uint32_t turn(const tsr_link *link, uint32_t i) {
    return (link->rank + i) % link->size;
}

static tsr_status limited_barrier(tsr_link *link, tsr_exchange **done) {
    tsr_exchange *x;
    tsr_status status = create(link, &x);
    if (status != TSR_OK)
        return status;
    for (uint32_t i = 1; i < link->size; i++) {
        leave_to(link, x, turn(link, i), 0);
        expect(link, x, turn(link, i), 0);
    }
    status = begin_stamps(link, x);
    if (status == TSR_OK)
        status = link->of->barrier(link->under, &x->parts[1]);
    return begun(link, x, status, done);
}

static tsr_status limited_broadcast(tsr_link *link, uint32_t root, void *data, uint64_t bytes,
                                    tsr_exchange **done) {
    tsr_exchange *x;
    tsr_status status = create(link, &x);
    if (status != TSR_OK)
        return status;
    for (uint32_t i = 1; i < link->size && link->rank == root; i++)
        leave_to(link, x, turn(link, i), bytes);
    expect(link, x, root, bytes);
    status = begin_stamps(link, x);
    if (status == TSR_OK)
        status = link->of->broadcast(link->under, root, data, bytes, &x->parts[1]);
    return begun(link, x, status, done);
}

/* Messages of these sizes to a rank, and from it; there are none without bytes. */
static void both(tsr_link *link, tsr_exchange *x, uint32_t r, uint64_t out, uint64_t in) {
    if (out)
        leave_to(link, x, r, out);
    if (in)
        expect(link, x, r, in);
}

static tsr_status limited_all_to_all(tsr_link *link, const tsr_parts *out, const tsr_parts *in,
                                     tsr_exchange **done) {
    tsr_exchange *x;
    tsr_status status = create(link, &x);
    if (status != TSR_OK)
        return status;
    for (uint32_t i = 1; i < link->size; i++)
        both(link, x, turn(link, i), out->bytes[turn(link, i)], in->bytes[turn(link, i)]);
    status = begin_stamps(link, x);
    if (status == TSR_OK)
        status = link->of->all_to_all(link->under, out, in, &x->parts[1]);
    return begun(link, x, status, done);
}

static tsr_status limited_all_gather(tsr_link *link, const tsr_parts *parts, tsr_exchange **done) {
    tsr_exchange *x;
    tsr_status status = create(link, &x);
    if (status != TSR_OK)
        return status;
    for (uint32_t i = 1; i < link->size; i++)
        both(link, x, turn(link, i), parts->bytes[link->rank], parts->bytes[turn(link, i)]);
    status = begin_stamps(link, x);
    if (status == TSR_OK)
        status = link->of->all_gather(link->under, parts, &x->parts[1]);
    return begun(link, x, status, done);
}

static tsr_status limited_send(tsr_link *link, uint32_t to, const void *data, uint64_t bytes,
                               tsr_exchange **done) {
    tsr_exchange *x;
    tsr_status status = create(link, &x);
    if (status != TSR_OK)
        return status;
    leave_to(link, x, to, bytes);
    status = link->of->send(link->under, to, &x->stamps[0][to], sizeof(uint64_t), &x->parts[0]);
    if (status == TSR_OK)
        status = link->of->send(link->under, to, data, bytes, &x->parts[1]);
    return begun(link, x, status, done);
}

static tsr_status limited_receive(tsr_link *link, uint32_t from, void *data, uint64_t bytes,
                                  tsr_exchange **done) {
    tsr_exchange *x;
    tsr_status status = create(link, &x);
    if (status != TSR_OK)
        return status;
    expect(link, x, from, bytes);
    status =
        link->of->receive(link->under, from, &x->stamps[1][from], sizeof(uint64_t), &x->parts[0]);
    if (status == TSR_OK)
        status = link->of->receive(link->under, from, data, bytes, &x->parts[1]);
    return begun(link, x, status, done);
}

/* ---- opening and closing ---- */

/* A number of the environment; *right: it is one, and not negative. */
static double number(const char *variable, double otherwise, bool *right) {
    const char *text = getenv(variable);
    char *end;
    if (!text || !*text)
        return otherwise;
    const double value = strtod(text, &end);
    *right = *right && !*end && value >= 0 && value < 1e9;
    return value;
}

static tsr_status load(const tsr_transport_host *host, const tsr_transport **out) {
    const char *path = getenv("LIMITED_TRANSPORT");
    if (!path)
        return fail(host, TSR_E_ARGUMENT,
                    "LIMITED_TRANSPORT is not set; give the file of the transport to limit");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol = NULL;
    if (library)
        symbol = dlsym(library, "tsr_transport_get");
    tsr_transport_get_fn get = NULL;
    memcpy(&get, &symbol, sizeof get);
    *out = get ? get(TSR_TRANSPORT_ABI) : NULL;
    if (*out && (*out)->struct_size >= sizeof **out)
        return TSR_OK;
    char sentence[512];
    snprintf(sentence, sizeof sentence, "LIMITED_TRANSPORT: %.300s is not a transport of ABI %u.%u",
             path, TSR_TRANSPORT_ABI >> 16, TSR_TRANSPORT_ABI & 0xffff);
    return fail(host, TSR_E_ARGUMENT, sentence);
}

static tsr_status learn_ranks(tsr_link *link) {
    tsr_transport_facts facts = {.struct_size = sizeof facts};
    const tsr_status status = link->of->facts(link->under, &facts);
    if (status != TSR_OK)
        return status;
    link->rank = facts.rank;
    link->size = facts.size;
    for (uint32_t r = 1; r < facts.size; r++)
        if (strcmp(link->of->host_of(link->under, r), link->of->host_of(link->under, 0)) != 0)
            return fail(link->host, TSR_E_UNSUPPORTED,
                        "the ranks are on several hosts, whose clocks can't be compared; start "
                        "them on one");
    return TSR_OK;
}

static tsr_status limited_open(const tsr_transport_host *host, const tsr_transport_options *options,
                               tsr_link **out) {
    bool right = true;
    const double latency = number("LIMITED_LATENCY_US", 0, &right),
                 gbits = number("LIMITED_GBITS", 0, &right);
    if (!right)
        return fail(host, TSR_E_ARGUMENT,
                    "LIMITED_LATENCY_US and LIMITED_GBITS must be numbers from 0 on");
    tsr_link *link = calloc(1, sizeof *link);
    if (!link)
        return fail(host, TSR_E_HOST_MEMORY, "out of host memory");
    link->host = host;
    link->latency_ns = (uint64_t)(latency * 1000);
    link->ns_a_byte = gbits > 0 ? 8 / gbits : 0;
    tsr_status status = load(host, &link->of);
    if (status == TSR_OK)
        status = link->of->open(host, options, &link->under);
    if (status == TSR_OK && (status = learn_ranks(link)) != TSR_OK)
        link->of->close(link->under);
    if (status != TSR_OK)
        free(link);
    else
        *out = link;
    return status;
}

static void limited_close(tsr_link *link) {
    link->of->close(link->under);
    free(link);
}

static void limited_leave(tsr_link *link, tsr_status status, const char *sentence) {
    link->of->leave(link->under, status, sentence);
}

static tsr_status limited_facts(tsr_link *link, tsr_transport_facts *facts) {
    return link->of->facts(link->under, facts);
}

static const char *limited_host_of(tsr_link *link, uint32_t rank) {
    return link->of->host_of(link->under, rank);
}

__attribute__((visibility("default"))) const tsr_transport *tsr_transport_get(uint32_t abi) {
    static const tsr_transport table = {.struct_size = sizeof table,
                                        .abi = TSR_TRANSPORT_ABI,
                                        .name = "limited",
                                        .version = TESSERA_VERSION,
                                        .description = "another transport, made slower",
                                        .open = limited_open,
                                        .close = limited_close,
                                        .leave = limited_leave,
                                        .facts = limited_facts,
                                        .host_of = limited_host_of,
                                        .barrier = limited_barrier,
                                        .broadcast = limited_broadcast,
                                        .all_to_all = limited_all_to_all,
                                        .all_gather = limited_all_gather,
                                        .send = limited_send,
                                        .receive = limited_receive,
                                        .wait = limited_wait};
    return abi >> 16 == TSR_TRANSPORT_ABI >> 16 ? &table : NULL;
}
