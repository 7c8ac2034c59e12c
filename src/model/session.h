/* model/session.h - running a model: sequences in slots of a key/value memory, fed in batches of
 * unequal length. */
#ifndef TSRI_MODEL_SESSION_H
#define TSRI_MODEL_SESSION_H

#include "model/load.h"

typedef struct tsri_session tsri_session;

/* What to compute for one sequence: `n` tokens that follow the `past` ones already in its slot. */
typedef struct tsri_model_sequence {
    const int32_t *ids;       /* [n], each in [0, vocab) */
    const int32_t *positions; /* [n], or NULL: past, past + 1, ... Causality always goes by order in
                                 the slot, not by these */
    int64_t n;                /* >= 1 */
    int64_t past;             /* tokens of the slot that stay; 0 starts it anew */
    int32_t slot;             /* 0 <= slot < slots; no two of a batch alike */
} tsri_model_sequence;

typedef enum tsri_model_rows {
    TSRI_ROWS_LAST = 0, /* one row a sequence: that of its last token */
    TSRI_ROWS_ALL       /* each token's, sequence by sequence, without padding */
} tsri_model_rows;

/* Where results go: the caller's memory, NULL for what is not wanted. R is the number of rows that
 * `rows` gives; N tokens in the batch; sequence b's tokens follow those of b - 1 without gaps. */
typedef struct tsri_model_results {
    tsri_model_rows rows;
    float *logits;        /* [R, V] */
    int32_t *argmax;      /* [R] the first largest, found on the device */
    int32_t top_k;        /* > 0: the three below are wanted; at most V */
    float *top_logits;    /* [R, top_k] largest first */
    int32_t *top_ids;     /* [R, top_k] */
    float *top_lse;       /* [R] log sum exp of the whole row: log p = logit - lse */
    float *const *hidden; /* L + 1 arrays [N, C]: after the embedding, after each layer; the last
                             after the final norm */
    float *const
        *attention; /* L arrays: of sequence b [H, n, past + n], one sequence after the other */
} tsri_model_results;

/* A session of `slots` sequences (>= 1) of at most `context` tokens each (0: what the model reads).
 *
 * owner   the caller; the model outlives it
 * thread  one thread at a time for a model and all its sessions
 * error   TSR_E_ARGUMENT context above what the model reads (both numbers said) */
tsr_status tsri_session_create(tsri_model *model, int32_t slots, int64_t context,
                               tsri_session **out);
void tsri_session_destroy(tsri_session **session);

/* Runs a batch. Long inputs go in pieces. After the first call of a shape it allocates nothing
 * until the KV capacity must grow. error   TSR_E_ARGUMENT an id, slot, length or position out of
 * range; past + n above the context (both numbers said) */
tsr_status tsri_session_forward(tsri_session *session, const tsri_model_sequence *sequences,
                                int32_t n, const tsri_model_results *results);

/* Makes room for `tokens` a slot, so that steps up to there need not grow it. */
tsr_status tsri_session_reserve(tsri_session *session, int64_t tokens);

int64_t tsri_session_context(const tsri_session *session);
int64_t tsri_session_capacity(const tsri_session *session);
int32_t tsri_session_slots(const tsri_session *session);
/* For explain: the plan of a run with `tokens` tokens a sequence and one sequence, giving logits
 * and argmax. */
tsr_status tsri_session_plan(tsri_session *session, int64_t tokens, tsri_run_plan **out);

#endif
