/* train/step/ranks.c - divides the work of the optimizer among the ranks of a training. */
#include "train/step/division.h"

#include "base/error.h"
#include "base/memory.h"
#include "tensor/convert.h"
#include "transport/ranks.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 8 }; /* the most of them */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Elements of a stretch; the last stretches of a parameter may have fewer, or none. */
static int64_t stretch_of(const tsri_training_parameter *p) {
    return (p->elements + p->parts - 1) / p->parts;
}

int64_t tsri_training_parameter_count(const tsri_training *t) {
    int64_t n = 0;
    for (size_t i = 0; i < t->n_parameters; i++)
        n += t->parameters[i].elements;
    return n;
}

/* ---- buckets ---- */

typedef struct written {
    size_t parameter, behind; /* the node behind the last that writes its gradient */
} written;

static int by_end(const void *a, const void *b) {
    const written *x = a, *y = b;
    return x->behind != y->behind ? (x->behind > y->behind) - (x->behind < y->behind)
                                  : (x->parameter > y->parameter) - (x->parameter < y->parameter);
}

/* The index of the parameter whose gradient this state is; SIZE_MAX: there is none. */
static size_t of_gradient(void *data, uint32_t state) {
    const tsri_training *t = data;
    for (size_t i = 0; i < t->n_parameters; i++)
        if (tsri_training_parameter_state(t->parameters[i].number, TSRI_PART_GRADIENT) == state)
            return i;
    return SIZE_MAX;
}

/* The parameters in the order in which their gradients are whole. */
static tsr_status find_order(tsri_training *t, const tsri_graph *graph, size_t *order) {
    const size_t n = t->n_parameters;
    size_t *behind = NULL;
    written *of = NULL;
    tsr_status status = tsri_base_new(n, sizeof *behind, &behind);
    if (status == TSR_OK)
        status = tsri_base_new(n, sizeof *of, &of);
    if (status == TSR_OK) {
        tsri_graph_last_uses(graph, of_gradient, t, n, behind);
        for (size_t i = 0; i < n; i++)
            of[i] = (written){i, behind[i]};
        qsort(of, n, sizeof *of, by_end);
        for (size_t i = 0; i < n; i++)
            order[i] = of[i].parameter;
    }
    free(of);
    free(behind);
    return status;
}

/* Puts the parameters in the order in which their gradients are whole, and in buckets of about equal
 * size. The order is that of the graph before it is lowered, so that it is the same on every rank. */
static tsr_status fill_buckets(tsri_training *t, const tsri_graph *graph) {
    tsri_training_division *d = t->division;
    const int64_t full = (tsri_training_parameter_count(t) + BUCKETS - 1) / BUCKETS;
    int64_t at = 0, begin = 0;
    uint32_t sum = 0;
    TRY(tsri_base_new(t->n_parameters, sizeof *d->order, &d->order));
    TRY(tsri_base_new(BUCKETS, sizeof *d->buckets, &d->buckets));
    TRY(find_order(t, graph, d->order));
    for (size_t i = 0; i < t->n_parameters; i++) {
        tsri_training_parameter *p = &t->parameters[d->order[i]];
        if (!i || at - begin >= full) {
            begin = at;
            d->buckets[d->n_buckets++].first = i;
        }
        d->buckets[d->n_buckets - 1].end = i + 1;
        p->bucket = d->n_buckets - 1;
        p->at = at;
        p->first_sum = sum;
        at += p->elements;
        sum += p->parts;
    }
    return TSR_OK;
}

typedef struct
    place {           /* where a stretch of a bucket begins; parameter == bucket->end: behind all */
    size_t parameter; /* in the order */
    uint32_t stretch;
} place;

static const tsri_training_parameter *parameter_at(const tsri_training *t, size_t i) {
    return &t->parameters[t->division->order[i]];
}

static int64_t element_at(const tsri_training *t, const tsri_training_bucket *bucket, place at) {
    const tsri_training_parameter *p =
        parameter_at(t, at.parameter < bucket->end ? at.parameter : bucket->end - 1);
    return p->at + (at.parameter < bucket->end ? least(at.stretch * stretch_of(p), p->elements)
                                               : p->elements);
}

static uint32_t sum_at(const tsri_training *t, const tsri_training_bucket *bucket, place at) {
    const tsri_training_parameter *p =
        parameter_at(t, at.parameter < bucket->end ? at.parameter : bucket->end - 1);
    return p->first_sum + (at.parameter < bucket->end ? at.stretch : p->parts);
}

static place next(const tsri_training *t, place at) {
    return at.stretch + 1 < parameter_at(t, at.parameter)->parts
               ? (place){at.parameter, at.stretch + 1}
               : (place){at.parameter + 1, 0};
}

/* Ranks meet where a stretch begins, as near as can be to where their shares of this bucket and all before
 * it are equal. before[r]: what the ranks before r have of the buckets before. */
