/* transport/share.c - implements blocks of work that ranks share, of tessera/ranks.h.
 *
 * Rank 0 makes the blocks, works on some itself, and serves the others whenever it is called: no
 * thread of its own is needed, because work on a device calls back often (tsr_share_poll). Another
 * rank always has two blocks, one that it works on and one that waits, so that it does not wait for
 * rank 0 to be called:
 *
 *     rank r -> 0   ask: {number of a block that is done, size of its result, items wanted}, result
 *     rank 0 -> r   order: {number of a block, its size}, block; NONE: there are no more
 *
 * A rank asks twice at the beginning, and once with each result. Each ask gets one order, so a rank
 * that was told NONE twice is done.
 *
 * Ranks that work together on each block get the order and the block by a broadcast. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "transport/ranks.h"

#include <stdlib.h>

enum { AHEAD = 2 };                /* blocks of a rank */
enum { MOST_WAITING = 256 << 20 }; /* bytes of results that wait for an earlier one */
#define NONE UINT64_MAX            /* no block */
#define PAUSE_NS UINT64_C(1000000) /* rank 0 waits so long for one rank, then asks the next */

typedef struct ask {
    uint64_t number, size, most;
} ask;

typedef struct order {
    uint64_t number, size;
} order;

/* What was sent, kept until it has arrived. */
typedef struct sent {
    order order;
    tsri_bytes bytes;
    tsr_exchange *exchanges[2];
} sent;

/* What rank 0 knows of another rank. */
typedef struct worker {
    ask ask;
    tsr_exchange *exchange; /* which receives the ask; NULL: none is expected */
    sent sent[AHEAD];
    uint64_t n_sent;
    uint64_t expected;    /* asks that it has yet to send */
    uint32_t told;        /* how often it was told that there are no more */
    uint64_t owed[AHEAD]; /* items wanted by asks that have no answer yet */
    uint32_t n_owed;
} worker;

typedef struct result {
    tsri_bytes bytes;
    uint64_t number;
} result;

struct tsr_share {
    tsr_ranks *ranks;
    tsr_share_options options;
    uint32_t rank, size;
    uint64_t own; /* the block that this rank works on, or NONE */
    bool failed;  /* a call has failed: exchanges may still use this memory */
    bool over;    /* there are no more blocks */
    bool ended;   /* all ranks know that everything was taken */
    tsr_share *next_abandoned;
    /* of rank 0 */
    worker *workers;      /* [size]; 0 is unused */
    uint64_t made, taken; /* blocks */
    result *waiting;      /* results whose turn has not come */
    size_t n_waiting, waiting_room;
    uint64_t waiting_bytes;
    /* of the others */
    ask ask;
    tsr_exchange *exchanges[2]; /* which send the last ask and its result */
    tsri_bytes result, block;
    uint32_t asked; /* asks without an order */
};

/* Makes room for n bytes that are to be received. */
static tsr_status resize(tsri_bytes *bytes, size_t n) {
    TRY(tsri_base_grow(&bytes->data, &bytes->capacity, n + 1, 1));
    bytes->size = n;
    bytes->data[n] = 0;
    return TSR_OK;
}

static tsr_status replace(tsri_bytes *bytes, const void *data, size_t n) {
    bytes->size = 0;
    return tsri_base_bytes_append(bytes, data, n);
}

static tsr_status cancelled(void) {
    return tsri_base_fail(TSR_E_CANCELLED, "the work of the ranks was cancelled");
}

/* ---- rank 0: results ---- */

static tsr_status take(tsr_share *s, const void *bytes, size_t n) {
    if (s->options.take(s->options.data, bytes, n))
        return cancelled();
    s->taken++;
    return TSR_OK;
}

static result *find(tsr_share *s, uint64_t number) {
    for (size_t i = 0; i < s->n_waiting; i++)
        if (s->waiting[i].number == number)
            return &s->waiting[i];
    return NULL;
}

