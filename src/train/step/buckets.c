/* train/step/buckets.c - sends gradients to the ranks that own them, bucket by bucket.
 *
 * While the device computes what lies between two buckets, the gradients of the one before go to the host
 * and out to the other ranks. All ranks begin the exchanges in the order of the buckets. That is for the last
 * of a rank's nodes (deal.h). Nodes before it go to the host when they are whole, and their exchanges begin
 * before the last node's last batch runs.
 */
#include "base/error.h"
#include "train/step/division.h"
#include "transport/ranks.h"

#include <string.h>

/* How long a wait for the device lasts before the exchanges under way get a turn: MPI moves long messages
 * only while it is called. */
enum { TURN_NS = 1000000 };

static const int64_t ones[TSR_SYMBOLS] = {1, 1, 1, 1, 1};

/* Adds up what waits of a bucket of a node, and begins to read the sums to `out`, where every parameter has
 * its place. */
static tsr_status start_reads(tsri_training *t, size_t b, uint32_t level, float *out) {
    tsri_training_division *d = t->division;
    const tsri_training_bucket *bucket = &d->buckets[b];
    tsri_run_reads none;
    if (level)
        TRY(tsri_run_start(t->last[level][b].plan, ones, NULL, 0, NULL, 0, &none));
    for (size_t i = bucket->first; i < bucket->end; i++) {
        const tsri_training_parameter *p = &t->parameters[d->order[i]];
        TRY(tsri_run_start_state_read(
            t->run, tsri_training_parameter_state(p->number, TSRI_PART_GRADIENT), out + p->at,
            (uint64_t)p->elements * sizeof *out, &d->moves[i]));
    }
    return TSR_OK;
}

/* Of the next bucket of the last node. */
static tsr_status start_next(tsri_training *t) {
    tsri_training_division *d = t->division;
    const size_t b = d->read++;
    return start_reads(t, b, tsri_training_own_node(t, tsri_training_own_nodes(t) - 1)->level,
                       d->all);
}

static tsr_status turn_one(const tsri_training_division *d, tsr_exchange **exchange) {
    const tsr_status status = *exchange ? tsri_ranks_wait(d->ranks, *exchange, 0) : TSR_E_STATE;
    if (status == TSR_E_STATE)
        return TSR_OK;
    *exchange = NULL;
    return status;
}

/* Gives the exchanges under way a turn. */
static tsr_status turn(const tsri_training_division *d) {
    for (size_t i = 0; d->early_begun && i < d->rounds * d->n_buckets; i++)
        TRY(turn_one(d, &d->early_exchanges[i]));
    for (size_t b = 0; b < d->begun; b++)
        TRY(turn_one(d, &d->buckets[b].exchange));
    return TSR_OK;
}

static tsr_status wait_read(const tsri_training_division *d, tsri_run_state_move *read) {
    tsr_status status;
    while ((status = tsri_run_wait_state_move(
                read, tsri_training_exchanging(d) ? TURN_NS : UINT64_MAX)) == TSR_E_STATE)
        TRY(turn(d));
    return status;
}

static tsr_status wait_bucket(const tsri_training_division *d, size_t b) {
    for (size_t i = d->buckets[b].first; i < d->buckets[b].end; i++)
        TRY(wait_read(d, &d->moves[i]));
    return TSR_OK;
}

/* ---- exchanges ---- */

enum { LAST = -1 };

/* Which of its nodes a rank exchanges in a round: its last one, or number `round` of those before. Returns
 * its index, or SIZE_MAX: the rank has no such node. */
static size_t node_of_round(const tsri_training *t, uint32_t rank, int64_t round) {
    const size_t n = tsri_training_deal_count(&t->deal, rank);
    if (round == LAST)
        return tsri_training_deal_index(&t->deal, rank, n - 1);
    return (size_t)round + 1 < n ? tsri_training_deal_index(&t->deal, rank, (size_t)round)
                                 : SIZE_MAX;
}

/* Every rank's gradients of what this one owns of a bucket come to its `got`; `from`: this rank's, where
 * every parameter has its place. */