static void cut(const tsri_training *t, tsri_training_bucket *bucket, int64_t *before) {
    const uint32_t size = t->division->size;
    const place behind = {bucket->end, 0};
    const int64_t end = element_at(t, bucket, behind);
    place at = {bucket->first, 0};
    const int64_t begin = element_at(t, bucket, at);
    for (uint32_t r = 0; r < size; r++) {
        const int64_t wanted = begin + (int64_t)((double)end * r / size) - before[r];
        while (r && at.parameter < bucket->end) {
            const place then = next(t, at);
            if (llabs(element_at(t, bucket, then) - wanted) >
                llabs(element_at(t, bucket, at) - wanted))
                break;
            at = then;
        }
        bucket->sum[r] = sum_at(t, bucket, at);
        bucket->element[r] = element_at(t, bucket, at);
        before[r] += bucket->element[r] - begin;
    }
    bucket->sum[size] = sum_at(t, bucket, behind);
    bucket->element[size] = end;
}

static tsr_status make_buckets(tsri_training *t, const tsri_graph *graph) {
    tsri_training_division *d = t->division;
    int64_t *before = NULL;
    TRY(fill_buckets(t, graph));
    for (size_t b = 0; b < d->n_buckets; b++) {
        TRY(tsri_base_new(d->size + 1, sizeof *d->buckets[b].sum, &d->buckets[b].sum));
        TRY(tsri_base_new(d->size + 1, sizeof *d->buckets[b].element, &d->buckets[b].element));
    }
    TRY(tsri_base_new(d->size, sizeof *before, &before));
    for (size_t b = 0; b < d->n_buckets; b++)
        cut(t, &d->buckets[b], before);
    free(before);
    return TSR_OK;
}

/* For the nodes of the deal. What was there is lost. */
tsr_status tsri_training_make_room(tsri_training *t) {
    tsri_training_division *d = t->division;
    const int64_t values = tsri_training_parameter_count(t), n = (int64_t)t->deal.n;
    int64_t own = 0;
    for (size_t b = 0; b < d->n_buckets; b++)
        own += tsri_training_own(&d->buckets[b], d->rank);
    const size_t needed = (size_t)(own * n > values ? own * n : values);
    if (needed > d->room) {
        free(d->got);
        d->got = NULL;
        TRY(tsri_base_new(needed, sizeof *d->got, &d->got));
        d->room = needed;
    }
    float *got = d->got;
    for (size_t b = 0; b < d->n_buckets; b++) {
        d->buckets[b].got = got;
        got += tsri_training_own(&d->buckets[b], d->rank) * n;
    }
    free(d->early);
    free(d->early_exchanges);
    d->early = NULL;
    d->early_exchanges = NULL;
    d->rounds = t->deal.most - 1;
    TRY(tsri_base_new((tsri_training_own_nodes(t) - 1) * (size_t)values, sizeof *d->early,
                      &d->early));
    return tsri_base_new(d->rounds * d->n_buckets, sizeof *d->early_exchanges, &d->early_exchanges);
}

static tsr_status make_arguments(const tsri_training *t, tsri_training_division *d) {
    for (int i = 0; i < 2; i++) {
        TRY(tsri_base_new(d->size, sizeof *d->data[i], &d->data[i]));
        TRY(tsri_base_new(d->size, sizeof *d->bytes[i], &d->bytes[i]));
    }
    TRY(tsri_base_new(t->n_parameters, sizeof *d->moves, &d->moves));
    return tsri_base_new((size_t)tsri_training_parameter_count(t), sizeof *d->all, &d->all);
}

tsr_status tsri_training_divide(tsri_training *t, const tsri_graph *graph) {
    tsr_ranks *ranks = t->options.ranks;
    if (tsri_ranks_size(ranks) == 1)
        return TSR_OK;
    TRY(tsri_base_new(1, sizeof *t->division, &t->division));
    tsri_training_division *d = t->division;
    d->ranks = ranks;
    d->rank = tsri_ranks_rank(ranks);
    d->size = tsri_ranks_size(ranks);
    TRY(make_buckets(t, graph));
    for (size_t i = 0; i < t->n_parameters; i++)
        t->parameters[i].piece = tsri_training_piece_of(t, &t->parameters[i], d->rank);
    TRY(make_arguments(t, d));
    return tsri_training_make_room(t);
}

size_t tsri_training_buckets(const tsri_training *t) {
    return t->division ? t->division->n_buckets : 1;
}

static size_t bucket_of(void *data, uint32_t state) {
    const tsri_training *t = data;
    const size_t p = of_gradient(data, state);
    return p == SIZE_MAX ? SIZE_MAX : t->parameters[p].bucket;
}

tsr_status tsri_training_stop(tsri_training *t, const tsri_graph *graph,
                              tsr_status (*whole)(void *data, size_t bucket)) {
    const tsri_run_stops stops = {
        .n = tsri_training_buckets(t), .bucket_of = bucket_of, .whole = whole, .data = t};
    return t->division ? tsri_run_stop(t->run, graph, &stops) : TSR_OK;
}

