/* model/session/encode.h - what the files of encoding share: the runs of an encoder and their
 * results. */
#ifndef TSRI_MODEL_SESSION_ENCODE_H
#define TSRI_MODEL_SESSION_ENCODE_H

#include "model/session/chunk.h"
#include "model/weights/tables.h"
#include "model/weights/taps.h"

enum { TSRI_MODEL_ENCODED_KINDS = 10 }; /* results other than hidden states and attention */

/* A result that has `width` numbers for each wanted row (by_row) or each sequence. */
typedef struct tsri_model_encoded_kind {
    tsri_model_output id;
    void *to;
    int64_t width;
    bool by_row;
} tsri_model_encoded_kind;

typedef struct tsri_model_length { /* the length of one sequence of the batch */
    int64_t n;
    int32_t number;
} tsri_model_length;

/* One run: sequences order[first .. first + B). Where ranks share the layers, several are under way. */
struct tsri_model_encode_run {
    const tsri_model_sequence *sequences;
    const tsri_model_results *results;
    int32_t first;
    int64_t B, T, N, wanted;
    size_t n_outputs;
    /* Its own memory */
    int64_t *destination; /* the row of the results that each row goes to */
    int32_t *past, *len, *slot;
    tsri_model_staging stages[TSRI_MODEL_ENCODED_KINDS];
    tsri_model_staging *per_token; /* hidden 0 .. L, attention 0 .. L-1; NULL: not wanted so far */
    tsri_model_staging encoded;    /* the encoder's output, on its way to the decoder's layers */
    size_t destination_room, sequences_room[3];
};

struct tsri_model_encoder {
    tsri_model_length *order; /* [n] shortest first */
    int64_t *offset;          /* where the tokens of each sequence begin in the batch */
    int32_t *ids, *positions, *types, *rows, *state;
    size_t order_room, offset_room, tokens_room[4], state_room;
    tsri_model_distance_inputs distances; /* of disentangled attention */
    tsri_model_tap_inputs taps;           /* of a convolution over tokens */
    tsri_model_encoded_kind kinds[TSRI_MODEL_ENCODED_KINDS];
    tsri_run_binding *outputs;
    tsri_model_encode_run runs[TSRI_MODEL_UNDER_WAY]; /* they take turns */
    uint64_t n_runs;                                  /* begun so far */
    size_t per_token;                                 /* results that a token may have */
};

/* encode_run.c: the lengths that a run's plan serves, and the most sequences that it may have: every
 * product of its sizes must be an int32. */
int64_t tsri_model_encode_limits(const tsri_session *session, const tsri_model_results *results,
                                 int64_t T, int64_t *lowest, int64_t *highest);
/* The plan of a run, for one sequence of about T tokens, or for as many sequences as a run may have. */
tsr_status tsri_model_encode_plan(tsri_session *session, const tsri_model_shape *shape,
                                  const tsri_model_results *results, int64_t B, int64_t T,
                                  const tsri_graph **graph, tsri_run_plan **out);
/* Runs sequences order[first .. first + B) of at most T tokens. Where ranks share the layers, its results
 * are where they belong when its pass has ended. */
tsr_status tsri_model_encode_start(tsri_session *session, const tsri_model_shape *shape,
                                   const tsri_model_encode_run *part);

/* Sets the results that a batch is to give, each with its width; `labels` is the classifier's. */
void tsri_model_encode_kinds(tsri_model_encoder *encoder, const tsri_model_spec *spec,
                             int64_t labels, const tsri_model_results *results);
/* Binds the outputs of a run to staging, also the encoder's output if it is wanted; scatter then copies
 * results to the caller. */
tsr_status tsri_model_encode_bind(tsri_session *session, tsri_model_encode_run *run, bool encoded);
void tsri_model_encode_scatter(const tsri_session *session, const tsri_model_encode_run *run);

#endif