static tsr_status begin_exchange(tsri_training *t, size_t b, int64_t round, float *from,
                                 tsr_exchange **exchange) {
    tsri_training_division *d = t->division;
    const tsri_training_bucket *bucket = &d->buckets[b];
    const int64_t own = tsri_training_own(bucket, d->rank);
    const bool sends = node_of_round(t, d->rank, round) != SIZE_MAX;
    for (uint32_t r = 0; r < d->size; r++) {
        const size_t node = node_of_round(t, r, round);
        const bool comes = node != SIZE_MAX;
        d->data[0][r] = sends ? from + bucket->element[r] : NULL;
        d->bytes[0][r] = sends ? (uint64_t)tsri_training_own(bucket, r) * sizeof *from : 0;
        d->data[1][r] = comes ? bucket->got + (int64_t)node * own : NULL;
        d->bytes[1][r] = comes ? (uint64_t)own * sizeof *bucket->got : 0;
    }
    const tsr_parts out = tsri_training_parts(d, 0), in = tsri_training_parts(d, 1);
    return tsri_ranks_begin_all_to_all(d->ranks, &out, &in, exchange);
}

/* Of the next bucket of the last nodes. */
static tsr_status begin_next(tsri_training *t) {
    tsri_training_division *d = t->division;
    const size_t b = d->begun;
    TRY(wait_bucket(d, b));
    TRY(begin_exchange(t, b, LAST, d->all, &d->buckets[b].exchange));
    d->begun++;
    return TSR_OK;
}

static float *early_node(const tsri_training *t, size_t i) {
    return t->division->early + (int64_t)i * tsri_training_parameter_count(t);
}

tsr_status tsri_training_take_node(tsri_training *t, size_t i) {
    const tsri_training_division *d = t->division;
    float *out = early_node(t, i);
    for (size_t b = 0; b < d->n_buckets; b++)
        TRY(start_reads(t, b, tsri_training_own_node(t, i)->level, out));
    for (size_t b = 0; b < d->n_buckets; b++)
        TRY(wait_bucket(d, b));
    return TSR_OK;
}

/* Of all nodes but the last of each rank. */
static tsr_status begin_early(tsri_training *t) {
    tsri_training_division *d = t->division;
    const size_t n = tsri_training_own_nodes(t) - 1;
    if (d->early_begun)
        return TSR_OK;
    d->early_begun = true;
    for (size_t round = 0; round < d->rounds; round++) {
        float *from = round < n ? early_node(t, round) : NULL;
        for (size_t b = 0; b < d->n_buckets; b++)
            TRY(begin_exchange(t, b, (int64_t)round, from,
                               &d->early_exchanges[round * d->n_buckets + b]));
    }
    return TSR_OK;
}

/* The device has more to do than this bucket: the one before it goes out meanwhile. */
tsr_status tsri_training_bucket_whole(void *data, size_t b) {
    tsri_training *t = data;
    if (!t->division->ahead)
        return TSR_OK;
    TRY(start_next(t));
    return b ? begin_next(t) : TSR_OK;
}

tsr_status tsri_training_send_ahead(tsri_training *t) {
    if (!t->division)
        return TSR_OK;
    t->division->ahead = true;
    return begin_early(t);
}

tsr_status tsri_training_send_rest(tsri_training *t) {
    tsri_training_division *d = t->division;
    if (!d)
        return TSR_OK;
    d->ahead = false;
    TRY(begin_early(t));
    while (d->read < d->n_buckets)
        TRY(start_next(t));
    while (d->begun < d->n_buckets)
        TRY(begin_next(t));
    return TSR_OK;
}

tsr_status tsri_training_discard(tsri_training *t) {
    tsri_training_division *d = t->division;
    if (!d)
        return TSR_OK;
    for (size_t i = 0; i < d->rounds * d->n_buckets; i++)
        TRY(tsri_training_end_exchange(d, &d->early_exchanges[i]));
    for (size_t b = 0; b < d->n_buckets; b++)
        TRY(tsri_training_end_exchange(d, &d->buckets[b].exchange));
    d->read = d->begun = 0;
    d->early_begun = false;
    return TSR_OK;
}

tsr_status tsri_training_join(tsri_training *t) {
    const tsri_training_division *d = t->division;
    if (!d)
        return TSR_OK;
    for (size_t i = 0; i < d->rounds * d->n_buckets; i++)
        TRY(tsri_training_end_exchange(d, &d->early_exchanges[i]));
    for (size_t b = 0; b < d->n_buckets; b++) {
        const int64_t own = tsri_training_own(&d->buckets[b], d->rank);
        TRY(tsri_training_end_exchange(d, &d->buckets[b].exchange));
        tsri_training_deal_add(&t->deal, d->buckets[b].got, own);
        if (own)
            memcpy(d->all + d->buckets[b].element[d->rank], d->buckets[b].got,
                   (size_t)own * sizeof *d->all);
    }
    TRY(tsri_training_write_pieces(t, TSRI_PART_OWN_GRADIENT));
    return tsri_training_discard(t);
}