tsr_status tsri_training_end_moves(const tsri_training *t, tsr_status first) {
    tsri_run_state_move *moves = t->division->moves;
    tsri_base_kept why = tsri_base_keep();
    for (size_t i = 0; moves && i < t->n_parameters; i++) {
        const tsr_status status =
            moves[i].event ? tsri_run_wait_state_move(&moves[i], UINT64_MAX) : TSR_OK;
        if (first != TSR_OK || status == TSR_OK)
            continue;
        first = status;
        why = tsri_base_keep();
    }
    if (first != TSR_OK)
        tsri_base_restore(first, &why);
    return first;
}

/* Waits for what the device still copies. Whether an exchange is under way. */
static bool settle(tsri_training *t) {
    const tsri_training_division *d = t->division;
    bool under_way = false;
    (void)!tsri_training_end_moves(t, TSR_OK);
    for (size_t b = 0; b < d->n_buckets; b++)
        under_way |= d->buckets[b].exchange != NULL;
    for (size_t i = 0; d->early_exchanges && i < d->rounds * d->n_buckets; i++)
        under_way |= d->early_exchanges[i] != NULL;
    return under_way;
}

void tsri_training_divide_end(tsri_training *t) {
    tsri_training_division *d = t->division;
    if (!d)
        return;
    if (!settle(t)) { /* else a rank that goes on may still send here, until this process ends */
        free(d->all);
        free(d->got);
        free(d->early);
    }
    free(d->early_exchanges);
    for (int i = 0; i < 2; i++) {
        free(d->data[i]);
        free(d->bytes[i]);
    }
    for (size_t b = 0; b < d->n_buckets; b++) {
        free(d->buckets[b].sum);
        free(d->buckets[b].element);
    }
    free(d->buckets);
    free(d->order);
    free(d->moves);
    free(d);
    t->division = NULL;
}

static uint32_t within(uint32_t sum, const tsri_training_parameter *p) {
    return sum < p->first_sum ? 0 : sum - p->first_sum < p->parts ? sum - p->first_sum : p->parts;
}

tsri_training_piece tsri_training_piece_of(const tsri_training *t, const tsri_training_parameter *p,
                                           uint32_t rank) {
    const uint32_t *sum = t->division->buckets[p->bucket].sum;
    const uint32_t first = within(sum[rank], p), end = within(sum[rank + 1], p);
    const int64_t stretch = stretch_of(p), begin = least(first * stretch, p->elements);
    return (tsri_training_piece){.first = begin,
                                 .count = least(end * stretch, p->elements) - begin,
                                 .padded = (end - first) * stretch,
                                 .first_sum = p->first_sum + first,
                                 .sums = end - first};
}

bool tsri_training_owns(const tsri_training *t) {
    const tsri_training_division *d = t->division;
    bool owns = !d;
    for (size_t b = 0; d && b < d->n_buckets; b++)
        owns |= d->buckets[b].sum[d->rank + 1] > d->buckets[b].sum[d->rank];
    return owns;
}

tsr_status tsri_training_write_piece(tsri_training *t, const tsri_training_parameter *p,
                                     tsri_training_part part, const float *piece) {
    if (!p->piece.count)
        return TSR_OK;
    return tsri_run_write_state(t->run, tsri_training_parameter_state(p->number, part), piece,
                                (uint64_t)p->piece.count * sizeof *piece);
}

static tsr_status move_pieces(tsri_training *t, tsri_training_part part, bool writes) {
    const tsri_training_division *d = t->division;
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < t->n_parameters && status == TSR_OK; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        float *piece = d->all + p->at + p->piece.first;
        const uint64_t bytes = (uint64_t)p->piece.count * sizeof *piece;
        const uint32_t state = tsri_training_parameter_state(p->number, part);
        if (bytes)
            status = writes ? tsri_run_start_state_write(t->run, state, piece, bytes, &d->moves[i])
                            : tsri_run_start_state_read(t->run, state, piece, bytes, &d->moves[i]);
    }
    return tsri_training_end_moves(t, status);
}

tsr_status tsri_training_write_pieces(tsri_training *t, tsri_training_part part) {
    return move_pieces(t, part, true);
}

tsr_status tsri_training_read_pieces(tsri_training *t, tsri_training_part part) {
    return move_pieces(t, part, false);
}

tsr_status tsri_training_read_piece(tsri_training *t, const tsri_training_parameter *p,
                                    tsri_training_part part, float *out) {
    if (!p->piece.count)
        return TSR_OK;
    return tsri_run_read_state(t->run, tsri_training_parameter_state(p->number, part), out,
                               (uint64_t)p->piece.count * sizeof *out);
}

float *tsri_training_kept_values(const tsri_training *t, const tsri_training_parameter *p) {
    return t->division && p->rounded ? t->division->all + p->at : NULL;
}

tsr_status tsri_training_state_read(const tsri_training *t, const tsri_training_parameter *p,
                                    tsri_training_part part, float *out) {
    const uint64_t bytes = (uint64_t)p->elements * sizeof *out;
    const float *kept = part == TSRI_PART_VALUE ? tsri_training_kept_values(t, p) : NULL;
    if (!kept)
        return tsri_run_read_state(t->run, tsri_training_parameter_state(p->number, part), out,
                                   bytes);
    memcpy(out, kept, bytes);
    return TSR_OK;
}
