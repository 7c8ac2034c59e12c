/* task/generate/batch.h - sequences that are decoded together, each by options of its own: they join
 * and leave between steps, and a step gives each of them one token or takes in a piece of its
 * prompt. What a sequence gets does not depend on the others. */
#ifndef TSRI_TASK_GENERATE_BATCH_H
#define TSRI_TASK_GENERATE_BATCH_H

#include "task/generate/drafts.h"
#include "task/generate/prompt_scores.h"

/* One sequence of a batch. It takes part in steps as long as its sequence has not finished and its
 * status is TSR_OK. */
typedef struct tsri_task_member {
    const tsri_task_decoding *decoding; /* its options, limits and callback */
    tsri_task_sequence *sequence;
    const tsri_task_token_rules *rules;
    tsri_task_scoring *scoring; /* not NULL: its prompt's tokens are given first; past is 0 */
    tsr_status status;
    /* Set by tsri_task_batch_add: what the sequence needs of each step. */
    int32_t top_k; /* so many of the largest logits; 0: whole rows, unless it is greedy */
    bool greedy;   /* nothing but the likeliest token */
    bool drawn;    /* nothing but a token that the device can draw of the top_k largest */
    bool banning;  /* tokens may be banned */
} tsri_task_member;

/* Called in a step where a member fails by itself (its callback cancelled, its logits are not
 * finite); its status is set, and the error record has the sentence. What it returns ends the step,
 * if it is not TSR_OK. */
typedef tsr_status (*tsri_task_failed_fn)(void *data, tsri_task_member *member);

/* Prompts get as much of a step's time as the tokens of other members, and more where many members wait for their
 * prompts; up to 512 tokens. */
enum { TSRI_TASK_STEP_SHARED = -1 };

typedef struct tsri_task_batch_options {
    uint32_t slots;      /* members at the same time */
    int64_t step_tokens; /* tokens of prompts that a step takes in at most; 0: any number; or: */
    /* How many of the largest logits the device finds: the same in every step, so that the order of its
     * sums does not depend on who else is in the batch. 0: as many as the members need. */
    int32_t kept;
    tsri_task_pages *pages;     /* that members take further ones of; NULL: they have slots */
    tsri_task_failed_fn failed; /* NULL: the step ends with the member's status */
    void *data;
} tsri_task_batch_options;

typedef struct tsri_task_batch_counts {
    uint64_t tokens;   /* that steps have given */
    uint64_t first_ns; /* when the first of them was known, by tsri_base_now_ns; 0: none yet */
    uint64_t drafts;   /* runs of a member with tokens that were guessed, how many these were, */
    uint64_t drafted, accepted; /* and how many of them were right */
} tsri_task_batch_counts;

typedef struct tsri_task_batch tsri_task_batch;

/* Until the batch is destroyed, the session is used only by it and by batches that take turns with it. */
tsr_status tsri_task_batch_create(tsri_session *session, const tsri_task_batch_options *options,
                                  tsri_task_batch **out);
/* Waits for runs that are under way. */
void tsri_task_batch_destroy(tsri_task_batch **batch);

/* Adds a member, which the batch borrows until it is removed, and ends it at once where its options
 * leave no room for a token. One that was removed may be added again, with a smaller `past`: it goes on where it was.
 * A member's pages have room for all of its tokens that are known. At most `slots` at the same time. */
tsr_status tsri_task_batch_add(tsri_task_batch *batch, tsri_task_member *member);
/* Not while the batch is busy. */
void tsri_task_batch_remove(tsri_task_batch *batch, const tsri_task_member *member);
/* Whether runs are under way whose ids are not known yet: the slots of all members stay in use. */
bool tsri_task_batch_busy(const tsri_task_batch *batch);
/* Waits for the runs that are under way, and gives their tokens. */
tsr_status tsri_task_batch_settle(tsri_task_batch *batch);

/* Gives a token to every member whose prompt is taken in, then takes in prompts, in the order in which
 * their members joined; at a prompt's end its member gets a token, too. Where the text of a member has
 * gone on like this before (lookup.h), it may get several tokens: those of the first run that are the
 * guessed ones, and the next one.
 *
 * alloc   nothing after the first steps, except for text
 * error   as tsri_session_forward: then what the members have is not known */
tsr_status tsri_task_batch_step(tsri_task_batch *batch);
/* In place of steps, where ranks share the layers and several batches of one session take turns: ends the
 * run of its last turn and gives the tokens, takes in prompts, and begins a run, which is under way while
 * other batches have their turns. */
tsr_status tsri_task_batch_turn(tsri_task_batch *batch);
const tsri_task_batch_counts *tsri_task_batch_counts_of(const tsri_task_batch *batch);

#endif
