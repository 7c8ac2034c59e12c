/* train/step/division.h - what the files that divide the optimizer's work among ranks share. */
#ifndef TSRI_TRAIN_STEP_DIVISION_H
#define TSRI_TRAIN_STEP_DIVISION_H

#include "train/step/ranks.h"

typedef struct tsri_training_bucket {
    size_t first, end;      /* its parameters: order[first .. end - 1] */
    uint32_t *sum;          /* [size + 1] number of each rank's first stretch */
    int64_t *element;       /* [size + 1] and its first element */
    float *got;             /* this rank's gradients, from each rank, one behind the other */
    tsr_exchange *exchange; /* that is under way; NULL: none */
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
    float *got;                 /* the buckets' `got`; then what each rank sends of its values */
    tsri_run_state_read *reads; /* by place in `order` */
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

/* Waits until the bucket's exchange has ended, if one is under way. */
tsr_status tsri_training_end_exchange(const tsri_training_division *division,
                                      tsri_training_bucket *bucket);

#endif
