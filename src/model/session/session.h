/* model/session/session.h - runs a model: sequences in slots of a key/value memory, which are fed
 * in batches of unequal length. */
#ifndef TSRI_MODEL_SESSION_SESSION_H
#define TSRI_MODEL_SESSION_SESSION_H

#include "model/load/load.h"
#include "tensor/draw.h"

typedef struct tsri_session tsri_session;

/* The pages of a sequence: position s lies in row s % TSRI_MODEL_PAGE of page ids[s / TSRI_MODEL_PAGE]. */
typedef struct tsri_model_pages {
    int32_t *ids;
    int32_t n;
} tsri_model_pages;

/* What to compute for one sequence: `n` tokens that follow the `past` ones already in its slot. */
typedef struct tsri_model_sequence {
    const int32_t *ids;       /* [n], each in [0, vocab) */
    const int32_t *positions; /* [n], or NULL: past, past + 1, ... Causality always follows the
                                 order in the slot, not these positions */
    const int32_t *types;     /* [n] segments, or NULL: 0. Encoders only */
    const int32_t *keys;      /* [past] the slot that holds each earlier key and value, or NULL:
                                 the sequence's own slot. A run always appends to the sequence's
                                 own slot, so a beam search reorders its hypotheses by changing
                                 only these */
    /* Of a session with pages: those of its tokens, past + n of them. Sequences may share pages that no run
     * writes to any more. May grow before a run that follows, and is read for that, too. */
    const tsri_model_pages *pages;
    int64_t n;      /* >= 1 */
    int64_t past;   /* tokens of the slot that are kept; 0: the slot starts anew */
    int64_t length; /* with dynamic scaling: tokens of the whole text, of which some follow in later
                       runs; 0: none follow */
    int32_t slot;   /* 0 <= slot < slots, different for each sequence of a batch. To be encoded:
                       < sources */
    int32_t source; /* of an encoder-decoder: the source slot that it attends to */
} tsri_model_sequence;

typedef enum tsri_model_rows {
    TSRI_ROWS_LAST = 0, /* one row for each sequence: that of its last token */
    TSRI_ROWS_ALL,      /* each token's, sequence by sequence, without padding */
    TSRI_ROWS_FIRST,    /* of an encoder: that of each sequence's first token */
    TSRI_ROWS_LISTED    /* of an encoder: those of `listed` tokens */
} tsri_model_rows;

/* Where results go: the caller's memory; NULL for what is not wanted. R is the number of rows that
 * `rows` gives, N the number of tokens in the batch; sequence b's tokens follow those of b - 1
 * without gaps. */
typedef struct tsri_model_results {
    tsri_model_rows rows;
    const int64_t *listed; /* numbers of tokens in the batch, ascending */
    int64_t n_listed;
    float *logits;     /* [R, V]; of an encoder: of its masked LM head */
    int32_t *argmax;   /* [R] the index of the first largest logit, found on the device */
    int32_t top_k;     /* > 0: the three below are wanted, or one of them is drawn; at most V */
    float *top_logits; /* [R, top_k] largest first */
    int32_t *top_ids;  /* [R, top_k] */
    float *top_lse;    /* [R] log sum exp of the whole row: log p = logit - lse */
    /* Of a decoder, in place of these three */
    const tsri_tensor_draw *draws; /* [R] how each row is drawn */
    int32_t *drawn;                /* [R] the index, found on the device by the op `sample` */
    float *const *hidden;    /* L + 1 arrays [N, C]: after the embedding, then after each layer;
                                the last one after the final norm. Those of a recurrent stack are
                                both its states, tsri_model_stack_width elements a row */
    float *const *attention; /* L arrays: [H, n, past + n] of sequence b, one sequence after the
                                other. A recurrent stack has none and leaves the arrays as they
                                are */
    float *const *cross; /* of a decoder: L arrays, [H, n, length of its source] of sequence b */
    /* Of an encoder without a decoder; b is the number of sequences. */
    float *states;    /* [R, C] the last hidden states */
    float *vectors;   /* [b, C] pooled over the tokens */
    uint32_t pooling; /* of vectors: tsr_pool */
    float *pooled;    /* [b, C] what the pooler makes of the first token */
    float *labels;    /* [b, labels], or [R, labels] where tokens are labelled */
    float *next;      /* [b, 2] next sentence: yes, no */
    /* Of a decoder; not NULL: called once for each of a pass's runs that give results, while the device
     * computes it: what the host can do before it knows them */
    void (*meanwhile)(void *data);
    void *meanwhile_data;
} tsri_model_results;

