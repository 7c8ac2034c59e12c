/* task/generate/scheduler.c - requests that wait, run, and leave. Their keys and values lie in pages, which
 * requests take as they grow; a prompt that begins like what pages hold shares them. Where pages run out,
 * the newest request is put back to those that wait. */
#include "tessera/scheduler.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/model.h"
#include "task/generate/batch.h"
#include "task/generate/settings.h"
#include "task/generate/template.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 8, STEP_TOKENS = 512, KEPT = 64 };
enum { WORTH = 32 }; /* tokens that are waited for rather than computed again */

typedef struct request {
    struct request *next; /* of those that wait */
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
} request;

struct tsr_scheduler {
    tsri_model *model;
    tsri_session *session;
    tsri_task_batch *batch;
    tsri_task_pages *pages;
    request **running; /* [n] by slot; NULL: it is free */
    uint32_t n;
    bool reuse;
    bool
        steady; /* positions depend on the length of a run: what was computed in steps is not computed again */
    bool full; /* the first one that waits found too few pages, and none have come free since */
    int64_t context, step_tokens;
    request *first,
        *last;    /* those that wait, by their numbers but for those that others went past */
    uint64_t ids; /* the highest number given */
    tsr_scheduler_counts counts;
    tsr_scheduler_event_fn event; /* of the step that runs */
    void *data;
};

/* ---- requests ---- */

static void free_request(request *r) {
    free(r->pages.pages.ids); /* the pages themselves belong to the scheduler */
    tsri_task_own_options_clear(&r->own);
    free(r->ends);
    tsri_task_sequence_clear(&r->sequence);
    tsri_task_token_rules_clear(&r->rules);
    tsri_task_scoring_clear(&r->scoring);
    free(r);
}

static int on_token(void *data, const tsr_generated *generated);
static int on_prompt_token(void *data, const tsr_generated *generated);

static tsr_status check_ends(const tsri_model *m, const tsr_request *given) {
    for (uint32_t i = 0; i < given->n_ends; i++)
        if (given->ends[i] < 0 || given->ends[i] >= m->spec.vocab)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "token id %d is to end the answer, but the model's vocabulary "
                                  "has the ids 0 to %d",
                                  (int)given->ends[i], (int)m->spec.vocab - 1);
    return TSR_OK;
}

/* Encodes the prompt, and finds the tokens that end the answer. */
static tsr_status take_prompt(request *r, const tsr_request *given, const tsr_chat_options *chat) {
    tsri_task_template *template = NULL;
    const tsri_model *m = r->scheduler->model;
    tsr_prompt prompt;
    TRY(tsri_base_adopt("tsr_prompt", given->prompt, &prompt, sizeof prompt));
    const size_t room = (size_t)given->n_ends + TSRI_TASK_TEMPLATE_ENDS;
    TRY(tsri_base_new(room, sizeof *r->ends, &r->ends));
    for (uint32_t i = 0; i < given->n_ends; i++)
        r->ends[i] = given->ends[i];
    if (chat || prompt.messages)
        TRY(tsri_task_template_create(m, chat, &template));
    const tsr_status status =
        tsri_task_prompt_ids(&r->decoding, template, given->prompt, &r->sequence.ids);
    uint32_t n = 0;
    const int32_t *ends = template ? tsri_task_template_ends(template, &n) : NULL;
    for (uint32_t i = 0; i < n; i++)
        r->ends[given->n_ends + i] = ends[i];
    r->decoding.ends = r->ends;
    r->decoding.n_ends = given->n_ends + n;
    tsri_task_template_destroy(&template);
    r->prompt_tokens = (uint32_t)r->sequence.ids.count;
    return status;
}

static tsr_status begin_scoring(request *r) {
    const tsri_model *m = r->scheduler->model;
    if (m->spec.decoder.rope.scaling == TSRI_SCALING_DYNAMIC)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: log-probabilities of a prompt are not given, because its "
                              "positions depend on the length of a run (dynamic scaling)",
                              m->path);
    r->member.scoring = &r->scoring;
    return tsri_task_scoring_begin(m, &r->own.options, on_prompt_token, &r->scoring);
}

