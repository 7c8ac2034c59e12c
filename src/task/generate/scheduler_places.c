/* task/generate/scheduler_places.c - which requests run, and in which pages: they join, make room for others, wait
 * again and leave. */
#include "task/generate/scheduler_parts.h"

#include "base/error.h"

enum { WORTH = 32 }; /* tokens that are waited for rather than computed again */

tsri_task_request *tsri_task_places_take_waiting(tsr_scheduler *s, tsri_task_request *before,
                                                 tsri_task_request *r) {
    *(before ? &before->next : &s->first) = r->next;
    if (s->last == r)
        s->last = before;
    s->full = false;
    s->counts.waiting--;
    return r;
}

/* What of a request's tokens pages hold. The last token's logits are wanted, or all of them. */
static tsri_task_beginning find_beginning(const tsr_scheduler *s, const tsri_task_request *r) {
    const int64_t most = s->reuse && !r->member.scoring ? (int64_t)r->sequence.ids.count - 1 : 0;
    return tsri_task_pages_find(s->pages, r->sequence.ids.data, most);
}

/* Whether another request is about to compute more pages of a request's tokens than there are: then they
 * are not computed twice. */
static bool comes(const tsr_scheduler *s, const tsri_task_request *r, int64_t has) {
    bool found = false;
    for (uint32_t i = 0; s->reuse && !r->member.scoring && i < s->n; i++) {
        const tsri_task_request *other = s->running[i];
        const tsri_text_ids *ids = other ? &other->sequence.ids : NULL;
        const int64_t alike = ids ? (int64_t)tsri_text_ids_common(ids, &r->sequence.ids) : 0;
        const int64_t n = alike - alike % TSRI_MODEL_PAGE;
        found |= other && !tsri_task_request_ended(other) && n > other->sequence.past &&
                 n >= has + WORTH;
    }
    return found;
}

/* The tokens that a request may have at most. */
static int64_t most_tokens(const tsri_task_request *r) {
    const int64_t has = (int64_t)r->sequence.ids.count, most = r->decoding.context,
                  left = tsri_task_left(&r->decoding, &r->sequence);
    return left >= 0 && left < most - has ? has + left : most;
}

/* The running requests that may need a further page. */
static int32_t count_growing(const tsr_scheduler *s) {
    int32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const tsri_task_request *r = s->running[i];
        n += r && !tsri_task_request_ended(r) &&
             (int64_t)r->pages.pages.n * TSRI_MODEL_PAGE < most_tokens(r);
    }
    return n;
}

/* Gives a request pages for the tokens that it has, if after that each running one can have another page, too:
 * else it would soon be put back. Where it can't be, it gets all that it may need. */
static bool take_pages(tsr_scheduler *s, tsri_task_request *r, const tsri_task_beginning *found,
                       int32_t *copy) {
    const int32_t *ids = r->sequence.ids.data;
    const int64_t tokens = s->steady ? most_tokens(r) : (int64_t)r->sequence.ids.count;
    if (!tsri_task_pages_begin(s->pages, ids, found, tokens, &r->pages, copy))
        return false;
    if (tsri_task_pages_count(s->pages) - tsri_task_pages_used(s->pages) >= count_growing(s))
        return true;
    tsri_task_pages_release(s->pages, &r->pages, ids,
                            found->tokens + (*copy < 0 ? found->rows : 0));
    return false;
}

void tsri_task_places_leave(tsr_scheduler *s, tsri_task_request **place) {
    tsri_task_request *r = *place;
    tsri_task_sequence *q = &r->sequence;
    tsri_task_batch_remove(s->batch, &r->member);
    tsri_task_pages_release(s->pages, &r->pages, q->ids.data, q->past);
    *place = NULL;
    s->full = false;
    s->counts.running--;
    s->counts.cancelled += r->member.status == TSR_E_CANCELLED && !q->finish;
    tsri_task_request_free(r);
}

void tsri_task_places_leave_ended(tsr_scheduler *s) {
    for (uint32_t i = 0; i < s->n; i++)
        if (s->running[i] && tsri_task_request_ended(s->running[i]))
            tsri_task_places_leave(s, &s->running[i]);
}

/* Puts a request before those that wait. Its tokens are computed again, or found in its old pages; what it was
 * given is not given again. */
