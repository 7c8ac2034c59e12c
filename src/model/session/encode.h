/* model/session/encode.h - what the files of encoding share: one run of an encoder and its
 * results. */
#ifndef TSRI_MODEL_SESSION_ENCODE_H
#define TSRI_MODEL_SESSION_ENCODE_H

#include "model/session/chunk.h"
#include "model/weights/tables.h"

enum { TSRI_MODEL_ENCODED_KINDS = 10 }; /* results other than hidden states and attention */

/* A result that has `width` numbers for each wanted row (by_row) or each sequence. */
typedef struct tsri_model_encoded_kind {
    tsri_model_output id;
    void *to;
    int64_t width;
    bool by_row;
    tsri_model_staging stage;
} tsri_model_encoded_kind;

typedef struct tsri_model_length { /* the length of one sequence of the batch */
    int64_t n;
    int32_t number;
} tsri_model_length;

struct tsri_model_encoder {
    tsri_model_length *order; /* [n] shortest first */
    int64_t *offset;          /* where the tokens of each sequence begin in the batch */
    int32_t *ids, *positions, *types, *past, *len, *slot, *rows, *state;
    int64_t *destination; /* the row of the results that each row goes to */
    size_t order_room, offset_room, destination_room, tokens_room[4], sequences_room[4];
    tsri_model_distances distances; /* of disentangled attention: those that the next two are of */
    int32_t *rows_of_distances, *places;
    size_t distances_room, places_room;
    tsri_model_encoded_kind kinds[TSRI_MODEL_ENCODED_KINDS];
    tsri_model_staging *per_token; /* hidden 0 .. L, attention 0 .. L-1 */
    tsri_run_binding *outputs;
};

/* One run: sequences order[first .. first + B). */
typedef struct tsri_model_encode_run {
    const tsri_model_sequence *sequences;
    const tsri_model_results *results;
    int32_t first;
    int64_t B, T, N, wanted;
    size_t n_outputs;
} tsri_model_encode_run;

/* Sets the results that a batch is to give, each with its width; `labels` is the classifier's. */
void tsri_model_encode_kinds(tsri_model_encoder *encoder, const tsri_model_spec *spec,
                             int64_t labels, const tsri_model_results *results);
/* Binds the outputs of a run to staging or to the caller's memory; scatter then copies staged
 * results to the caller. */
tsr_status tsri_model_encode_bind(tsri_session *session, tsri_model_encode_run *run);
void tsri_model_encode_scatter(const tsri_session *session, const tsri_model_encode_run *run);

#endif