static tsr_status fill_request(tsr_scheduler *s, const tsr_request *given, request *r) {
    tsr_generate_options known;
    TRY(tsri_task_adopt_search(s->model, given->options, &known));
    TRY(tsri_task_options_check(&known, s->model));
    if (known.num_beams > 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "num_beams is %u; requests that share a model are not searched: give "
                              "1, or use tsr_generate",
                              known.num_beams);
    TRY(check_ends(s->model, given));
    TRY(tsri_task_own_options_copy(&known, &r->own));
    r->scheduler = s;
    r->data = given->data;
    r->decoding = (tsri_task_decoding){.model = s->model,
                                       .session = s->session,
                                       .options = &r->own.options,
                                       .context = tsri_session_context(s->session),
                                       .generated = on_token,
                                       .data = r};
    if (known.context && known.context < r->decoding.context)
        r->decoding.context = known.context;
    TRY(take_prompt(r, given, known.chat));
    if ((int64_t)r->prompt_tokens > s->context)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "a prompt of %u tokens was given; the memory for keys and values holds "
            "%" PRId64 " tokens (--kv-tokens)",
            r->prompt_tokens, s->context);
    if (r->decoding.context > s->context)
        r->decoding.context = s->context;
    TRY(tsri_task_sequence_begin(&r->sequence, s->model, &r->own.options));
    TRY(tsri_task_token_rules_create(s->model, &r->own.options, r->ends, r->decoding.n_ends,
                                     &r->rules));
    r->member =
        (tsri_task_member){.decoding = &r->decoding, .sequence = &r->sequence, .rules = &r->rules};
    return given->prompt_logprobs ? begin_scoring(r) : TSR_OK;
}

tsr_status tsr_scheduler_add(tsr_scheduler *scheduler, const tsr_request *given, uint64_t *id) {
    tsr_request known;
    request *r = NULL;
    TRY(NEED(scheduler));
    TRY(NEED(given));
    TRY(NEED(id));
    TRY(tsri_base_adopt("tsr_request", given, &known, sizeof known));
    TRY(tsri_base_need(__func__, "request->prompt", known.prompt != NULL));
    TRY(tsri_base_need(__func__, "request->ends", known.ends || !known.n_ends));
    TRY(tsri_base_new(1, sizeof *r, &r));
    const tsr_status status = fill_request(scheduler, &known, r);
    if (status != TSR_OK) {
        free_request(r);
        return status;
    }
    *id = r->id = ++scheduler->ids;
    *(scheduler->last ? &scheduler->last->next : &scheduler->first) = r;
    scheduler->last = r;
    scheduler->counts.waiting++;
    return TSR_OK;
}

static request *take_waiting(tsr_scheduler *s, request *before, request *r) {
    *(before ? &before->next : &s->first) = r->next;
    if (s->last == r)
        s->last = before;
    s->full = false;
    s->counts.waiting--;
    return r;
}

tsr_status tsr_scheduler_cancel(tsr_scheduler *scheduler, uint64_t id) {
    TRY(NEED(scheduler));
    if (!id || id > scheduler->ids)
        return tsri_base_fail(TSR_E_ARGUMENT, "request %" PRIu64 ": %" PRIu64 " have been added",
                              id, scheduler->ids);
    for (request *r = scheduler->first, *before = NULL; r; before = r, r = r->next)
        if (r->id == id) {
            free_request(take_waiting(scheduler, before, r));
            scheduler->counts.cancelled++;
            return TSR_OK;
        }
    for (uint32_t i = 0; i < scheduler->n; i++) {
        request *r = scheduler->running[i];
        if (r && r->id == id && r->member.status == TSR_OK && !r->sequence.finish)
            r->member.status = TSR_E_CANCELLED;
    }
    return TSR_OK;
}

/* ---- events ---- */

static int tell(request *r, tsr_status status, const tsr_generated *generated, bool of_prompt) {
    tsr_scheduler *s = r->scheduler;
    s->counts.finished += generated && generated->finish;
    s->counts.failed += status != TSR_OK;
    const tsr_scheduler_event event = {.struct_size = sizeof event,
                                       .status = status,
                                       .request = r->id,
                                       .data = r->data,
                                       .generated = generated,
                                       .error = status == TSR_OK ? "" : tsr_error_last(),
                                       .prompt_tokens = r->prompt_tokens,
                                       .cached_tokens = r->cached_tokens,
                                       .of_prompt = of_prompt};
    return s->event ? s->event(s->data, &event) : 0;
}

