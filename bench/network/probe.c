/* probe PLUGIN [MIB] - one rank of a measurement of a transport, by the calls of tessera/transport.h;
 * started by mpirun. Rank 0 prints a line of JSON:
 *
 *   ranks
 *   latency_us   half of the time in which 8 bytes go to another rank and come back
 *   gather_us    an all-gather of 8 bytes of each rank: what a step makes three of
 *   message_us   what each further message adds that a rank sends at the same time
 *   gbits        what a rank sends while it receives as much: an all-to-all of MIB (default: 8) bytes
 *                of each rank, without the latency
 *   copy_gbytes  bytes that a rank copies in a second, while the other ranks do the same
 *   add_gbytes   bytes of floats that a rank adds to others in a second, likewise
 *
 * Each figure is the median of several runs. */
#include "tessera/transport.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 9, EXCHANGES = 10, BURST = 64, MOST_RANKS = 1024 };

static const tsr_transport *transport;
static tsr_link *ranks;
static uint32_t own, size;
static char *out, *in; /* `room` bytes each */
static uint64_t room;

static void report(void *data, tsr_status status, const char *sentence) {
    (void)data;
    fprintf(stderr, "probe: %d: %s\n", (int)status, sentence);
}

static void must(tsr_status status) {
    if (status != TSR_OK)
        exit(5);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median time of one of the EXCHANGES that each round makes. */
static double measure(void (*exchange)(void)) {
    double times[ROUNDS];
    exchange(); /* pages and buffers */
    for (int i = 0; i < ROUNDS; i++) {
        must(transport->barrier(ranks, NULL));
        const double begun = seconds();
        for (int k = 0; k < EXCHANGES; k++)
            exchange();
        times[i] = (seconds() - begun) / EXCHANGES;
    }
    qsort(times, ROUNDS, sizeof *times, by_size);
    return times[ROUNDS / 2];
}

/* There and back between the ranks 0 and 1. */
static void ping(void) {
    uint64_t word = 0;
    if (own == 0) {
        must(transport->send(ranks, 1, &word, sizeof word, NULL));
        must(transport->receive(ranks, 1, &word, sizeof word, NULL));
    } else if (own == 1) {
        must(transport->receive(ranks, 0, &word, sizeof word, NULL));
        must(transport->send(ranks, 0, &word, sizeof word, NULL));
    }
}

/* BURST messages from rank 0 to rank 1, and one back when all have come. */
static void burst(void) {
    static uint64_t words[BURST];
    tsr_exchange *begun[BURST];
    for (int i = 0; i < BURST && own < 2; i++)
        must(own ? transport->receive(ranks, 0, &words[i], sizeof *words, &begun[i])
                 : transport->send(ranks, 1, &words[i], sizeof *words, &begun[i]));
    for (int i = 0; i < BURST && own < 2; i++)
        must(transport->wait(ranks, begun[i], UINT64_MAX));
    if (own < 2)
        must(own ? transport->send(ranks, 0, words, sizeof *words, NULL)
                 : transport->receive(ranks, 1, words, sizeof *words, NULL));
}

static void gather(void) {
    void *data[MOST_RANKS];
    uint64_t bytes[MOST_RANKS];
    for (uint32_t r = 0; r < size; r++) {
        data[r] = in + sizeof(uint64_t) * r;
        bytes[r] = sizeof(uint64_t);
    }
    const tsr_parts parts = {.struct_size = sizeof parts, .data = data, .bytes = bytes};
    must(transport->all_gather(ranks, &parts, NULL));
}

/* Equal parts of `room` to each other rank. */
static void all_to_all(void) {
    void *data[2][MOST_RANKS];
    uint64_t bytes[MOST_RANKS];
    for (uint32_t r = 0; r < size; r++) {
        data[0][r] = out + room / size * r;
        data[1][r] = in + room / size * r;
        bytes[r] = r == own ? 0 : room / size;
    }
    const tsr_parts to = {.struct_size = sizeof to, .data = data[0], .bytes = bytes},
                    from = {.struct_size = sizeof from, .data = data[1], .bytes = bytes};
    must(transport->all_to_all(ranks, &to, &from, NULL));
}

static void copy(void) {
    memcpy(in, out, room);
}

static void add(void) {
    float *sum = (float *)(void *)in;
    const float *other = (const float *)(const void *)out;
    for (uint64_t i = 0; i < room / sizeof *sum; i++)
        sum[i] += other[i];
}

static void open_transport(const char *path) {
    static const tsr_transport_host host = {
        .struct_size = sizeof host, .abi = TSR_TRANSPORT_ABI, .report = report};
    const tsr_transport_options options = {.struct_size = sizeof options, .deadline_ms = 30000};
    tsr_transport_facts facts = {.struct_size = sizeof facts};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "tsr_transport_get") : NULL;
    tsr_transport_get_fn get = NULL;
    memcpy(&get, &symbol, sizeof get);
    transport = get ? get(TSR_TRANSPORT_ABI) : NULL;
    if (!transport) {
        fprintf(stderr, "probe: %s is not a transport: %s\n", path, library ? "ABI" : dlerror());
        exit(2);
    }
    must(transport->open(&host, &options, &ranks));
    must(transport->facts(ranks, &facts));
    own = facts.rank;
    size = facts.size;
}

int main(int argc, char **argv) {
    const long mib = argc > 2 ? strtol(argv[2], NULL, 10) : 8;
    if (argc < 2 || mib < 1 || mib > 4096) {
        fprintf(stderr, "usage: mpirun -n N probe PLUGIN [MIB, 1 to 4096]\n");
        return 2;
    }
    open_transport(argv[1]);
    if (size < 2 || size > MOST_RANKS) {
        fprintf(stderr, "probe: %u ranks; start 2 to %d\n", size, MOST_RANKS);
        return 2;
    }
    room = (uint64_t)mib << 20;
    out = calloc(1, room);
    in = calloc(1, room);
    if (!out || !in) {
        fprintf(stderr, "probe: out of memory\n");
        return 5;
    }
    const double latency = measure(ping) / 2, messages = measure(burst), small = measure(gather),
                 large = measure(all_to_all), copied = measure(copy), added = measure(add);
    const double each = (messages - 2 * latency) / (BURST - 1),
                 sent = (double)(room / size * (size - 1)), sending = large - latency;
    if (own == 0)
        printf("{\"ranks\": %u, \"latency_us\": %.2f, \"gather_us\": %.2f, \"message_us\": %.3f, "
               "\"gbits\": %.3f, \"copy_gbytes\": %.2f, \"add_gbytes\": %.2f}\n",
               size, latency * 1e6, small * 1e6, each > 0 ? each * 1e6 : 0,
               sending > 0 ? 8e-9 * sent / sending : 0, (double)room * 1e-9 / copied,
               (double)room * 1e-9 / added);
    transport->close(ranks);
    return 0;
}
