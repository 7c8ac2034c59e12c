/* train/step/division.h - what the files that divide the optimizer's work among ranks share. */
#ifndef TSRI_TRAIN_STEP_DIVISION_H
#define TSRI_TRAIN_STEP_DIVISION_H

#include "train/step/ranks.h"

typedef struct tsri_training_bucket {
    size_t first, end;      /* its parameters: order[first .. end - 1] */
    uint32_t *sum;          /* [size + 1] number of each rank's first stretch */
    int64_t *element;       /* [size + 1] and its first element */
    float *got;             /* this rank's gradients of each node (deal.h), one behind the other */
    tsr_exchange *exchange; /* that is under way, of each rank's last node; NULL: none */
} tsri_training_bucket;

/* The parameters, one behind the other in the order of their buckets: what this rank reads and gives, and
 * what it gets. */
struct tsri_training_division {
    tsr_ranks *ranks;
    uint32_t rank, size;
    size_t *order; /* indexes of the parameters, bucket by bucket */
    tsri_training_bucket *buckets;
    size_t n_buckets;
    /* Every element: between the last pass backward and update its gradient, else its value. After an
     * update, the place of a parameter that is read in bf16 holds its bf16 copy, until they are
     * completed. */
    float *all;
    size_t room; /* elements of `got` */
    float *got;  /* the buckets' `got`; then what each rank sends of its values */
    /* Where ranks have several nodes: the gradients of this rank's nodes but the last, one behind the
     * other. They are exchanged before those of the last nodes: rounds * n_buckets exchanges, in each
     * round a node of each rank that has so many. */
    float *early;
    tsr_exchange **early_exchanges;
    size_t rounds;
    bool early_begun;
    tsri_run_state_move *moves; /* a copy of each parameter's; of gradients by place in `order` */
    bool ahead;                 /* the pass that runs next is the last one of this rank's step */
    size_t read, begun;         /* buckets whose gradients go to the host, to the other ranks */
    void **data[2];             /* [size] arguments of an exchange */
    uint64_t *bytes[2];
};

static inline int64_t tsri_training_own(const tsri_training_bucket *bucket, uint32_t rank) {
    return bucket->element[rank + 1] - bucket->element[rank];
}

static inline tsr_parts tsri_training_parts(const tsri_training_division *d, int i) {
    return (tsr_parts){.struct_size = sizeof(tsr_parts), .data = d->data[i], .bytes = d->bytes[i]};
}

/* Whether exchanges may be under way. */
static inline bool tsri_training_exchanging(const tsri_training_division *d) {
    return d->begun || (d->early_begun && d->rounds);
}

/* Copies this rank's pieces from their places in `all` to one of their states, or from there: all of them,
 * before it waits for any. */
tsr_status tsri_training_write_pieces(tsri_training *training, tsri_training_part part);
tsr_status tsri_training_read_pieces(tsri_training *training, tsri_training_part part);
/* Waits for the copies that are under way. Returns the first failure, with its sentence: that of beginning
 * them, `first`, or of one of them. */
tsr_status tsri_training_end_moves(const tsri_training *training, tsr_status first);

/* Waits until an exchange has ended, if one is under way. */
tsr_status tsri_training_end_exchange(const tsri_training_division *division,
                                      tsr_exchange **exchange);

#endif