static void put_back(tsr_scheduler *s, tsri_task_request **place) {
    tsri_task_request *r = *place;
    tsri_task_sequence *q = &r->sequence;
    tsri_task_batch_remove(s->batch, &r->member);
    tsri_task_pages_release(s->pages, &r->pages, q->ids.data, q->past);
    q->past = 0;
    if (r->member.scoring && r->scoring.given >= (int64_t)r->prompt_tokens)
        r->member.scoring = NULL;
    r->put_back = true;
    r->next = s->first;
    s->first = r;
    s->last = s->last ? s->last : r;
    *place = NULL;
    s->counts.running--;
    s->counts.waiting++;
    s->counts.put_back++;
}

static tsri_task_request **newest(tsr_scheduler *s) {
    tsri_task_request **best = NULL;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->running[i] && (!best || s->running[i]->id > (*best)->id))
            best = &s->running[i];
    return best;
}

/* The oldest request whose pages have no room for all of its tokens. */
static tsri_task_request *oldest_lacking(const tsr_scheduler *s) {
    tsri_task_request *best = NULL;
    for (uint32_t i = 0; i < s->n; i++) {
        tsri_task_request *r = s->running[i];
        const bool lacks =
            r && !tsri_task_request_ended(r) &&
            (int64_t)r->pages.pages.n * TSRI_MODEL_PAGE < (int64_t)r->sequence.ids.count;
        if (lacks && (!best || r->id < best->id))
            best = r;
    }
    return best;
}

void tsri_task_places_make_room(tsr_scheduler *s) {
    tsri_task_request *r;
    while ((r = oldest_lacking(s)))
        if (!tsri_task_pages_grow(s->pages, &r->pages, (int64_t)r->sequence.ids.count))
            put_back(s, newest(s));
}

static tsri_task_request **free_place(tsr_scheduler *s) {
    for (uint32_t i = 0; i < s->n; i++)
        if (!s->running[i])
            return &s->running[i];
    return NULL;
}

static tsr_status join(tsr_scheduler *s, tsri_task_request **place,
                       const tsri_task_beginning *found, int32_t copy, tsri_task_request *r) {
    tsri_task_sequence *q = &r->sequence;
    q->past = found->tokens + found->rows;
    q->slot = q->source = (int32_t)(place - s->running);
    q->pages = &r->pages;
    if (!r->put_back) {
        r->cached_tokens = (uint32_t)q->past;
        s->counts.prompt_tokens += r->prompt_tokens;
        s->counts.cached_tokens += r->cached_tokens;
    }
    s->counts.running++;
    *place = r;
    if (copy >= 0 &&
        copy != found->copied) /* its memory may have been given to this tsri_task_request */
        TRY(tsri_session_copy(s->session, found->copied, copy, found->rows));
    const tsr_status status = tsri_task_batch_add(s->batch, &r->member);
    if (status != TSR_OK) {
        r->member.status = status;
        (void)tsri_task_request_failed(s, &r->member);
    }
    return TSR_OK;
}

/* The first request that need not wait any more; NULL: none. Where pages are too few for one, those behind it
 * wait, too. */
static tsri_task_request *take_ready(tsr_scheduler *s, tsri_task_beginning *found, int32_t *copy) {
    for (tsri_task_request *r = s->first, *before = NULL; r; before = r, r = r->next) {
        *found = find_beginning(s, r);
        if (comes(s, r, found->tokens + found->rows))
            continue;
        s->full = !take_pages(s, r, found, copy);
        return s->full ? NULL : tsri_task_places_take_waiting(s, before, r);
    }
    return NULL;
}

tsr_status tsri_task_places_join_waiting(tsr_scheduler *s) {
    tsri_task_beginning found;
    tsri_task_request *r, **place;
    int32_t copy;
    while ((place = free_place(s)) && (r = take_ready(s, &found, &copy)))
        TRY(join(s, place, &found, copy,
                 r)); /* may tell events, which may cancel those that wait */
    return TSR_OK;
}

bool tsri_task_places_change(tsr_scheduler *s) {
    bool leaves = false;
    for (uint32_t i = 0; i < s->n; i++)
        leaves |= s->running[i] && tsri_task_request_ended(s->running[i]);
    return leaves || (free_place(s) && s->first && !s->full);
}

void tsri_task_places_note(tsr_scheduler *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        tsri_task_request *r = s->running[i];
        if (r)
            tsri_task_pages_note(s->pages, &r->pages, r->sequence.ids.data, r->sequence.past);
    }
}
