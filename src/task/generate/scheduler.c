/* task/generate/scheduler.c - requests that wait, run, and leave. Their keys and values lie in pages, which
 * requests take as they grow; a prompt that begins like what pages hold shares them. Where pages run out,
 * the newest request is put back to those that wait. */
#include "task/generate/scheduler_parts.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/model.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SLOTS = 8, KEPT = 64 };

tsr_status tsr_scheduler_add(tsr_scheduler *scheduler, const tsr_request *given, uint64_t *id) {
    tsr_request known;
    tsri_task_request *r = NULL;
    TRY(NEED(scheduler));
    TRY(NEED(given));
    TRY(NEED(id));
    TRY(tsri_base_adopt("tsr_request", given, &known, sizeof known));
    TRY(tsri_base_need(__func__, "request->prompt", known.prompt != NULL));
    TRY(tsri_base_need(__func__, "request->ends", known.ends || !known.n_ends));
    TRY(tsri_base_new(1, sizeof *r, &r));
    const tsr_status status = tsri_task_request_fill(scheduler, &known, r);
    if (status != TSR_OK) {
        tsri_task_request_free(r);
        return status;
    }
    *id = r->id = ++scheduler->ids;
    *(scheduler->last ? &scheduler->last->next : &scheduler->first) = r;
    scheduler->last = r;
    scheduler->counts.waiting++;
    return TSR_OK;
}

tsr_status tsr_scheduler_cancel(tsr_scheduler *scheduler, uint64_t id) {
    TRY(NEED(scheduler));
    if (!id || id > scheduler->ids)
        return tsri_base_fail(TSR_E_ARGUMENT, "request %" PRIu64 ": %" PRIu64 " have been added",
                              id, scheduler->ids);
    for (tsri_task_request *r = scheduler->first, *before = NULL; r; before = r, r = r->next)
        if (r->id == id) {
            tsri_task_request_free(tsri_task_places_take_waiting(scheduler, before, r));
            scheduler->counts.cancelled++;
            return TSR_OK;
        }
    for (uint32_t i = 0; i < scheduler->n; i++) {
        tsri_task_request *r = scheduler->running[i];
        if (r && r->id == id && r->member.status == TSR_OK && !r->sequence.finish)
            r->member.status = TSR_E_CANCELLED;
    }
    return TSR_OK;
}

static void add_guesses(const tsr_scheduler *s, tsr_scheduler_counts *to) {
    const tsri_task_batch_counts none = {0},
                                 *c = s->batch ? tsri_task_batch_counts_of(s->batch) : &none;
    to->drafts += c->drafts;
    to->drafted_tokens += c->drafted;
    to->accepted_tokens += c->accepted;
}

/* After a failed run nobody knows what the pages hold. */
static void fail_all(tsr_scheduler *s, tsr_status status) {
    for (uint32_t i = 0; i < s->n; i++) {
        tsri_task_request *r = s->running[i];
        if (r && !tsri_task_request_ended(r)) {
            r->member.status = status;
            (void)tsri_task_request_tell(r, status, NULL, false);
        }
        if (r) {
            r->sequence.past = 0;
            tsri_task_places_leave(s, &s->running[i]);
        }
    }
    tsri_task_pages_forget(s->pages);
    add_guesses(s, &s->counts);
    tsri_task_batch_destroy(&s->batch);
}

/* ---- the scheduler ---- */

static tsr_status make_batch(tsr_scheduler *s) {
    const tsri_task_batch_options options = {.slots = s->n,
                                             .step_tokens = s->step_tokens,
                                             .kept = KEPT,
                                             .pages = s->pages,
                                             .failed = tsri_task_request_failed,
                                             .data = s};
    return tsri_task_batch_create(s->session, &options, &s->batch);
}

static tsr_status step(tsr_scheduler *s) {
    if (!s->batch)
        TRY(make_batch(s));
    if (tsri_task_places_change(s)) {
        TRY(tsri_task_batch_settle(s->batch));
        tsri_task_places_leave_ended(s);
        tsri_task_places_make_room(s);
        TRY(tsri_task_places_join_waiting(s));
    } else if (!tsri_task_batch_busy(s->batch)) {
        tsri_task_places_make_room(s);
    }
    TRY(tsri_task_batch_step(s->batch));
    tsri_task_places_note(s);
    if (!tsri_task_batch_busy(s->batch))
        tsri_task_places_leave_ended(s);
    return TSR_OK;
}

tsr_status tsr_scheduler_step(tsr_scheduler *scheduler, tsr_scheduler_event_fn event, void *data) {
    tsr_scheduler *s = scheduler;
    TRY(NEED(scheduler));
    s->event = event;
    s->data = data;
    s->counts.steps++;
    const tsr_status status = step(s);
    if (status != TSR_OK)
        fail_all(s, status);
    return status;
}

