/* task/generate/scheduler_parts.h - what the files of the scheduler share: requests, and their places. */
#ifndef TSRI_TASK_GENERATE_SCHEDULER_PARTS_H
#define TSRI_TASK_GENERATE_SCHEDULER_PARTS_H

#include "tessera/scheduler.h"

#include "task/generate/batch.h"

typedef struct tsri_task_request {
    struct tsri_task_request *next; /* of those that wait */
    tsr_scheduler *scheduler;
    uint64_t id;
    void *data; /* the caller's */
    tsri_task_own_options own;
    int32_t *ends;
    tsri_task_decoding decoding;
    tsri_task_sequence sequence;
    tsri_task_page_list pages;
    tsri_task_token_rules rules;
    tsri_task_scoring scoring;
    tsri_task_member member;
    uint32_t prompt_tokens, cached_tokens;
    bool put_back; /* it ran before */
} tsri_task_request;

struct tsr_scheduler {
    tsri_model *model;
    tsri_session *session;
    tsri_task_batch *batch;
    tsri_task_pages *pages;
    tsri_task_request **running; /* [n] by slot; NULL: it is free */
    uint32_t n;
    bool reuse;
    bool
        steady; /* positions depend on the length of a run: what was computed in steps is not computed again */
    bool full; /* the first one that waits found too few pages, and none have come free since */
    int64_t context, step_tokens;
    tsri_task_request *first,
        *last;    /* those that wait, by their numbers but for those that others went past */
    uint64_t ids; /* the highest number given */
    tsr_scheduler_counts counts;
    tsr_scheduler_event_fn event; /* of the step that runs */
    void *data;
};

static inline bool tsri_task_request_ended(const tsri_task_request *r) {
    return r->sequence.finish || r->member.status != TSR_OK;
}

/* ---- scheduler_requests.c ---- */

/* Makes a request of what was given. The caller frees *r, after a failure, too. */
tsr_status tsri_task_request_fill(tsr_scheduler *scheduler, const tsr_request *given,
                                  tsri_task_request *r);
void tsri_task_request_free(tsri_task_request *r);
/* Tells the caller of the step what happened to a request; returns whether it is to be cancelled. */
int tsri_task_request_tell(tsri_task_request *r, tsr_status status, const tsr_generated *generated,
                           bool of_prompt);
/* A tsri_task_failed_fn: tells that a request failed by itself. */
tsr_status tsri_task_request_failed(void *data, tsri_task_member *member);

/* ---- scheduler_places.c: what of it follows is called while no run is under way, but for notes ---- */

/* Takes a request that stands behind `before` (NULL: it is the first) from those that wait. */
tsri_task_request *tsri_task_places_take_waiting(tsr_scheduler *s, tsri_task_request *before,
                                                 tsri_task_request *r);
/* Whether a request can leave or join once no run is under way. */
bool tsri_task_places_change(tsr_scheduler *s);
/* Frees a running request; its pages are found by what they hold. */
void tsri_task_places_leave(tsr_scheduler *s, tsri_task_request **place);
void tsri_task_places_leave_ended(tsr_scheduler *s);
/* Gives each running request the pages that its next step needs, the oldest first; the newest ones make room
 * for it. The oldest alone always has room: no request may have more tokens than there are pages for. */
void tsri_task_places_make_room(tsr_scheduler *s);
/* Lets those that wait take free places and pages. */
tsr_status tsri_task_places_join_waiting(tsr_scheduler *s);
/* What was computed may be found from now on. */
void tsri_task_places_note(tsr_scheduler *s);

#endif