static int on_token(void *data, const tsr_generated *generated) {
    request *r = data;
    r->scheduler->counts.new_tokens += generated->id >= 0;
    return tell(r, TSR_OK, generated, false);
}

static int on_prompt_token(void *data, const tsr_generated *generated) {
    return tell(data, TSR_OK, generated, true);
}

static tsr_status on_failure(void *data, tsri_task_member *member) {
    (void)data;
    if (member->status != TSR_E_CANCELLED)
        (void)tell(member->decoding->data, member->status, NULL, false);
    return TSR_OK;
}

/* ---- places ---- */

static bool ended(const request *r) {
    return r->sequence.finish || r->member.status != TSR_OK;
}

/* What of a request's tokens pages hold. The last token's logits are wanted, or all of them. */
static tsri_task_beginning find_beginning(const tsr_scheduler *s, const request *r) {
    const int64_t most = s->reuse && !r->member.scoring ? (int64_t)r->sequence.ids.count - 1 : 0;
    return tsri_task_pages_find(s->pages, r->sequence.ids.data, most);
}

/* Whether another request is about to compute more pages of a request's tokens than there are: then they
 * are not computed twice. */
static bool comes(const tsr_scheduler *s, const request *r, int64_t has) {
    bool found = false;
    for (uint32_t i = 0; s->reuse && !r->member.scoring && i < s->n; i++) {
        const request *other = s->running[i];
        const tsri_text_ids *ids = other ? &other->sequence.ids : NULL;
        const int64_t alike = ids ? (int64_t)tsri_text_ids_common(ids, &r->sequence.ids) : 0;
        const int64_t n = alike - alike % TSRI_MODEL_PAGE;
        found |= other && !ended(other) && n > other->sequence.past && n >= has + WORTH;
    }
    return found;
}

/* The tokens that a request may have at most. */
static int64_t most_tokens(const request *r) {
    const int64_t has = (int64_t)r->sequence.ids.count, most = r->decoding.context,
                  left = tsri_task_left(&r->decoding, &r->sequence);
    return left >= 0 && left < most - has ? has + left : most;
}

/* The running requests that may need a further page. */
static int32_t count_growing(const tsr_scheduler *s) {
    int32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const request *r = s->running[i];
        n += r && !ended(r) && (int64_t)r->pages.pages.n * TSRI_MODEL_PAGE < most_tokens(r);
    }
    return n;
}

/* Gives a request pages for the tokens that it has, if after that each running one can have another page, too:
 * else it would soon be put back. Where it can't be, it gets all that it may need. */