typedef struct tsri_session_sizes {
    int32_t slots;   /* sequences at the same time, >= 1 */
    int64_t context; /* tokens of each; 0: what the model reads */
    int32_t pages;   /* > 0: a decoder's sequences have so many pages of TSRI_MODEL_PAGE tokens
                               together, which the caller gives to them; 0: each slot has its own memory */
    int32_t sources; /* of an encoder-decoder: encoded texts at the same time; 0: as many
                               as slots */
    int64_t source_context; /* tokens of each; 0: what the encoder reads */
} tsri_session_sizes;

/* Creates a session of `slots` sequences (>= 1) of at most `context` tokens each (0: what the model
 * reads).
 *
 * owner   the caller; the model must outlive it
 * thread  one thread at a time for a model and all its sessions
 * error   TSR_E_ARGUMENT  context is above what the model reads (the message has both numbers) */
tsr_status tsri_session_create(tsri_model *model, int32_t slots, int64_t context,
                               tsri_session **out);
tsr_status tsri_session_create_sized(tsri_model *model, const tsri_session_sizes *sizes,
                                     tsri_session **out);
/* The model keeps the last session that was destroyed, with its plans, for the next one that wants as
 * many slots, or fewer, but no less than half: a call for one text, or for the last texts of a file,
 * doesn't pay for plans again. One without plans, as after TSR_E_DEVICE_MEMORY, is not kept. */
void tsri_session_destroy(tsri_session **session);

/* Runs sequences through the encoder, each as a whole (past is 0).
 *
 * In an encoder-decoder `slot` is the source slot, whose keys and values for cross-attention are
 * kept until it is encoded again; results are hidden states and attention. In a model without a
 * decoder n is any number, and slots are not read. Sequences of similar length run together, so the
 * time of a batch depends on its tokens; each sequence gets the bytes that it would get alone.
 *
 * error   TSR_E_ARGUMENT  as tsri_session_forward, or more tokens than the encoder reads
 *         TSR_E_STATE     the model has no encoder, or lacks the head that a result comes from */
tsr_status tsri_session_encode(tsri_session *session, const tsri_model_sequence *sequences,
                               int32_t n, const tsri_model_results *results);

/* Runs a batch. Long inputs are run in chunks.
 *
 * alloc   nothing after the first call of a shape, until the KV capacity must grow
 * error   TSR_E_ARGUMENT  an id, slot, length or position is out of range, or past + n is above the
 *                         context (the message has both numbers)
 *         TSR_E_DEVICE_MEMORY  the capacity is what it was, and the slots have what they had; what was
 *                         reserved beyond it is not any more */
tsr_status tsri_session_forward(tsri_session *session, const tsri_model_sequence *sequences,
                                int32_t n, const tsri_model_results *results);

/* The two halves of a forward pass, and of one through the encoder of an encoder-decoder, which gives
 * nothing. Where ranks share the layers, several may be under way, so that each rank has one to work on: a
 * pass does not need the results of those that began before it. Of more than 8 runs the oldest is ended.
 * Elsewhere all is done when it has begun.
 *
 * *pass  what end is called with: it ends this pass, and those that began earlier
 * alias  results' memory is written until the pass has ended; sequences are read until it has begun
 * error  no pass is under way any more */
tsr_status tsri_session_begin(tsri_session *session, const tsri_model_sequence *sequences,
                              int32_t n, const tsri_model_results *results, uint64_t *pass);
tsr_status tsri_session_begin_encode(tsri_session *session, const tsri_model_sequence *sequences,
                                     int32_t n, uint64_t *pass);
tsr_status tsri_session_end(tsri_session *session, uint64_t pass);
/* How many groups of sequences should take turns with passes, so that each rank has one to work on: 1
 * where this process has all layers. */