/* Takes all results whose turn has come. */
static tsr_status take_ready(tsr_share *s) {
    result *r;
    while ((r = find(s, s->taken)) != NULL) {
        result ready = *r;
        *r = s->waiting[--s->n_waiting];
        s->waiting_bytes -= ready.bytes.size;
        const tsr_status status = take(s, ready.bytes.data, ready.bytes.size);
        tsri_base_bytes_clear(&ready.bytes);
        TRY(status);
    }
    return TSR_OK;
}

/* Keeps a result; its memory becomes the share's. */
static tsr_status keep(tsr_share *s, uint64_t number, tsri_bytes *bytes) {
    TRY(tsri_base_grow(&s->waiting, &s->waiting_room, s->n_waiting + 1, sizeof *s->waiting));
    s->waiting[s->n_waiting++] = (result){.bytes = *bytes, .number = number};
    s->waiting_bytes += bytes->size;
    *bytes = (tsri_bytes){0};
    return take_ready(s);
}

/* ---- rank 0: serving ---- */

static tsr_status wait_all(tsr_share *s, tsr_exchange **exchanges, size_t n) {
    for (size_t i = 0; i < n; i++) {
        tsr_exchange *x = exchanges[i];
        exchanges[i] = NULL;
        if (x)
            TRY(tsri_ranks_wait(s->ranks, x, UINT64_MAX));
    }
    return TSR_OK;
}

/* Makes the next block. *got is as the function returns it; no block is made after the last. */
static tsr_status make(tsr_share *s, bool wait, uint64_t most, const void **block, size_t *n,
                       int *got) {
    *n = 0;
    *got = s->over ? 0 : s->options.make(s->options.data, wait, most, block, n);
    if (*got > 1 || *got < (wait ? 0 : -1))
        return cancelled();
    s->over |= *got == 0;
    *n = *got == 1 ? *n : 0;
    return TSR_OK;
}

/* Answers a rank's first ask that has no answer yet; *got is -1 where there is none to give yet. */
static tsr_status answer(tsr_share *s, uint32_t rank, int *got) {
    worker *w = &s->workers[rank];
    sent *out = &w->sent[w->n_sent % AHEAD];
    const void *block = NULL;
    size_t n;
    TRY(make(s, false, w->owed[0], &block, &n, got));
    if (*got < 0)
        return TSR_OK;
    w->n_sent++;
    w->owed[0] = w->owed[--w->n_owed];
    TRY(wait_all(s, out->exchanges, 2)); /* of the last but one, which has arrived */
    out->order = (order){.number = *got ? s->made++ : NONE, .size = n};
    w->expected += *got == 1;
    w->told += *got == 0;
    TRY(replace(&out->bytes, block, n));
    TRY(tsri_ranks_send(s->ranks, rank, &out->order, sizeof out->order, &out->exchanges[0]));
    return n ? tsri_ranks_send(s->ranks, rank, out->bytes.data, n, &out->exchanges[1]) : TSR_OK;
}

static tsr_status hear(tsr_share *s, uint32_t rank) {
    worker *w = &s->workers[rank];
    tsri_bytes bytes = {0};
    tsr_status status = TSR_OK;
    if (w->ask.number != NONE) {
        status = resize(&bytes, w->ask.size);
        if (status == TSR_OK && w->ask.size)
            status = tsri_ranks_receive(s->ranks, rank, bytes.data, w->ask.size, NULL);
        if (status == TSR_OK)
            status = keep(s, w->ask.number, &bytes);
        tsri_base_bytes_clear(&bytes);
    }
    w->owed[w->n_owed++] = w->ask.most;
    w->expected--;
    return status;
}

static bool full(const tsr_share *s) {
    return s->waiting_bytes > MOST_WAITING;
}

/* Serves a rank whose ask arrives within the time. */
static tsr_status serve(tsr_share *s, uint32_t rank, uint64_t wait_ns) {
    worker *w = &s->workers[rank];
    int got = 1;
    if (w->exchange) {
        const tsr_status status = tsri_ranks_wait(s->ranks, w->exchange, wait_ns);
        if (status != TSR_E_STATE) {
            w->exchange = NULL;
            TRY(status);
            TRY(hear(s, rank));
        }
    }
    while (w->n_owed && got >= 0 && (s->over || !full(s)))
        TRY(answer(s, rank, &got));
    if (w->exchange || !w->expected)
        return TSR_OK;
    return tsri_ranks_receive(s->ranks, rank, &w->ask, sizeof w->ask, &w->exchange);
}