static bool take_pages(tsr_scheduler *s, request *r, const tsri_task_beginning *found,
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

static void leave(tsr_scheduler *s, request **place) {
    request *r = *place;
    tsri_task_sequence *q = &r->sequence;
    tsri_task_batch_remove(s->batch, &r->member);
    tsri_task_pages_release(s->pages, &r->pages, q->ids.data, q->past);
    *place = NULL;
    s->full = false;
    s->counts.running--;
    s->counts.cancelled += r->member.status == TSR_E_CANCELLED && !q->finish;
    free_request(r);
}

static void leave_ended(tsr_scheduler *s) {
    for (uint32_t i = 0; i < s->n; i++)
        if (s->running[i] && ended(s->running[i]))
            leave(s, &s->running[i]);
}

/* Puts a request before those that wait. Its tokens are computed again, or found in its old pages; what it was
 * given is not given again. */
static void put_back(tsr_scheduler *s, request **place) {
    request *r = *place;
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

static request **newest(tsr_scheduler *s) {
    request **best = NULL;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->running[i] && (!best || s->running[i]->id > (*best)->id))
            best = &s->running[i];
    return best;
}

/* The oldest request whose pages have no room for all of its tokens. */
static request *oldest_lacking(const tsr_scheduler *s) {
    request *best = NULL;
    for (uint32_t i = 0; i < s->n; i++) {
        request *r = s->running[i];
        const bool lacks =
            r && !ended(r) &&
            (int64_t)r->pages.pages.n * TSRI_MODEL_PAGE < (int64_t)r->sequence.ids.count;
        if (lacks && (!best || r->id < best->id))
            best = r;
    }
    return best;
}

/* Each running request gets the pages that its next step needs, the oldest first; the newest ones make room for
 * it. The oldest alone always has room: no request may have more tokens than there are pages for. */
static void make_room(tsr_scheduler *s) {
    request *r;
    while ((r = oldest_lacking(s)))
        if (!tsri_task_pages_grow(s->pages, &r->pages, (int64_t)r->sequence.ids.count))
            put_back(s, newest(s));
}

static request **free_place(tsr_scheduler *s) {
    for (uint32_t i = 0; i < s->n; i++)
        if (!s->running[i])
            return &s->running[i];
    return NULL;
}

static tsr_status join(tsr_scheduler *s, request **place, const tsri_task_beginning *found,
                       int32_t copy, request *r) {
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
    if (copy >= 0 && copy != found->copied) /* its memory may have been given to this request */
        TRY(tsri_session_copy(s->session, found->copied, copy, found->rows));
    const tsr_status status = tsri_task_batch_add(s->batch, &r->member);
    if (status != TSR_OK) {
        r->member.status = status;
        (void)on_failure(s, &r->member);
    }
    return TSR_OK;
}

/* The first request that need not wait any more; NULL: none. Where pages are too few for one, those behind it
 * wait, too. */
static request *take_ready(tsr_scheduler *s, tsri_task_beginning *found, int32_t *copy) {
    for (request *r = s->first, *before = NULL; r; before = r, r = r->next) {
        *found = find_beginning(s, r);
        if (comes(s, r, found->tokens + found->rows))
            continue;
        s->full = !take_pages(s, r, found, copy);
        return s->full ? NULL : take_waiting(s, before, r);
    }
    return NULL;
}

static tsr_status join_waiting(tsr_scheduler *s) {
    tsri_task_beginning found;
    request *r, **place;
    int32_t copy;
    while ((place = free_place(s)) && (r = take_ready(s, &found, &copy)))
        TRY(join(s, place, &found, copy,
                 r)); /* may tell events, which may cancel those that wait */
    return TSR_OK;
}

/* Whether a request can leave or join once no run is under way. */
static bool changes(tsr_scheduler *s) {
    bool leaves = false;
    for (uint32_t i = 0; i < s->n; i++)
        leaves |= s->running[i] && ended(s->running[i]);
    return leaves || (free_place(s) && s->first && !s->full);
}

/* What was computed may be found from now on. */
static void note_pages(tsr_scheduler *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        request *r = s->running[i];
        if (r)
            tsri_task_pages_note(s->pages, &r->pages, r->sequence.ids.data, r->sequence.past);
    }
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
        request *r = s->running[i];
        if (r && !ended(r)) {
            r->member.status = status;
            (void)tell(r, status, NULL, false);
        }
        if (r) {
            r->sequence.past = 0;
            leave(s, &s->running[i]);
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
                                             .failed = on_failure,
                                             .data = s};
    return tsri_task_batch_create(s->session, &options, &s->batch);
}

static tsr_status step(tsr_scheduler *s) {
    if (!s->batch)
        TRY(make_batch(s));
    if (changes(s)) {
        TRY(tsri_task_batch_settle(s->batch));
        leave_ended(s);
        make_room(s);
        TRY(join_waiting(s));
    } else if (!tsri_task_batch_busy(s->batch)) {
        make_room(s);
    }
    TRY(tsri_task_batch_step(s->batch));
    note_pages(s);
    if (!tsri_task_batch_busy(s->batch))
        leave_ended(s);
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
    TRY(tsri_base_new(s->n, sizeof(request *), &s->running));
    s->counts.slots = s->n;
    s->counts.context = s->context;
    s->step_tokens = o->step_tokens ? o->step_tokens : STEP_TOKENS;
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
        free_request(take_waiting(s, NULL, s->first));
    for (uint32_t i = 0; s->running && i < s->n; i++)
        if (s->running[i])
            free_request(s->running[i]);
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