uint32_t tsri_model_groups(const tsri_model *model);
/* Where what is under way is not wanted any more: waits until no result's memory is written. */
void tsri_session_give_up(tsri_session *session);

/* Tells the devices that forward passes of B sequences of T tokens with these results will follow when
 * sources of up to `source` tokens have been encoded, so that kernels can be built meanwhile. by_keys:
 * the sequences have keys. */
tsr_status tsri_session_announce(tsri_session *session, int64_t B, int64_t T, int64_t source,
                                 bool by_keys, const tsri_model_results *results);

enum { TSRI_SESSION_AHEAD = 2 };
/* Starts a run before the results of the one before it are known: one more token for each sequence of
 * the last run, which is the argmax that the last run found, or with draws [R] what it drew, and which
 * stays on the device. ids [R], as argmax or drawn in tsri_model_results, is written when the run has
 * been finished. At most TSRI_SESSION_AHEAD are under way; no other call of the session but finish is
 * allowed until all are finished.
 *
 * *started is false, and nothing happens, where the next run must be a forward pass: the last one gave
 * anything else or more than a token for each sequence, a sequence would leave the room that is
 * reserved or the pages that it has, as many are under way, or the device gains nothing (a CPU). */
tsr_status tsri_session_follow(tsri_session *session, const tsri_tensor_draw *draws, int32_t *ids,
                               bool *started);
/* Waits for the oldest run that follow started; does nothing where there is none. */
tsr_status tsri_session_finish(tsri_session *session);

enum { TSRI_SESSION_FEW_ROWS = TSRI_MODEL_FEW_ROWS };
/* Whether a sequence may be given tokens that are only guessed, with all rows wanted, and be cut behind
 * those that turn out right: the next run's `past` is smaller. Each row then has the bytes that it has
 * where tokens come one by one. Not where states can't be cut (a recurrent decoder), where positions
 * depend on the length of a run, or where a kernel variant was forced that gives a batch bytes of its own.
 * Up to TSRI_SESSION_FEW_ROWS rows of all sequences together are run at once.
 *
 * *gains  whether so many rows take little more time than one: not where each row chooses its own
 *         experts, and not on the reference backend
 *
 * Before the first run *can is false. */
tsr_status tsri_session_can_draft(tsri_session *session, bool *can, bool *gains);

/* Copies the keys and values of the first n tokens of a slot, or of a page, which has at least so many, to
 * another one: a sequence that begins with the same tokens goes on there with past n. */
tsr_status tsri_session_copy(tsri_session *session, int32_t from, int32_t to, int64_t n);

/* Makes room for `tokens` in each slot, so that steps up to there need not grow it. */
tsr_status tsri_session_reserve(tsri_session *session, int64_t tokens);

int64_t tsri_session_context(const tsri_session *session);
int64_t tsri_session_capacity(const tsri_session *session);
int32_t tsri_session_slots(const tsri_session *session);
int64_t tsri_session_source_context(const tsri_session *session);
/* For explain: the plan of a run with one sequence of `tokens` tokens that gives logits and argmax;
 * in a model without a decoder, the encoder's plan. */
tsr_status tsri_session_plan(tsri_session *session, int64_t tokens, tsri_run_plan **out);
/* How many of them a run of that plan takes: a longer prompt is read in pieces. */
int64_t tsri_session_plan_tokens(const tsri_session *session, int64_t tokens);
/* The same for an encoder: with every head that the model has, or with a source to keep. */
tsr_status tsri_session_encode_plan(tsri_session *session, int64_t tokens, tsri_run_plan **out);

/* For the benchmark: the plan that forward passes of B sequences of T tokens with these results
 * run, as tsri_session_announce takes them. Of what the caller's memory is for, only whether it is
 * there counts. */
tsr_status tsri_session_pass_plan(tsri_session *session, int64_t B, int64_t T, int64_t source,
                                  bool by_keys, const tsri_model_results *results,
                                  tsri_run_plan **out);
/* The same for an encoder that is given B texts of T tokens at once. */
tsr_status tsri_session_encode_pass_plan(tsri_session *session, int64_t B, int64_t T,
                                         const tsri_model_results *results, tsri_run_plan **out);

#endif
