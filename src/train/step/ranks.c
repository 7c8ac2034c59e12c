/* train/step/ranks.c - divides the work of the optimizer among the ranks of a training. */
#include "train/step/ranks.h"

#include "base/error.h"
#include "base/memory.h"
#include "tensor/convert.h"
#include "transport/ranks.h"

#include <stdlib.h>
#include <string.h>

/* The parameters, one behind the other: what this rank reads and gives, and what it gets. */
struct tsri_training_division {
    tsr_ranks *ranks;
    uint32_t rank, size;
    uint32_t *sum;    /* [size + 1] number of each rank's first stretch */
    int64_t *element; /* [size + 1] and its first element */
    /* Every element: between join and update its gradient, else its value. After an update, the
     * place of a parameter that is read in bf16 holds its bf16 copy, until they are completed. */
    float *all;
    float *got; /* this rank's gradients, from each rank; then what each rank sends of its values */
    void **data[2]; /* [size] arguments of an exchange */
    uint64_t *bytes[2];
};

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Elements of a stretch; the last stretches of a parameter may have fewer, or none. */
static int64_t stretch_of(const tsri_training_parameter *p) {
    return (p->elements + p->parts - 1) / p->parts;
}

static int64_t all_elements(const tsri_training *t) {
    const tsri_training_parameter *last = &t->parameters[t->n_parameters - 1];
    return last->at + last->elements;
}

/* A stretch belongs to the rank in whose equal share of all elements it begins. */
static void cut(const tsri_training *t, tsri_training_division *d) {
    const int64_t all = all_elements(t);
    uint32_t owner = 0;
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        for (uint32_t j = 0; j < p->parts; j++) {
            const int64_t begin = p->at + least(j * stretch_of(p), p->elements);
            while (owner + 1 < d->size && (double)begin >= (double)all * (owner + 1) / d->size) {
                owner++;
                d->sum[owner] = p->first_sum + j;
                d->element[owner] = begin;
            }
        }
    }
    for (owner++; owner <= d->size; owner++) {
        d->sum[owner] = t->n_sums;
        d->element[owner] = all;
    }
}

static int64_t own_elements(const tsri_training_division *d, uint32_t rank) {
    return d->element[rank + 1] - d->element[rank];
}

static tsr_status make_room(const tsri_training *t, tsri_training_division *d) {
    for (int i = 0; i < 2; i++) {
        TRY(tsri_base_new(d->size, sizeof *d->data[i], &d->data[i]));
        TRY(tsri_base_new(d->size, sizeof *d->bytes[i], &d->bytes[i]));
    }
    TRY(tsri_base_new((size_t)all_elements(t), sizeof *d->all, &d->all));
    const int64_t gradients = own_elements(d, d->rank) * d->size, values = all_elements(t);
    return tsri_base_new((size_t)(gradients > values ? gradients : values), sizeof *d->got,
                         &d->got);
}

tsr_status tsri_training_divide(tsri_training *t) {
    tsr_ranks *ranks = t->options.ranks;
    if (tsri_ranks_size(ranks) == 1)
        return TSR_OK;
    TRY(tsri_base_new(1, sizeof *t->division, &t->division));
    tsri_training_division *d = t->division;
    d->ranks = ranks;
    d->rank = tsri_ranks_rank(ranks);
    d->size = tsri_ranks_size(ranks);
    TRY(tsri_base_new(d->size + 1, sizeof *d->sum, &d->sum));
    TRY(tsri_base_new(d->size + 1, sizeof *d->element, &d->element));
    cut(t, d);
    for (size_t i = 0; i < t->n_parameters; i++)
        t->parameters[i].piece = tsri_training_piece_of(t, &t->parameters[i], d->rank);
    return make_room(t, d);
}

void tsri_training_divide_end(tsri_training *t) {
    tsri_training_division *d = t->division;
    if (!d)
        return;
    for (int i = 0; i < 2; i++) {
        free(d->data[i]);
        free(d->bytes[i]);
    }
    free(d->sum);
    free(d->element);
    free(d->all);
    free(d->got);
    free(d);
    t->division = NULL;
}

static uint32_t within(uint32_t sum, const tsri_training_parameter *p) {
    return sum < p->first_sum ? 0 : sum - p->first_sum < p->parts ? sum - p->first_sum : p->parts;
}

tsri_training_piece tsri_training_piece_of(const tsri_training *t, const tsri_training_parameter *p,
                                           uint32_t rank) {
    const uint32_t *sum = t->division->sum;
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
    return !d || d->sum[d->rank + 1] > d->sum[d->rank];
}

tsr_status tsri_training_write_piece(tsri_training *t, const tsri_training_parameter *p,
                                     tsri_training_part part, const float *whole) {
    const tsri_training_piece *piece = &p->piece;
    if (!piece->count)
        return TSR_OK;
    return tsri_run_write_state(t->run, tsri_training_parameter_state(p->number, part),
                                whole + piece->first, (uint64_t)piece->count * sizeof *whole);
}

