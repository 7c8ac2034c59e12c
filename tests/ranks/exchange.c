/* exchange MODE [TRANSPORT [DEADLINE]] - one rank of a work, started by mpirun.
 * tests/cli/faults/ranks.py says what is expected. DEADLINE: in seconds; 0: the default of
 * tsr_ranks_open.
 *
 *   all         makes each exchange, and compares what arrived
 *   begun       begins each exchange by the transport's own functions, and waits for it twice: for a
 *               short time, before rank 0 has come to it, and then until it has ended
 *   stop, kill  rank 1 stops itself or dies by a signal; the others wait in a barrier
 *   leave       rank 1 ends with a sentence of its own; the others wait for a message from it
 *   device      the same, and says that it ends because of its device
 *   slow        rank 1 computes for longer than the deadline before it comes to the barrier
 *   suspended   all ranks are stopped for longer than the deadline, and then go on
 *
 * Prints a line and ends with 0; with 5 where an exchange fails, after the line of its failure. */
#include "transport/load.h"
#include "transport/ranks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 16, DEADLINE = 2, LARGE = 3000000 };

static tsr_ranks *ranks;
static uint32_t own; /* number of this rank */

static void must(tsr_status status) {
    if (status == TSR_OK)
        return;
    fprintf(stderr, "failed: %s: %s\n", tsr_status_name(status), tsr_error_last());
    exit(5);
}

static void same(const char *what, int right) {
    if (right)
        return;
    fprintf(stderr, "failed: %s of rank %u\n", what, own);
    exit(1);
}

/* What rank `from` gives rank `to`: as many bytes as the two ranks say, none of some. */
static uint64_t size_of(uint32_t from, uint32_t to) {
    return from == 2 ? 0 : from == 1 && to == 0 ? LARGE : 5 * from + 3 * to + 1;
}

static unsigned char byte_of(uint32_t from, uint32_t to, uint64_t i) {
    return (unsigned char)(from * 31 + to * 7 + i);
}

static void test_all_to_all(uint32_t rank, uint32_t n) {
    void *out[MOST], *in[MOST];
    uint64_t sent[MOST], got[MOST];
    for (uint32_t r = 0; r < n; r++) {
        sent[r] = size_of(rank, r);
        got[r] = size_of(r, rank);
        unsigned char *bytes = out[r] = malloc(sent[r] + 1);
        in[r] = calloc(1, got[r] + 1);
        for (uint64_t i = 0; i < sent[r]; i++)
            bytes[i] = byte_of(rank, r, i);
    }
    must(tsri_ranks_all_to_all(
        ranks, &(tsr_parts){.struct_size = sizeof(tsr_parts), .data = out, .bytes = sent},
        &(tsr_parts){.struct_size = sizeof(tsr_parts), .data = in, .bytes = got}));
    for (uint32_t r = 0; r < n; r++) {
        for (uint64_t i = 0; i < got[r]; i++)
            same("all-to-all", ((unsigned char *)in[r])[i] == byte_of(r, rank, i));
        free(out[r]);
        free(in[r]);
    }
}

static void test_all_gather(uint32_t rank, uint32_t n) {
    void *parts[MOST];
    uint64_t bytes[MOST];
    unsigned char room[MOST][64] = {{0}};
    for (uint32_t r = 0; r < n; r++) {
        parts[r] = room[r];
        bytes[r] = size_of(r, 1) < 64 ? size_of(r, 1) : 64;
    }
    for (uint64_t i = 0; i < bytes[rank]; i++)
        room[rank][i] = byte_of(rank, 0, i);
    must(tsri_ranks_all_gather(
        ranks, &(tsr_parts){.struct_size = sizeof(tsr_parts), .data = parts, .bytes = bytes}));
    for (uint32_t r = 0; r < n; r++)
        for (uint64_t i = 0; i < bytes[r]; i++)
            same("all-gather", room[r][i] == byte_of(r, 0, i));
}

