/* train/step/gather.c - gives all ranks what each has made of its part: sums of squares, new values. */
#include "base/error.h"
#include "tensor/convert.h"
#include "train/step/division.h"
#include "transport/ranks.h"

#include <string.h>

tsr_status tsri_training_end_exchange(const tsri_training_division *d, tsr_exchange **exchange) {
    tsr_exchange *ends = *exchange;
    *exchange = NULL;
    return ends ? tsri_ranks_wait(d->ranks, ends, UINT64_MAX) : TSR_OK;
}

/* Copies the sums that a rank owns to `packed`, or with `back` from there. Returns their number. */
static size_t move_sums(const tsri_training *t, uint32_t rank, float *packed, bool back) {
    const tsri_training_division *d = t->division;
    size_t at = 0;
    for (size_t b = 0; b < d->n_buckets; b++) {
        const uint32_t *sum = d->buckets[b].sum + rank;
        const size_t n = sum[1] - sum[0];
        if (n)
            memcpy(back ? t->sums + sum[0] : packed + at, back ? packed + at : t->sums + sum[0],
                   n * sizeof *packed);
        at += n;
    }
    return at;
}

tsr_status tsri_training_gather_sums(tsri_training *t) {
    const tsri_training_division *d = t->division;
    if (!d)
        return TSR_OK;
    float *packed = d->got;
    for (uint32_t r = 0; r < d->size; r++) {
        const size_t n = move_sums(t, r, packed, false);
        d->data[0][r] = packed;
        d->bytes[0][r] = n * sizeof *packed;
        packed += n;
    }
    const tsr_parts parts = tsri_training_parts(d, 0);
    TRY(tsri_ranks_all_gather(d->ranks, &parts));
    for (uint32_t r = 0; r < d->size; r++)
        (void)move_sums(t, r, d->data[0][r], true);
    return TSR_OK;
}

/* ---- values ---- */

static bool any_rounded(const tsri_training *t) {
    for (size_t i = 0; i < t->n_parameters; i++)
        if (t->parameters[i].rounded)
            return true;
    return false;
}

/* Each rank's values come to their places in d->all. */
static tsr_status gather_whole(const tsri_training_division *d) {
    for (size_t b = 0; b < d->n_buckets; b++) {
        const tsri_training_bucket *bucket = &d->buckets[b];
        for (uint32_t r = 0; r < d->size; r++) {
            d->data[0][r] = d->all + bucket->element[r];
            d->bytes[0][r] = (uint64_t)tsri_training_own(bucket, r) * sizeof *d->all;
        }
        const tsr_parts parts = tsri_training_parts(d, 0);
        TRY(tsri_ranks_begin_all_gather(d->ranks, &parts, &d->buckets[b].exchange));
    }
    for (size_t b = 0; b < d->n_buckets; b++)
        TRY(tsri_training_end_exchange(d, &d->buckets[b].exchange));
    return TSR_OK;
}

/* What a rank sends of a parameter: f32, or where the forward pass reads bf16, that. */
static size_t width_of(const tsri_training_parameter *p) {
    return p->rounded ? sizeof(uint16_t) : sizeof(float);
}

/* The pieces of a rank as it sends them: first those in f32, then those in bf16. For each, `move` is
 * called with the place of the parameter and that of the piece, if it is not NULL. Returns their bytes. */
static uint64_t walk(const tsri_training *t, uint32_t rank, char *packed,
                     void (*move)(const tsri_training_parameter *p, tsri_training_piece piece,
                                  float *place, char *packed)) {
    uint64_t bytes = 0;
    for (int rounded = 0; rounded < 2; rounded++)
        for (size_t i = 0; i < t->n_parameters; i++) {
            const tsri_training_parameter *p = &t->parameters[i];
            const tsri_training_piece piece = tsri_training_piece_of(t, p, rank);
            if (p->rounded != rounded)
                continue;
            if (move)
                move(p, piece, t->division->all + p->at, packed + bytes);
            bytes += (uint64_t)piece.count * width_of(p);
        }
    return bytes;
}

static void pack(const tsri_training_parameter *p, tsri_training_piece piece, float *place,
                 char *packed) {
    (void)tsri_tensor_convert(p->rounded ? TSR_BF16 : TSR_F32, packed, TSR_F32, place + piece.first,
                              (size_t)piece.count);
}

static void unpack(const tsri_training_parameter *p, tsri_training_piece piece, float *place,
                   char *packed) {
    const size_t width = width_of(p);
    if (piece.count)
        memcpy((char *)place + (size_t)piece.first * width, packed, (size_t)piece.count * width);
}

/* As gather_whole, but parameters that are read in bf16 come as that. */
static tsr_status gather_packed(const tsri_training *t) {
    const tsri_training_division *d = t->division;
    char *packed = (char *)d->got;
    for (uint32_t r = 0; r < d->size; r++) {
        d->data[0][r] = packed;
        d->bytes[0][r] = walk(t, r, NULL, NULL);
        packed += (d->bytes[0][r] + 3) / 4 * 4;
    }
    walk(t, d->rank, d->data[0][d->rank], pack);
    const tsr_parts parts = tsri_training_parts(d, 0);
    TRY(tsri_ranks_all_gather(d->ranks, &parts));
    for (uint32_t r = 0; r < d->size; r++)
        walk(t, r, d->data[0][r], unpack);
    return TSR_OK;
}

/* The device gets what the forward pass reads: bf16 where a parameter is rounded, else f32. */
static tsr_status write_values(tsri_training *t) {
    const tsri_training_division *d = t->division;
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < t->n_parameters && status == TSR_OK; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        const tsri_training_part part = p->rounded ? TSRI_PART_ROUNDED : TSRI_PART_VALUE;
        status = tsri_run_start_state_write(t->run, tsri_training_parameter_state(p->number, part),
                                            d->all + p->at, (uint64_t)p->elements * width_of(p),
                                            &d->moves[i]);
    }
    return tsri_training_end_moves(t, status);
}

tsr_status tsri_training_gather_values(tsri_training *t) {
    TRY(tsri_training_read_pieces(t, TSRI_PART_OWN));
    TRY(any_rounded(t) ? gather_packed(t) : gather_whole(t->division));
    return write_values(t);
}

tsr_status tsri_training_complete_values(tsri_training *t) {
    if (!t->division || !any_rounded(t))
        return TSR_OK;
    TRY(tsri_training_read_pieces(t, TSRI_PART_OWN));
    return gather_whole(t->division);
}