/* *done: the others need nothing any more. */
static tsr_status serve_all(tsr_share *s, uint64_t wait_ns, bool *done) {
    *done = true;
    for (uint32_t r = 1; r < s->size; r++) {
        if (s->workers[r].told < AHEAD)
            TRY(serve(s, r, wait_ns));
        *done &= s->workers[r].told == AHEAD;
    }
    return TSR_OK;
}

/* Serves the others while this rank has nothing else to do. */
static tsr_status attend(tsr_share *s, bool *done) {
    if (s->options.stop && s->options.stop(s->options.data))
        return cancelled();
    return serve_all(s, PAUSE_NS, done);
}

static tsr_status next_of_first(tsr_share *s, uint64_t most, const void **block, size_t *n) {
    bool done;
    int got = -1;
    TRY(serve_all(s, 0, &done));
    while (got < 0) { /* while others work, their results are taken when they come */
        const bool idle = s->made == s->taken;
        if (!full(s))
            TRY(make(s, idle, most, block, n, &got));
        if (got < 0)
            TRY(attend(s, &done));
    }
    s->own = got ? s->made++ : NONE;
    done = got == 1;
    while (!done) /* the others end what they have */
        TRY(attend(s, &done));
    return TSR_OK;
}

static tsr_status give_of_first(tsr_share *s, const void *bytes, size_t n) {
    bool done;
    if (s->own == s->taken) {
        TRY(take(s, bytes, n));
        TRY(take_ready(s));
    } else {
        tsri_bytes copy = {0};
        TRY(replace(&copy, bytes, n));
        const tsr_status status = keep(s, s->own, &copy);
        tsri_base_bytes_clear(&copy);
        TRY(status);
    }
    return serve_all(s, 0, &done);
}

/* ---- the other ranks ---- */

static tsr_status send_ask(tsr_share *s, uint64_t number, const void *bytes, size_t n) {
    TRY(wait_all(s, s->exchanges, 2));
    s->ask.number = number;
    s->ask.size = n;
    TRY(replace(&s->result, bytes, n));
    TRY(tsri_ranks_send(s->ranks, 0, &s->ask, sizeof s->ask, &s->exchanges[0]));
    if (n)
        TRY(tsri_ranks_send(s->ranks, 0, s->result.data, n, &s->exchanges[1]));
    s->asked++;
    return TSR_OK;
}

static tsr_status next_of_other(tsr_share *s, uint64_t most, const void **block, size_t *n) {
    order order = {.number = NONE};
    if (!s->asked && !s->over)
        for (int i = 0; i < AHEAD; i++) {
            s->ask.most = most;
            TRY(send_ask(s, NONE, NULL, 0));
        }
    s->ask.most = most;
    s->own = NONE;
    *n = 0;
    while (s->asked && order.number == NONE) {
        TRY(tsri_ranks_receive(s->ranks, 0, &order, sizeof order, NULL));
        s->asked--;
        s->over |= order.number == NONE;
    }
    if (order.number == NONE)
        return wait_all(s, s->exchanges, 2);
    TRY(resize(&s->block, order.size));
    TRY(tsri_ranks_receive(s->ranks, 0, s->block.data, order.size, NULL));
    s->own = order.number;
    *block = s->block.data;
    *n = order.size;
    return TSR_OK;
}

/* ---- ranks that work together ---- */

static tsr_status next_together(tsr_share *s, uint64_t most, const void **block, size_t *n) {
    order order = {.number = NONE};
    if (s->rank == 0) {
        int got = 0;
        TRY(make(s, true, most, block, n, &got));
        order = (struct order){.number = got ? s->made++ : NONE, .size = *n};
        TRY(replace(&s->block, *block, *n));
    }
    TRY(tsri_ranks_broadcast(s->ranks, 0, &order, sizeof order));
    s->own = order.number;
    *n = order.size;
    if (order.number == NONE)
        return TSR_OK;
    TRY(resize(&s->block, order.size));
    *block = s->block.data;
    return tsri_ranks_broadcast(s->ranks, 0, s->block.data, order.size);
}