static void test_all(uint32_t rank, uint32_t n) {
    char text[32] = "";
    uint32_t numbers[MOST], own = rank * rank;
    must(tsri_ranks_barrier(ranks));
    for (int again = 0; again < 3; again++) {
        test_all_to_all(rank, n);
        test_all_gather(rank, n);
    }
    must(tsri_ranks_gather_equal(ranks, &own, numbers, sizeof own));
    for (uint32_t r = 0; r < n; r++)
        same("gather", numbers[r] == r * r);
    if (rank == n - 1)
        strcpy(text, "from the last");
    must(tsri_ranks_broadcast(ranks, n - 1, text, sizeof text));
    same("broadcast", !strcmp(text, "from the last"));
    for (int i = 0; i < 4 && n > 1; i++) { /* messages arrive in order */
        int number = rank ? 0 : i;
        if (rank == 0)
            must(tsri_ranks_send(ranks, n - 1, &number, sizeof number, NULL));
        if (rank == n - 1)
            must(tsri_ranks_receive(ranks, 0, &number, sizeof number, NULL));
        same("message", (rank && rank < n - 1) || number == i);
    }
}

/* ---- exchanges that are begun ---- */

enum { BARRIER, BROADCAST, ALL_TO_ALL, ALL_GATHER, MESSAGE, KINDS };
enum { PART = 100000, SHORT_NS = 20000000 }; /* a part is sent only once its receiver is ready */
static unsigned char sent[MOST][PART], got[MOST][PART];

static void report(void *data, tsr_status status, const char *sentence) {
    (void)data;
    fprintf(stderr, "failed: %s: %s\n", tsr_status_name(status), sentence);
}

static void fill(unsigned char *part, uint32_t from, uint32_t to) {
    for (uint64_t i = 0; i < PART; i++)
        part[i] = byte_of(from, to, i);
}

static int is_filled(const unsigned char *part, uint32_t from, uint32_t to) {
    uint64_t i = 0;
    while (i < PART && part[i] == byte_of(from, to, i))
        i++;
    return i == PART;
}

/* Begins an exchange; returns how many handles it has. */
static uint32_t begin(const tsr_transport *t, tsr_link *link, int kind, uint32_t n,
                      tsr_exchange **x) {
    void *out[MOST], *in[MOST];
    uint64_t bytes[MOST];
    uint32_t begun = 1;
    memset(got, 0, sizeof got);
    for (uint32_t r = 0; r < n; r++) {
        fill(sent[r], own, r);
        out[r] = sent[r];
        in[r] = got[r];
        bytes[r] = PART;
    }
    const tsr_parts from = {.struct_size = sizeof from, .data = out, .bytes = bytes},
                    to = {.struct_size = sizeof to, .data = in, .bytes = bytes};
    if (kind == ALL_GATHER || (kind == BROADCAST && own == 0))
        fill(got[own], own, 0);
    if (kind == BARRIER)
        must(t->barrier(link, x));
    else if (kind == BROADCAST)
        must(t->broadcast(link, 0, got[0], PART, x));
    else if (kind == ALL_TO_ALL)
        must(t->all_to_all(link, &from, &to, x));
    else if (kind == ALL_GATHER)
        must(t->all_gather(link, &to, x));
    else if (own)
        must(t->receive(link, 0, got[0], PART, x));
    else
        for (begun = 0; begun + 1 < n; begun++)
            must(t->send(link, begun + 1, sent[begun + 1], PART, &x[begun]));
    return begun;
}

/* Whether what the exchange brings is there. */
static int arrived(int kind, uint32_t n) {
    int right = 1;
    if (kind == BROADCAST || (kind == MESSAGE && own))
        right = is_filled(got[0], 0, kind == MESSAGE ? own : 0);
    for (uint32_t r = 0; r < n && (kind == ALL_TO_ALL || kind == ALL_GATHER); r++)
        right = right && is_filled(got[r], r, kind == ALL_TO_ALL ? own : 0);
    return right;
}