static tsr_status read_piece(tsri_training *t, const tsri_training_parameter *p,
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

/* ---- exchanges ---- */

static tsr_parts parts_of(const tsri_training_division *d, int i) {
    return (tsr_parts){.struct_size = sizeof(tsr_parts), .data = d->data[i], .bytes = d->bytes[i]};
}

/* Every rank's elements come to d->got: those that rank r has, at got[r * own]. */
static tsr_status exchange_gradients(const tsri_training_division *d) {
    const int64_t own = own_elements(d, d->rank);
    for (uint32_t r = 0; r < d->size; r++) {
        d->data[0][r] = d->all + d->element[r];
        d->bytes[0][r] = (uint64_t)own_elements(d, r) * sizeof *d->all;
        d->data[1][r] = d->got + (int64_t)r * own;
        d->bytes[1][r] = (uint64_t)own * sizeof *d->got;
    }
    const tsr_parts out = parts_of(d, 0), in = parts_of(d, 1);
    return tsri_ranks_all_to_all(d->ranks, &out, &in);
}

/* Adds the ranks' sums in pairs: the upper levels of the tree whose lower ones are in tree.c. */
static void add_ranks(const tsri_training_division *d) {
    const int64_t own = own_elements(d, d->rank);
    for (uint32_t apart = 1; apart < d->size; apart *= 2)
        for (uint32_t r = 0; r < d->size; r += 2 * apart) {
            float *sum = d->got + (int64_t)r * own;
            const float *other = sum + (int64_t)apart * own;
            for (int64_t i = 0; i < own; i++)
                sum[i] += other[i];
        }
}

tsr_status tsri_training_join(tsri_training *t) {
    const tsri_training_division *d = t->division;
    if (!d)
        return TSR_OK;
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        TRY(tsri_training_state_read(t, p, TSRI_PART_GRADIENT, d->all + p->at));
    }
    TRY(exchange_gradients(d));
    add_ranks(d);
    if (own_elements(d, d->rank))
        memcpy(d->all + d->element[d->rank], d->got,
               (size_t)own_elements(d, d->rank) * sizeof *d->all);
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        TRY(tsri_training_write_piece(t, p, TSRI_PART_OWN_GRADIENT, d->all + p->at));
    }
    return TSR_OK;
}

tsr_status tsri_training_gather_sums(tsri_training *t) {
    const tsri_training_division *d = t->division;
    if (!d)
        return TSR_OK;
    for (uint32_t r = 0; r < d->size; r++) {
        d->data[0][r] = t->sums + d->sum[r];
        d->bytes[0][r] = (uint64_t)(d->sum[r + 1] - d->sum[r]) * sizeof *t->sums;
    }
    const tsr_parts parts = parts_of(d, 0);
    return tsri_ranks_all_gather(d->ranks, &parts);
}

/* ---- values and moments ---- */

static bool any_rounded(const tsri_training *t) {
    for (size_t i = 0; i < t->n_parameters; i++)
        if (t->parameters[i].rounded)
            return true;
    return false;
}

static tsr_status read_own_values(tsri_training *t) {
    const tsri_training_division *d = t->division;
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        TRY(read_piece(t, p, TSRI_PART_OWN, d->all + p->at + p->piece.first));
    }
    return TSR_OK;
}

/* Each rank's values come to their places in d->all. */
static tsr_status gather_whole(const tsri_training_division *d) {
    for (uint32_t r = 0; r < d->size; r++) {
        d->data[0][r] = d->all + d->element[r];
        d->bytes[0][r] = (uint64_t)own_elements(d, r) * sizeof *d->all;
    }
    const tsr_parts parts = parts_of(d, 0);
    return tsri_ranks_all_gather(d->ranks, &parts);
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
    const tsr_parts parts = parts_of(d, 0);
    TRY(tsri_ranks_all_gather(d->ranks, &parts));
    for (uint32_t r = 0; r < d->size; r++)
        walk(t, r, d->data[0][r], unpack);
    return TSR_OK;
}

tsr_status tsri_training_gather_values(tsri_training *t) {
    TRY(read_own_values(t));
    return any_rounded(t) ? gather_packed(t) : gather_whole(t->division);
}

const void *tsri_training_gathered(const tsri_training *t, const tsri_training_parameter *p) {
    return t->division->all + p->at;
}

tsr_status tsri_training_complete_values(tsri_training *t) {
    if (!t->division || !any_rounded(t))
        return TSR_OK;
    TRY(read_own_values(t));
    return gather_whole(t->division);
}

tsr_status tsri_training_gather_pieces(tsri_training *t, const tsri_training_parameter *p,
                                       tsri_training_part part, float *out) {
    const tsri_training_division *d = t->division;
    TRY(read_piece(t, p, part, d->rank ? d->got : out + p->piece.first));
    if (d->rank)
        return p->piece.count ? tsri_ranks_send(d->ranks, 0, d->got,
                                                (uint64_t)p->piece.count * sizeof *d->got, NULL)
                              : TSR_OK;
    for (uint32_t r = 1; r < d->size; r++) {
        const tsri_training_piece piece = tsri_training_piece_of(t, p, r);
        if (piece.count)
            TRY(tsri_ranks_receive(d->ranks, r, out + piece.first,
                                   (uint64_t)piece.count * sizeof *out, NULL));
    }
    return TSR_OK;
}