static tsr_status give_together(tsr_share *s, const void *result, size_t n) {
    return s->rank ? TSR_OK : take(s, result, n);
}

/* ---- all ranks ---- */

tsr_status tsr_share_begin(tsr_ranks *ranks, const tsr_share_options *options, tsr_share **out) {
    tsr_share *s = NULL;
    TRY(NEED(out));
    TRY(NEED(options));
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *s, &s));
    s->ranks = ranks;
    s->rank = tsri_ranks_rank(ranks);
    s->size = tsri_ranks_size(ranks);
    s->own = NONE;
    tsr_status status =
        tsri_base_adopt("tsr_share_options", options, &s->options, sizeof s->options);
    if (status == TSR_OK)
        status = s->rank || (s->options.make && s->options.take)
                     ? TSR_OK
                     : tsri_base_fail(TSR_E_ARGUMENT,
                                      "tsr_share_options: rank 0 must give make and take");
    if (status == TSR_OK && s->rank == 0)
        status = tsri_base_new(s->size, sizeof *s->workers, &s->workers);
    for (uint32_t r = 1; s->workers && r < s->size; r++)
        s->workers[r].expected = AHEAD;
    if (status != TSR_OK)
        tsr_share_end(&s);
    *out = s;
    return status;
}

/* After a failure an exchange may still be under way, so the memory stays. */
static tsr_status check(tsr_share *s, tsr_status status) {
    s->failed |= status != TSR_OK;
    return status;
}

/* A rank that has no more to do still waits for the others: where one of them is gone, the work is
 * not done. */
static tsr_status end_together(tsr_share *s) {
    if (s->ended)
        return TSR_OK;
    TRY(tsri_ranks_barrier(s->ranks));
    s->ended = true;
    return TSR_OK;
}

tsr_status tsr_share_next(tsr_share *s, uint64_t most, const void **block, size_t *n) {
    TRY(NEED(s));
    TRY(NEED(block));
    TRY(NEED(n));
    *block = NULL;
    tsr_status status = (s->options.together ? next_together
                         : s->rank           ? next_of_other
                                             : next_of_first)(s, most, block, n);
    if (status == TSR_OK && *n == 0)
        status = end_together(s);
    return check(s, status);
}

tsr_status tsr_share_give(tsr_share *s, const void *result, size_t n) {
    TRY(NEED(s));
    TRY(NEED_ARRAY(result, n));
    if (s->own == NONE)
        return tsri_base_fail(TSR_E_STATE, "tsr_share_give: there is no block to give a result of");
    const tsr_status status = s->options.together ? give_together(s, result, n)
                              : s->rank           ? send_ask(s, s->own, result, n)
                                                  : give_of_first(s, result, n);
    s->own = NONE;
    return check(s, status);
}

tsr_status tsr_share_poll(tsr_share *s) {
    bool done;
    return !s || s->rank || s->options.together ? TSR_OK : check(s, serve_all(s, 0, &done));
}

static tsr_share *abandoned; /* those that ended in the middle of an exchange: kept until exit */

void tsr_share_end(tsr_share **share) {
    tsr_share *s = *share;
    *share = NULL;
    if (!s)
        return;
    if (s->failed || (s->size > 1 && !s->ended)) {
        s->next_abandoned = abandoned;
        abandoned = s;
        return;
    }
    for (uint32_t r = 0; s->workers && r < s->size; r++)
        for (int i = 0; i < AHEAD; i++)
            tsri_base_bytes_clear(&s->workers[r].sent[i].bytes);
    for (size_t i = 0; i < s->n_waiting; i++)
        tsri_base_bytes_clear(&s->waiting[i].bytes);
    tsri_base_bytes_clear(&s->result);
    tsri_base_bytes_clear(&s->block);
    free(s->waiting);
    free(s->workers);
    free(s);
}
