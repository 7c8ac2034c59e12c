/* model/session/session.h - running a model: sequences in slots of a key/value memory, fed in
 * batches of unequal length. */
#ifndef TSRI_MODEL_SESSION_SESSION_H
#define TSRI_MODEL_SESSION_SESSION_H

#include "model/load/load.h"

typedef struct tsri_session tsri_session;

/* What to compute for one sequence: `n` tokens that follow the `past` ones already in its slot. */
typedef struct tsri_model_sequence {
    const int32_t *ids;       /* [n], each in [0, vocab) */
    const int32_t *positions; /* [n], or NULL: past, past + 1, ... Causality always goes by order in
                                 the slot, not by these */
    const int32_t *types;     /* [n] segments, or NULL: 0. Encoders only */
    const int32_t *keys;      /* [past] the slot that holds each earlier key and value, or NULL: its
                                 own. What a run appends goes to its own slot in any case, so a beam
                                 search reorders its hypotheses by these alone */
    int64_t n;                /* >= 1 */
    int64_t past;             /* tokens of the slot that stay; 0 starts it anew */
    int32_t slot;   /* 0 <= slot < slots; no two of a batch alike. To be encoded: < sources */
    int32_t source; /* of an encoder-decoder: the source slot that it attends to */
} tsri_model_sequence;

typedef enum tsri_model_rows {
    TSRI_ROWS_LAST = 0, /* one row a sequence: that of its last token */
    TSRI_ROWS_ALL,      /* each token's, sequence by sequence, without padding */
    TSRI_ROWS_FIRST,    /* of an encoder: that of each sequence's first token */
    TSRI_ROWS_LISTED    /* of an encoder: those of `listed` tokens */
} tsri_model_rows;

/* Where results go: the caller's memory, NULL for what is not wanted. R is the number of rows that
 * `rows` gives; N tokens in the batch; sequence b's tokens follow those of b - 1 without gaps. */
typedef struct tsri_model_results {
    tsri_model_rows rows;
    const int64_t *listed; /* numbers of tokens in the batch, ascending */
    int64_t n_listed;
    float *logits;           /* [R, V]; of an encoder: of its masked LM head */
    int32_t *argmax;         /* [R] the first largest, found on the device */
    int32_t top_k;           /* > 0: the three below are wanted; at most V */
    float *top_logits;       /* [R, top_k] largest first */
    int32_t *top_ids;        /* [R, top_k] */
    float *top_lse;          /* [R] log sum exp of the whole row: log p = logit - lse */
    float *const *hidden;    /* L + 1 arrays [N, C]: after the embedding, after each layer; the last
                                after the final norm. A recurrent stack's are both its states, of
                                tsri_model_stack_width elements a row */
    float *const *attention; /* L arrays: of sequence b [H, n, past + n], one sequence after the
                                other. A recurrent stack has none: left as they are */
    float *const *cross; /* of a decoder: L arrays, of sequence b [H, n, length of its source] */
    /* Of an encoder without a decoder; b counts the sequences. */
    float *vectors;   /* [b, C] pooled over the tokens */
    uint32_t pooling; /* of vectors: tsr_pool */
    float *pooled;    /* [b, C] what the pooler makes of the first token */
    float *labels;    /* [b, labels], or [R, labels] where tokens are labelled */
    float *next;      /* [b, 2] next sentence: yes, no */
} tsri_model_results;

typedef struct tsri_session_sizes {
    int32_t slots;          /* sequences at once, >= 1 */
    int64_t context;        /* tokens of each; 0: what the model reads */
    int32_t sources;        /* of an encoder-decoder: encoded texts at once; 0: as many as slots */
    int64_t source_context; /* tokens of each; 0: what the encoder reads */
} tsri_session_sizes;

/* A session of `slots` sequences (>= 1) of at most `context` tokens each (0: what the model reads).
 *
 * owner   the caller; the model outlives it
 * thread  one thread at a time for a model and all its sessions
 * error   TSR_E_ARGUMENT context above what the model reads (both numbers said) */
tsr_status tsri_session_create(tsri_model *model, int32_t slots, int64_t context,
                               tsri_session **out);
tsr_status tsri_session_create_sized(tsri_model *model, const tsri_session_sizes *sizes,
                                     tsri_session **out);
/* The model keeps the last session that ended, with its plans, for the next one of as many slots:
 * a call that makes a session for one text doesn't pay for plans again. */
void tsri_session_destroy(tsri_session **session);

/* Runs sequences through the encoder, each whole (past is 0). Of an encoder-decoder `slot` is the
 * source slot, whose keys and values for cross-attention are kept until it is encoded anew; results
 * are hidden states and attention. Of a model without a decoder n is any number and slots are not
 * read. Sequences of about one length run together, so a batch takes the time of its tokens; each
 * gets the bytes that it would get alone.
 *
 * error   TSR_E_ARGUMENT  as tsri_session_forward; more than the encoder reads
 *         TSR_E_STATE     the model has no encoder, or lacks the head that a result comes from */
tsr_status tsri_session_encode(tsri_session *session, const tsri_model_sequence *sequences,
                               int32_t n, const tsri_model_results *results);

/* Runs a batch. Long inputs go in chunks. After the first call of a shape it allocates nothing
 * until the KV capacity must grow. error   TSR_E_ARGUMENT an id, slot, length or position out of
 * range; past + n above the context (both numbers said) */
tsr_status tsri_session_forward(tsri_session *session, const tsri_model_sequence *sequences,
                                int32_t n, const tsri_model_results *results);

/* Makes room for `tokens` a slot, so that steps up to there need not grow it. */
tsr_status tsri_session_reserve(tsri_session *session, int64_t tokens);

int64_t tsri_session_context(const tsri_session *session);
int64_t tsri_session_capacity(const tsri_session *session);
int32_t tsri_session_slots(const tsri_session *session);
int64_t tsri_session_source_context(const tsri_session *session);
/* For explain: the plan of a run with `tokens` tokens a sequence and one sequence, giving logits
 * and argmax; of a model without a decoder, the encoder's. */
tsr_status tsri_session_plan(tsri_session *session, int64_t tokens, tsri_run_plan **out);
/* The same of an encoder: with every head that the model has, or keeping a source. */
tsr_status tsri_session_encode_plan(tsri_session *session, int64_t tokens, tsri_run_plan **out);

#endif
