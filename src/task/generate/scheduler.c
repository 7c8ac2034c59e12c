/* task/generate/scheduler.c - requests that wait, run in slots, and leave. A slot keeps the keys and
 * values of its last request; a prompt that begins like what a slot has goes on from there, or from a
 * copy. */
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
enum { WORTH = 32 }; /* tokens that are copied, or waited for, rather than computed again */

typedef struct request {
    struct request *next; /* of those that wait */
    tsr_scheduler *scheduler;
    uint64_t id;
    void *data; /* the caller's */
    tsri_task_own_options own;
    int32_t *ends;
    tsri_task_decoding decoding;
    tsri_task_sequence sequence;
    tsri_task_token_rules rules;
    tsri_task_scoring scoring;
    tsri_task_member member;
    uint32_t prompt_tokens, cached_tokens;
} request;

typedef struct slot {
    request *holder;    /* NULL: free */
    tsri_text_ids kept; /* while it is free: the tokens that it has */
    uint64_t used;      /* step of its last use */
} slot;

struct tsr_scheduler {
    tsri_model *model;
    tsri_session *session;
    tsri_task_batch *batch;
    slot *slots;
    uint32_t n;
    bool reuse;
    int64_t context, step_tokens;
    request *first, *last; /* those that wait */
    uint64_t ids;          /* the highest number given */
    tsr_scheduler_counts counts;
    tsr_scheduler_event_fn event; /* of the step that runs */
    void *data;
};

/* ---- requests ---- */

static void free_request(request *r) {
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
                                       .context = s->context,
                                       .generated = on_token,
                                       .data = r};
    if (known.context && known.context < s->context)
        r->decoding.context = known.context;
    TRY(take_prompt(r, given, known.chat));
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
        request *r = scheduler->slots[i].holder;
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

/* ---- slots ---- */

static bool ended(const request *r) {
    return r->sequence.finish || r->member.status != TSR_OK;
}

/* Where a request goes, and what of its prompt is there. */
typedef struct place {
    slot *to, *from; /* from: the slot to copy from; NULL: none */
    size_t has;
} place;

/* How much of a prompt a slot has. */
static size_t has_of(const tsr_scheduler *s, const slot *own, const request *r) {
    const tsri_task_sequence *q = own->holder ? &own->holder->sequence : NULL;
    size_t n = tsri_text_ids_common(q ? &q->ids : &own->kept, &r->sequence.ids);
    if (q && n > (size_t)q->past)
        n = (size_t)q->past;
    /* The last token's logits are wanted, or all of them. */
    return !s->reuse || r->member.scoring ? 0 : n < r->prompt_tokens ? n : r->prompt_tokens - 1;
}

/* The slot that has the most of a prompt; of equal ones, a free one. */
static slot *fullest(tsr_scheduler *s, const request *r, size_t *has) {
    slot *best = NULL;
    *has = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        slot *own = &s->slots[i];
        const size_t n = has_of(s, own, r);
        if (best && (n < *has || (n == *has && (!best->holder || own->holder))))
            continue;
        best = own;
        *has = n;
    }
    return best;
}

/* The free slot that was used the longest ago, another than `but` where there is one. */
static slot *oldest(tsr_scheduler *s, const slot *but) {
    slot *best = NULL;
    for (uint32_t i = 0; i < s->n; i++) {
        slot *own = &s->slots[i];
        if (!own->holder && (!best || best == but || (own != but && own->used < best->used)))
            best = own;
    }
    return best;
}

/* A slot all of whose tokens (but perhaps the last) the prompt has is continued. Otherwise the prompt goes to the slot that was
 * used the longest ago, with a copy of the beginning, so that other prompts find it, too. */
static bool find_place(tsr_scheduler *s, const request *r, place *out) {
    size_t most;
    slot *full = fullest(s, r, &most);
    *out = (place){.to = full, .has = most};
    if (!full->holder && full->kept.count <= most + 1)
        return true;
    out->to = oldest(s, most >= WORTH ? full : NULL);
    if (!out->to)
        return false;
    out->has = has_of(s, out->to, r);
    if (out->to != full && most >= out->has + WORTH) {
        out->from = full;
        out->has = most;
    }
    return true;
}

/* Whether another request is about to compute more of the prompt than any slot has: then it is not
 * computed twice. */
static bool comes(const tsr_scheduler *s, const request *r, size_t has) {
    bool found = false;
    for (uint32_t i = 0; s->reuse && !r->member.scoring && i < s->n; i++) {
        const request *other = s->slots[i].holder;
        const tsri_text_ids *ids = other ? &other->sequence.ids : NULL;
        const size_t n = ids ? tsri_text_ids_common(ids, &r->sequence.ids) : 0;
        found |= other && !ended(other) && (int64_t)n > other->sequence.past && n >= has + WORTH;
    }
    return found;
}

