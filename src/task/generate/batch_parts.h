/* task/generate/batch_parts.h - what the files of a batch share: its memory, and what a member needs next. */
#ifndef TSRI_TASK_GENERATE_BATCH_PARTS_H
#define TSRI_TASK_GENERATE_BATCH_PARTS_H

#include "task/generate/batch.h"

struct tsri_task_batch {
    tsri_task_batch_options options;
    tsri_session *session;
    tsri_task_member **members; /* [slots] in the order in which they joined */
    tsri_task_member **rows;    /* [slots] those of the last run */
    tsri_model_sequence *inputs;
    uint32_t n, n_rows;
    int64_t *drafted;                   /* [slots] how many tokens of each input are guessed */
    int32_t fed[TSRI_SESSION_FEW_ROWS]; /* the tokens of a run with guesses */
    uint32_t n_fed;
    tsri_task_draft drafts[TSRI_SESSION_FEW_ROWS];
    tsri_task_pace pace;
    double answer_ns; /* how long a step's tokens take, without prompts; 0: not known yet */
    double prompt_ns; /* a token of a prompt; the same */
    tsri_model_results results; /* of the last run; of argmax and drawn, which of them it gave */
    /* What the device chose in it, by argmax or by draws; in those under way, the oldest first */
    int32_t *chosen, *ids[TSRI_SESSION_AHEAD];
    tsri_tensor_draw *draws;
    int32_t *top_ids;
    float *top_logits, *top_lse, *logits;
    size_t top_logits_room, top_ids_room, logits_room;
    tsri_task_sampler *sampler;
    tsri_task_bans bans;
    int32_t ahead; /* runs under way */
    bool begun;    /* a run that gives tokens is under way, which ends with `pass` */
    uint64_t pass;
    tsri_task_batch_counts counts;
};

/* Rows of a run whose results are wanted. */
static inline uint32_t tsri_task_batch_most_rows(const tsri_task_batch_options *options) {
    return options->slots > TSRI_SESSION_FEW_ROWS ? options->slots : TSRI_SESSION_FEW_ROWS;
}

static inline int32_t tsri_task_member_vocab(const tsri_task_member *m) {
    return m->decoding->model->spec.vocab;
}

/* How many of the largest logits the device finds for a member that needs `top_k`. */
static inline int32_t tsri_task_member_kept(const tsri_task_batch *b, const tsri_task_member *m,
                                            int32_t top_k) {
    const int32_t fixed =
        b->options.kept < tsri_task_member_vocab(m) ? b->options.kept : tsri_task_member_vocab(m);
    return fixed ? fixed : top_k;
}

static inline int64_t tsri_task_smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Tokens of a member that are not yet in its slot. */
static inline int64_t tsri_task_member_unfed(const tsri_task_member *m) {
    return (int64_t)m->sequence->ids.count - m->sequence->past;
}

/* Whether a member has room for `tokens`, with further pages if it needs them. */
static inline bool tsri_task_member_fits(const tsri_task_batch *b, const tsri_task_member *m,
                                         int64_t tokens) {
    return !m->sequence->pages ||
           tsri_task_pages_grow(b->options.pages, m->sequence->pages, tokens);
}

/* Whether tokens of its prompt are to be scored: all but the last are fed for that. The last one is fed
 * for the first new token, as in every other request. */
static inline bool tsri_task_member_scores(const tsri_task_member *m) {
    return m->scoring && tsri_task_member_unfed(m) > 1;
}

static inline bool tsri_task_member_goes_on(const tsri_task_member *m) {
    return !m->sequence->finish && m->status == TSR_OK;
}

/* Whether a member has yet to take in its prompt, be it of one token. */
static inline bool tsri_task_member_reads(const tsri_task_member *m) {
    return tsri_task_member_goes_on(m) && (tsri_task_member_unfed(m) > 1 || m->sequence->past == 0);
}

/* Whether it has, and gets a token in each step. */
static inline bool tsri_task_member_decodes(const tsri_task_member *m) {
    return tsri_task_member_goes_on(m) && !tsri_task_member_reads(m);
}

/* ---- batch_members.c ---- */

/* How many rows of logits a run gives at most. */
int64_t tsri_task_batch_scored_rows(const tsri_task_batch *batch, const tsri_task_member *member);
/* Finds what a member needs of each step, and makes room for it. */
tsr_status tsri_task_batch_plan(tsri_task_batch *batch, tsri_task_member *member);
/* Gives the first token of a prompt that is scored, ends a sequence that has no room, or adds a first
 * token that the model's files force. */
tsr_status tsri_task_member_start(const tsri_task_member *member);
/* Ends a sequence that has no room for a new token. */
tsr_status tsri_task_member_end_full(const tsri_task_member *member);
/* Keeps a member's failure to itself, where the batch's options say so. */
tsr_status tsri_task_batch_fail(tsri_task_batch *batch, tsri_task_member *member,
                                tsr_status status);
/* Gives a token to each member of the last run whose tokens are all in its slot, and another one for
 * each guess that is right. */
tsr_status tsri_task_batch_give(tsri_task_batch *batch);

/* ---- batch_guesses.c ---- */

/* Chooses how many tokens are guessed for each member of the next step: in batch->drafts, in the order of
 * the members. *any: not 0 for all of them. */
tsr_status tsri_task_batch_guess(tsri_task_batch *batch, bool *any);
/* Counts how long a step took that began at `begun` (tsri_base_now_ns) and decoded the members of the last
 * run. */
void tsri_task_batch_pace(tsri_task_batch *batch, uint64_t begun);

/* ---- batch_share.c ---- */

/* How many tokens of prompts the step takes in at most. */
int64_t tsri_task_batch_room(const tsri_task_batch *batch);
/* Count how long the members of the last run took that decode, or `tokens` of prompts, since `begun`. */
void tsri_task_batch_note_answers(tsri_task_batch *batch, uint64_t begun);
void tsri_task_batch_note_prompts(tsri_task_batch *batch, uint64_t begun, int64_t tokens);

#endif
