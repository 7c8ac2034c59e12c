/* model/session/chunk.h - runs a forward pass in chunks, each with a number of tokens of every
 * sequence, and puts the results where they belong. */
#ifndef TSRI_MODEL_SESSION_CHUNK_H
#define TSRI_MODEL_SESSION_CHUNK_H

#include "model/session/plans.h"
#include "model/session/session.h"

enum { TSRI_MODEL_UNDER_WAY = 8 };   /* chunks of forward passes, and runs of an encoder, at most */
enum { TSRI_MODEL_ROW_OUTPUTS = 6 }; /* logits, argmax, top logits, top ids, top lse, drawn */

typedef struct tsri_model_staging { /* a result on its way to the caller's memory */
    float *data;
    size_t room; /* elements */
} tsri_model_staging;

typedef struct tsri_model_encoder tsri_model_encoder;       /* encode.c */
typedef struct tsri_model_encode_run tsri_model_encode_run; /* encode_run.c */

/* One run whose results are still to come. */
typedef struct tsri_model_pass {
    tsri_run_reads reads;
    /* What follows when they are there, with `run`; NULL: nothing */
    tsr_status (*ended)(tsri_session *session, tsri_model_encode_run *run);
    tsri_model_encode_run *run;
} tsri_model_pass;

struct tsri_session {
    tsri_model *model;
    int32_t slots;
    int64_t context, source_context;
    size_t number;
    tsri_model_plans plans;
    int32_t *ids, *positions, *past, *len, *slot, *rows, *keys, *pages, *source, *source_len,
        *state, *draw;    /* inputs of a run */
    int64_t *destination; /* the row of the results that each row goes to */
    int32_t *member;      /* sequence of each row of the batch */
    int64_t *taken;       /* tokens of each sequence in this chunk */
    size_t tokens_room, rows_room, destination_room, keys_room, pages_room, draw_room;
    int32_t *encoded; /* tokens of each source slot; 0: nothing encoded yet */
    float *frequencies, *draw_rate;
    tsri_model_staging per_row[TSRI_MODEL_ROW_OUTPUTS],
        *per_token; /* hidden 0 .. L, attention 0 .. L-1, cross 0 .. L-1 */
    tsri_run_binding *outputs;
    int64_t followers;                       /* sequences of the run that plans.followed had */
    const tsri_model_pages **followed_pages; /* [slots] and their pages */
    bool drew;                               /* their ids were drawn; else they are argmax */
    /* Runs that follow and are under way, the oldest first */
    tsri_run_reads ahead[TSRI_SESSION_AHEAD];
    int32_t n_ahead;
    /* Where ranks share the layers: runs that are under way, the oldest first, so that each rank has
     * one to work on; and how many have begun and ended in all */
    tsri_model_pass under_way[TSRI_MODEL_UNDER_WAY];
    int32_t n_under_way;
    uint64_t n_begun, n_ended;
    tsri_model_encoder *encoder; /* made at the first call that encodes */
};

void tsri_model_encoder_destroy(tsri_model_encoder **encoder);
/* Checks that hold for every token, whichever stack reads it, and for the number of likeliest
 * tokens. */
tsr_status tsri_model_check_token(int32_t sequence, int64_t token, int32_t id, int64_t position,
                                  int32_t vocab, int64_t context);
tsr_status tsri_model_check_top_k(const tsri_model *model, int32_t top_k);

/* Makes room for drawing `rows` rows of a run. */
tsr_status tsri_model_reserve_draws(tsri_session *session, size_t rows);
/* Makes room for texts of `tokens` in the source slots. */
void tsri_model_reserve_sources(tsri_session *session, int64_t tokens);

/* The capacity to grow to from `had` so that `tokens` fit. */
int64_t tsri_model_capacity_for(int64_t tokens, int64_t had, int64_t most);

/* The most tokens of a sequence that one run takes, bounded by the memory for the activations and
 * results of the whole batch. alone: of a batch of one sequence, without keys in other slots. */
int64_t tsri_model_chunk_limit(const tsri_session *session, const tsri_model_results *results,
                               bool alone);

/* How many tokens of each of n sequences, of which the longest has `longest`, a chunk takes: `limit`; or,
 * where ranks share the layers and there are enough, fewer, so that no rank waits long for its first
 * chunk. */
int64_t tsri_model_chunk_step(const tsri_session *session, int64_t n, int64_t limit,
                              int64_t longest);

/* Runs tokens done .. done + step - 1 of every sequence that has them, and computes the results that
 * `shape` marks. Where ranks share the layers, the results are there when its pass has ended. */
tsr_status tsri_model_chunk_run(tsri_session *session, const tsri_model_sequence *sequences,
                                int32_t n, const tsri_model_results *results,
                                const tsri_model_shape *shape, int64_t done, int64_t step,
                                int64_t limit);

/* passes.c: whether ranks share the layers. */
bool tsri_model_is_shared(const tsri_session *session);
/* A pass that is to begin, whose reads a run is started with; where as many are under way, the
 * oldest is ended first. Then it counts as begun. */
tsr_status tsri_model_pass_room(tsri_session *session, tsri_model_pass **out);
void tsri_model_pass_begun(tsri_session *session);
/* What ends the runs that have begun so far; where beginning them failed, all are given up. Returns
 * `status`. */
tsr_status tsri_model_pass_of(tsri_session *session, tsr_status status, uint64_t *pass);

#endif