/* Rank 0 comes to each exchange only when the others have said that they waited for it in vain. */
static int test_begun(const char *name) {
    const tsr_transport_host host = {
        .struct_size = sizeof host, .abi = TSR_TRANSPORT_ABI, .report = report};
    const tsr_transport_options options = {.struct_size = sizeof options,
                                           .deadline_ms = DEADLINE * 1000};
    tsr_transport_facts facts = {.struct_size = sizeof facts};
    const tsr_transport *t;
    tsr_link *link;
    char word = 0;
    must(tsri_transport_load(name, &t));
    must(t->open(&host, &options, &link));
    must(t->facts(link, &facts));
    own = facts.rank;
    same("size", facts.size > 1 && facts.size <= MOST);
    for (int kind = 0; kind < KINDS; kind++) {
        tsr_exchange *x[MOST] = {NULL};
        for (uint32_t r = 1; r < facts.size && own == 0; r++)
            must(t->receive(link, r, &word, 1, NULL));
        const uint32_t begun = begin(t, link, kind, facts.size, x);
        if (own) {
            same("a short wait", t->wait(link, x[0], SHORT_NS) == TSR_E_STATE);
            must(t->send(link, 0, &word, 1, NULL));
        }
        for (uint32_t i = 0; i < begun; i++)
            must(t->wait(link, x[i], UINT64_MAX));
        same("an exchange that was begun", arrived(kind, facts.size));
    }
    t->close(link);
    printf("rank %u of %u by %s: all right\n", own, facts.size, t->name);
    return 0;
}

static void compute(int seconds) {
    const time_t until = time(NULL) + seconds;
    volatile unsigned count = 0;
    while (time(NULL) < until)
        count++;
}

/* Stops this process, as a job scheduler suspends a run; a child lets it go on. */
static void suspend(unsigned seconds) {
    const pid_t self = getpid(), child = fork();
    same("fork", child >= 0);
    if (child == 0) {
        sleep(seconds);
        kill(self, SIGCONT);
        _exit(0);
    }
    raise(SIGSTOP);
    waitpid(child, NULL, 0);
}

/* Each time, signs of life that came just before may be found at first. */
static void test_suspended(void) {
    for (int again = 0; again < 3; again++) {
        must(tsri_ranks_barrier(ranks));
        suspend(DEADLINE + 1);
    }
    must(tsri_ranks_barrier(ranks));
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "all";
    const long deadline = argc > 3 ? strtol(argv[3], NULL, 10) : DEADLINE;
    if (!strcmp(mode, "begun"))
        return test_begun(argc > 2 ? argv[2] : "mpi");
    must(tsr_ranks_open(&(tsr_ranks_options){.struct_size = sizeof(tsr_ranks_options),
                                             .deadline_seconds = (uint32_t)deadline,
                                             .transport = argc > 2 ? argv[2] : NULL},
                        &ranks));
    tsr_ranks_info info = {.struct_size = sizeof info};
    must(tsr_ranks_info_get(ranks, &info));
    own = info.rank;
    same("size", info.size <= MOST);
    const int leaves = !strcmp(mode, "leave"), of_device = !strcmp(mode, "device");
    if (!strcmp(mode, "all"))
        test_all(info.rank, info.size);
    else if (!strcmp(mode, "suspended"))
        test_suspended();
    else if (info.rank != 1)
        must(leaves || of_device ? tsri_ranks_receive(ranks, 1, &mode, 1, NULL)
                                 : tsri_ranks_barrier(ranks));
    else if (!strcmp(mode, "slow")) {
        compute(DEADLINE + 1);
        must(tsri_ranks_barrier(ranks));
    } else if (leaves || of_device) {
        tsr_ranks_leave(ranks, leaves ? TSR_E_IO : TSR_E_BUILD,
                        leaves ? "the disk is full" : "a kernel does not build");
        (void)tsr_ranks_close(&ranks);
        return 5;
    } else
        raise(!strcmp(mode, "stop") ? SIGSTOP : SIGKILL);
    must(tsr_ranks_close(&ranks));
    printf("rank %u of %u by %s: all right\n", info.rank, info.size, info.transport);
    return 0;
}
