/* train/step/buckets.c - sends gradients to the ranks that own them, bucket by bucket.
 *
 * While the device computes what lies between two buckets, the gradients of the one before go to the host
 * and out to the other ranks. All ranks begin the exchanges in the order of the buckets.
 */
#include "base/error.h"
#include "train/step/division.h"
#include "transport/ranks.h"

#include <string.h>

/* How long a wait for the device lasts before the exchanges under way get a turn: MPI moves long messages
 * only while it is called. */
enum { TURN_NS = 1000000 };

static const int64_t ones[TSR_SYMBOLS] = {1, 1, 1, 1, 1};

/* Adds up what waits of the bucket's shards, and begins to read the sums. */
static tsr_status start_reads(tsri_training *t, size_t b) {
    tsri_training_division *d = t->division;
    const tsri_training_bucket *bucket = &d->buckets[b];
    tsri_run_reads none;
    d->read = b + 1;
    if (t->n_last)
        TRY(tsri_run_start(t->last[b].plan, ones, NULL, 0, NULL, 0, &none));
    for (size_t i = bucket->first; i < bucket->end; i++) {
        const tsri_training_parameter *p = &t->parameters[d->order[i]];
        TRY(tsri_run_start_state_read(
            t->run, tsri_training_parameter_state(p->number, TSRI_PART_GRADIENT), d->all + p->at,
            (uint64_t)p->elements * sizeof *d->all, &d->reads[i]));
    }
    return TSR_OK;
}

/* Gives the exchanges under way a turn. */
static tsr_status turn(const tsri_training_division *d) {
    for (size_t b = 0; b < d->begun; b++) {
        tsri_training_bucket *bucket = &d->buckets[b];
        const tsr_status status =
            bucket->exchange ? tsri_ranks_wait(d->ranks, bucket->exchange, 0) : TSR_E_STATE;
        if (status == TSR_E_STATE)
            continue;
        bucket->exchange = NULL;
        TRY(status);
    }
    return TSR_OK;
}

static tsr_status wait_read(const tsri_training_division *d, tsri_run_state_read *read) {
    tsr_status status;
    while ((status = tsri_run_wait_state_read(read, d->begun ? TURN_NS : UINT64_MAX)) ==
           TSR_E_STATE)
        TRY(turn(d));
    return status;
}

/* Begins the exchange of the next bucket: every rank's gradients of what this one owns come to `got`. */
static tsr_status begin_next(tsri_training *t) {
    tsri_training_division *d = t->division;
    tsri_training_bucket *bucket = &d->buckets[d->begun];
    const int64_t own = tsri_training_own(bucket, d->rank);
    for (size_t i = bucket->first; i < bucket->end; i++)
        TRY(wait_read(d, &d->reads[i]));
    for (uint32_t r = 0; r < d->size; r++) {
        d->data[0][r] = d->all + bucket->element[r];
        d->bytes[0][r] = (uint64_t)tsri_training_own(bucket, r) * sizeof *d->all;
        d->data[1][r] = bucket->got + (int64_t)r * own;
        d->bytes[1][r] = (uint64_t)own * sizeof *bucket->got;
    }
    const tsr_parts out = tsri_training_parts(d, 0), in = tsri_training_parts(d, 1);
    TRY(tsri_ranks_begin_all_to_all(d->ranks, &out, &in, &bucket->exchange));
    d->begun++;
    return TSR_OK;
}

/* The device has more to do than this bucket: the one before it goes out meanwhile. */
tsr_status tsri_training_bucket_whole(void *data, size_t b) {
    tsri_training *t = data;
    if (!t->division->ahead)
        return TSR_OK;
    TRY(start_reads(t, b));
    return b ? begin_next(t) : TSR_OK;
}

void tsri_training_send_ahead(tsri_training *t) {
    if (t->division)
        t->division->ahead = true;
}

tsr_status tsri_training_send_rest(tsri_training *t) {
    tsri_training_division *d = t->division;
    if (!d)
        return TSR_OK;
    d->ahead = false;
    while (d->read < d->n_buckets)
        TRY(start_reads(t, d->read));
    while (d->begun < d->n_buckets)
        TRY(begin_next(t));
    return TSR_OK;
}

/* Adds the ranks' sums in pairs: the upper levels of the tree whose lower ones are in tree.c. */
static void add_ranks(const tsri_training_division *d, const tsri_training_bucket *bucket) {
    const int64_t own = tsri_training_own(bucket, d->rank);
    for (uint32_t apart = 1; apart < d->size; apart *= 2)
        for (uint32_t r = 0; r < d->size; r += 2 * apart) {
            float *sum = bucket->got + (int64_t)r * own;
            const float *other = sum + (int64_t)apart * own;
            for (int64_t i = 0; i < own; i++)
                sum[i] += other[i];
        }
}

tsr_status tsri_training_discard(tsri_training *t) {
    tsri_training_division *d = t->division;
    if (!d)
        return TSR_OK;
    for (size_t b = 0; b < d->n_buckets; b++)
        TRY(tsri_training_end_exchange(d, &d->buckets[b]));
    d->read = d->begun = 0;
    return TSR_OK;
}

tsr_status tsri_training_join(tsri_training *t) {
    const tsri_training_division *d = t->division;
    if (!d)
        return TSR_OK;
    for (size_t b = 0; b < d->n_buckets; b++) {
        const int64_t own = tsri_training_own(&d->buckets[b], d->rank);
        TRY(tsri_training_end_exchange(d, &d->buckets[b]));
        add_ranks(d, &d->buckets[b]);
        if (own)
            memcpy(d->all + d->buckets[b].element[d->rank], d->buckets[b].got,
                   (size_t)own * sizeof *d->all);
    }
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        TRY(tsri_training_write_piece(t, p, TSRI_PART_OWN_GRADIENT,
                                      d->all + p->at + p->piece.first));
    }
    return tsri_training_discard(t);
}