/* Pages for the tokens that the options say, or for a half of all contexts, but one at least. */
static tsr_status count_pages(const tsr_scheduler *s, const tsr_scheduler_options *o,
                              int32_t *out) {
    const int64_t context = o->context ? o->context : s->model->spec.context,
                  half = ((int64_t)s->n + 1) / 2, most = INT32_MAX / 2;
    int64_t tokens = o->kv_tokens, pages;
    if (!tokens && !tsri_base_mul_i64(half, context, &tokens))
        tokens = INT64_MAX;
    pages = tokens / TSRI_MODEL_PAGE + (tokens % TSRI_MODEL_PAGE != 0);
    if (pages > most)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "memory for keys and values of %" PRId64
                              " tokens was asked for; at most %" PRId64 " can be counted",
                              tokens, most * TSRI_MODEL_PAGE);
    *out = (int32_t)pages;
    return TSR_OK;
}

static tsr_status make(tsr_scheduler *s, const tsr_scheduler_options *o) {
    const tsri_model_rope *rope = &s->model->spec.decoder.rope;
    s->n = o->slots ? o->slots : SLOTS;
    s->steady = rope->scaling == TSRI_SCALING_DYNAMIC;
    s->reuse = !o->no_reuse && !s->steady;
    tsri_session_sizes sizes = {.slots = (int32_t)s->n, .context = o->context};
    TRY(count_pages(s, o, &sizes.pages));
    TRY(tsri_session_create_sized(s->model, &sizes, &s->session));
    s->counts.kv_tokens = (int64_t)sizes.pages * TSRI_MODEL_PAGE;
    s->context = tsri_session_context(s->session);
    TRY(tsri_session_reserve(s->session, s->context));
    if (s->context > s->counts.kv_tokens)
        s->context = s->counts.kv_tokens;
    TRY(tsri_task_pages_create(sizes.pages, &s->pages));
    TRY(tsri_base_new(s->n, sizeof(tsri_task_request *), &s->running));
    s->counts.slots = s->n;
    s->counts.context = s->context;
    s->step_tokens = o->step_tokens ? o->step_tokens : TSRI_TASK_STEP_SHARED;
    return make_batch(s);
}

tsr_status tsr_scheduler_create(tsr_model *model, const tsr_scheduler_options *options,
                                tsr_scheduler **out) {
    tsr_scheduler_options known;
    tsr_scheduler *s = NULL;
    TRY(NEED(out));
    *out = NULL;
    TRY(NEED(model));
    TRY(tsri_base_adopt("tsr_scheduler_options", options, &known, sizeof known));
    tsri_model *m = tsri_model_of(model);
    if (known.slots > INT32_MAX || known.context < 0 || known.step_tokens < 0 ||
        known.kv_tokens < 0)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a scheduler of %u slots, context %" PRId64 ", %" PRId64
                              " tokens a step, %" PRId64
                              " tokens of keys and values: numbers from 0 on are wanted",
                              known.slots, known.context, known.step_tokens, known.kv_tokens);
    if (!m->spec.decoder.layers || m->spec.encoder.layers)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s (%s) is not a decoder alone, and only such a model continues "
                              "requests that come at any time",
                              m->path, m->spec.family);
    TRY(tsri_model_need_device(m));
    TRY(tsri_base_new(1, sizeof *s, &s));
    s->model = m;
    const tsr_status status = make(s, &known);
    if (status != TSR_OK)
        tsr_scheduler_destroy(&s);
    *out = s;
    return status;
}

void tsr_scheduler_destroy(tsr_scheduler **scheduler) {
    tsr_scheduler *s = scheduler ? *scheduler : NULL;
    if (!s)
        return;
    tsri_task_batch_destroy(&s->batch);
    while (s->first)
        tsri_task_request_free(tsri_task_places_take_waiting(s, NULL, s->first));
    for (uint32_t i = 0; s->running && i < s->n; i++)
        if (s->running[i])
            tsri_task_request_free(s->running[i]);
    free(s->running);
    tsri_task_pages_destroy(&s->pages);
    tsri_session_destroy(&s->session);
    free(s);
    *scheduler = NULL;
}

tsr_status tsr_scheduler_count(const tsr_scheduler *scheduler, tsr_scheduler_counts *counts) {
    TRY(NEED(scheduler));
    TRY(NEED(counts));
    TRY(tsri_base_check_out("tsr_scheduler_counts", counts));
    tsr_scheduler_counts now = scheduler->counts;
    add_guesses(scheduler, &now);
    for (uint32_t i = 0; i < scheduler->n; i++)
        if (scheduler->running[i])
            now.tokens += (int64_t)scheduler->running[i]->sequence.ids.count;
    now.kv_used = (int64_t)tsri_task_pages_used(scheduler->pages) * TSRI_MODEL_PAGE;
    tsri_base_give(&now, sizeof now, counts);
    return TSR_OK;
}