static void leave(tsr_scheduler *s, slot *own) {
    request *r = own->holder;
    tsri_task_sequence *q = &r->sequence;
    tsri_task_batch_remove(s->batch, &r->member);
    q->ids.count = (size_t)q->past; /* what was given last is not in the slot */
    tsri_text_ids_clear(&own->kept);
    own->kept = q->ids;
    q->ids = (tsri_text_ids){0};
    own->used = s->counts.steps;
    own->holder = NULL;
    s->counts.running--;
    s->counts.cancelled += r->member.status == TSR_E_CANCELLED && !q->finish;
    free_request(r);
}

static void leave_ended(tsr_scheduler *s) {
    for (uint32_t i = 0; i < s->n; i++)
        if (s->slots[i].holder && ended(s->slots[i].holder))
            leave(s, &s->slots[i]);
}

static tsr_status join(tsr_scheduler *s, const place *p, request *r) {
    tsri_task_sequence *q = &r->sequence;
    q->past = (int64_t)p->has;
    q->slot = q->source = (int32_t)(p->to - s->slots);
    r->cached_tokens = (uint32_t)p->has;
    s->counts.prompt_tokens += r->prompt_tokens;
    s->counts.cached_tokens += p->has;
    s->counts.running++;
    p->to->holder = r;
    if (p->from) {
        p->from->used = s->counts.steps;
        TRY(tsri_session_copy(s->session, (int32_t)(p->from - s->slots), q->slot, q->past));
    }
    const tsr_status status = tsri_task_batch_add(s->batch, &r->member);
    if (status != TSR_OK) {
        r->member.status = status;
        (void)on_failure(s, &r->member);
    }
    return TSR_OK;
}

/* The first request that need not wait any more; NULL: none. */
static request *take_ready(tsr_scheduler *s, place *p) {
    for (request *r = s->first, *before = NULL; r && find_place(s, r, p); before = r, r = r->next)
        if (!comes(s, r, p->has))
            return take_waiting(s, before, r);
    return NULL;
}

static tsr_status join_waiting(tsr_scheduler *s) {
    place p;
    request *r;
    while ((r = take_ready(s, &p))) /* joining may tell events, which may cancel those that wait */
        TRY(join(s, &p, r));
    return TSR_OK;
}

/* Whether a request can leave or join once no run is under way. */
static bool changes(const tsr_scheduler *s) {
    bool leaves = false, free_slot = false;
    for (uint32_t i = 0; i < s->n; i++) {
        leaves |= s->slots[i].holder && ended(s->slots[i].holder);
        free_slot |= !s->slots[i].holder;
    }
    return leaves || (free_slot && s->first);
}

static void add_guesses(const tsr_scheduler *s, tsr_scheduler_counts *to) {
    const tsri_task_batch_counts none = {0},
                                 *c = s->batch ? tsri_task_batch_counts_of(s->batch) : &none;
    to->drafts += c->drafts;
    to->drafted_tokens += c->drafted;
    to->accepted_tokens += c->accepted;
}

/* After a failed run nobody knows what the slots have. */
static void fail_all(tsr_scheduler *s, tsr_status status) {
    for (uint32_t i = 0; i < s->n; i++) {
        request *r = s->slots[i].holder;
        if (r && !ended(r)) {
            r->member.status = status;
            (void)tell(r, status, NULL, false);
        }
        if (r) {
            r->sequence.past = 0;
            leave(s, &s->slots[i]);
        }
        tsri_text_ids_clear(&s->slots[i].kept);
    }
    add_guesses(s, &s->counts);
    tsri_task_batch_destroy(&s->batch);
}

/* ---- the scheduler ---- */

static tsr_status make_batch(tsr_scheduler *s) {
    const tsri_task_batch_options options = {.slots = s->n,
                                             .step_tokens = s->step_tokens,
                                             .kept = KEPT,
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
        TRY(join_waiting(s));
    }
    TRY(tsri_task_batch_step(s->batch));
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

static tsr_status make(tsr_scheduler *s, const tsr_scheduler_options *o) {
    const tsri_model_rope *rope = &s->model->spec.decoder.rope;
    s->n = o->slots ? o->slots : SLOTS;
    s->reuse = !o->no_reuse && rope->scaling != TSRI_SCALING_DYNAMIC;
    TRY(tsri_session_create(s->model, (int32_t)s->n, o->context, &s->session));
    s->context = tsri_session_context(s->session);
    TRY(tsri_session_reserve(s->session, s->context));
    TRY(tsri_base_new(s->n, sizeof *s->slots, &s->slots));
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
    if (known.slots > INT32_MAX || known.context < 0 || known.step_tokens < 0)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a scheduler of %u slots, context %" PRId64 ", %" PRId64
                              " tokens a step: numbers from 0 on are wanted",
                              known.slots, known.context, known.step_tokens);
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
    for (uint32_t i = 0; s->slots && i < s->n; i++) {
        if (s->slots[i].holder)
            free_request(s->slots[i].holder);
        tsri_text_ids_clear(&s->slots[i].kept);
    }
    free(s->slots);
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
        if (scheduler->slots[i].holder)
            now.tokens += (int64_t)scheduler->slots[i].holder->sequence.ids.count;
    tsri_base_give(&now, sizeof now, counts);
    return TSR_OK;
}
