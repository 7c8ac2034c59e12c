/* task/generate/session.c - the public session: lengths of sequences, and which slot holds each of
 * their tokens. */
#include "tessera/session.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/model.h"
#include "task/generate/sampler.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { REPLACED = -1 };

typedef struct sequence {
    int64_t length;
    int32_t source; /* of an encoder-decoder: the source slot that it attends to; or REPLACED */
    bool forked;    /* some of its tokens lie in other slots */
    int32_t *slots; /* [context] the slot that holds each token */
} sequence;

struct tsr_session {
    tsri_session *session;
    sequence *sequences;
    int32_t *slots;             /* of all sequences */
    tsri_model_sequence *batch; /* of a call */
    int32_t *next;              /* [n] where the caller wants none */
    uint32_t n;
    int64_t context;
};

static tsr_status check_model(const tsri_model *m) {
    if (!m->spec.decoder.layers)
        return tsri_base_fail(TSR_E_STATE,
                              "%s is an encoder: it reads texts whole and continues "
                              "none",
                              m->path);
    return tsri_model_need_device(m);
}

static tsr_status make(tsr_session *s, tsri_model *m, const tsr_session_options *options) {
    size_t tokens = 0;
    TRY(tsri_session_create(m, (int32_t)s->n, options->context, &s->session));
    s->context = tsri_session_context(s->session);
    if (options->reserve)
        TRY(tsri_session_reserve(s->session, options->reserve));
    TRY(tsri_base_new(s->n, sizeof *s->sequences, &s->sequences));
    TRY(tsri_base_new(s->n, sizeof *s->batch, &s->batch));
    TRY(tsri_base_new(s->n, sizeof *s->next, &s->next));
    if (__builtin_mul_overflow((size_t)s->n, (size_t)s->context, &tokens))
        return tsri_base_fail(TSR_E_HOST_MEMORY, "%u sequences of %" PRId64 " tokens", s->n,
                              s->context);
    TRY(tsri_base_new(tokens, sizeof *s->slots, &s->slots));
    for (uint32_t i = 0; i < s->n; i++)
        s->sequences[i] =
            (sequence){.source = (int32_t)i, .slots = s->slots + (size_t)i * (size_t)s->context};
    return TSR_OK;
}

tsr_status tsr_session_create(tsr_model *model, const tsr_session_options *options,
                              tsr_session **out) {
    tsr_session_options known;
    tsr_session *s = NULL;
    TRY(NEED(out));
    *out = NULL;
    TRY(NEED(model));
    TRY(tsri_base_adopt("tsr_session_options", options, &known, sizeof known));
    TRY(check_model(tsri_model_of(model)));
    if (known.sequences > INT32_MAX || known.context < 0 || known.reserve < 0)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a session of %u sequences, context %" PRId64 ", reserve %" PRId64
                              ": numbers from 0 on are wanted",
                              known.sequences, known.context, known.reserve);
    TRY(tsri_base_new(1, sizeof *s, &s));
    s->n = known.sequences ? known.sequences : 1;
    const tsr_status status = make(s, tsri_model_of(model), &known);
    if (status != TSR_OK)
        tsr_session_destroy(&s);
    *out = s;
    return status;
}

void tsr_session_destroy(tsr_session **session) {
    tsr_session *s = session ? *session : NULL;
    if (!s)
        return;
    tsri_session_destroy(&s->session);
    free(s->sequences);
    free(s->slots);
    free(s->batch);
    free(s->next);
    free(s);
    *session = NULL;
}

int64_t tsr_session_length(const tsr_session *s, uint32_t number) {
    return s && number < s->n ? s->sequences[number].length : 0;
}

static tsr_status check_sequence(const tsr_session *s, uint32_t number) {
    return number < s->n ? TSR_OK
                         : tsri_base_fail(TSR_E_ARGUMENT,
                                          "sequence %u: the session has the sequences 0 to %u",
                                          number, s->n - 1);
}

/* ---- running ---- */

/* Whether n tokens more can lie in the sequence's own slot without overwriting what others read. */
static tsr_status check_room(const tsr_session *s, uint32_t number, size_t n) {
    const sequence *own = &s->sequences[number];
    if (n > (size_t)(s->context - own->length))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "sequence %u has %" PRId64 " tokens, and %zu more were given; the "
                              "context holds %" PRId64,
                              number, own->length, n, s->context);
    for (uint32_t i = 0; i < s->n; i++) {
        const sequence *other = &s->sequences[i];
        if (i == number || !other->forked)
            continue;
        for (int64_t t = own->length; t < own->length + (int64_t)n && t < other->length; t++)
            if (other->slots[t] == (int32_t)number)
                return tsri_base_fail(TSR_E_STATE,
                                      "sequence %u was forked from sequence %u and reads its token "
                                      "%" PRId64 ": rewind it to before that, or append elsewhere",
                                      i, number, t);
    }
    return TSR_OK;
}

static tsr_status check_count(size_t n) {
    return n ? TSR_OK
             : tsri_base_fail(TSR_E_ARGUMENT, "no token was given; at least one is wanted");
}

/* Notes that `count` sequences from `first` on have n tokens more, in their own slots. */
static void lengthen(tsr_session *s, uint32_t first, uint32_t count, size_t n) {
    for (uint32_t i = 0; i < count; i++) {
        sequence *own = &s->sequences[first + i];
        for (size_t t = 0; t < n; t++)
            own->slots[own->length++] = (int32_t)(first + i);
    }
}

/* Checks what was found to follow `count` sequences from `first` on. */
static tsr_status check_next(const tsr_session *s, uint32_t first, uint32_t count,
                             const int32_t *next) {
    for (uint32_t i = 0; i < count; i++)
        if (next[i] < 0)
            return tsri_task_not_drawn(s->sequences[first + i].length, next[i]);
    return TSR_OK;
}

static tsr_status check_text(const tsr_session *s, uint32_t number) {
    return s->sequences[number].source != REPLACED
               ? TSR_OK
               : tsri_base_fail(TSR_E_STATE,
                                "sequence %u was forked from one whose text has been replaced "
                                "since: encode a text for it, or fork it again",
                                number);
}

/* Appends n tokens to `count` sequences from `first` on. */
static tsr_status append(tsr_session *s, uint32_t first, uint32_t count, const int32_t *ids,
                         size_t n, float *logits, int32_t *next) {
    TRY(check_count(n));
    for (uint32_t i = 0; i < count; i++) {
        const sequence *own = &s->sequences[first + i];
        TRY(check_room(s, first + i, n));
        TRY(check_text(s, first + i));
        s->batch[i] = (tsri_model_sequence){.ids = ids + i * n,
                                            .keys = own->forked ? own->slots : NULL,
                                            .n = (int64_t)n,
                                            .past = own->length,
                                            .slot = (int32_t)(first + i),
                                            .source = own->source};
    }
    const tsri_model_results results = {
        .rows = TSRI_ROWS_LAST, .argmax = next ? next : s->next, .logits = logits};
    TRY(tsri_session_forward(s->session, s->batch, (int32_t)count, &results));
    lengthen(s, first, count, n);
    return next ? check_next(s, first, count, next) : TSR_OK;
}

tsr_status tsr_session_prefill(tsr_session *session, uint32_t number, const int32_t *ids, size_t n,
                               float *logits, int32_t *next) {
    TRY(NEED(session));
    TRY(NEED(ids));
    TRY(check_sequence(session, number));
    return append(session, number, 1, ids, n, logits, next);
}

tsr_status tsr_session_step(tsr_session *session, const int32_t *ids, size_t n, float *logits,
                            int32_t *next) {
    TRY(NEED(session));
    TRY(NEED(ids));
    return append(session, 0, session->n, ids, n, logits, next);
}

/* Runs n steps, of which up to TSRI_SESSION_AHEAD start before the ids of the last one are known; step
 * t writes its ids to row t of next. */
static tsr_status run_greedy(tsr_session *s, const int32_t *ids, size_t n, int32_t *next) {
    size_t begun = 0;
    for (size_t done = 0; done < n; done++) {
        bool started = true;
        if (begun > done) {
            TRY(tsri_session_finish(s->session));
            lengthen(s, 0, s->n, 1);
            TRY(check_next(s, 0, s->n, next + done * s->n));
        } else {
            TRY(append(s, 0, s->n, done ? next + (done - 1) * s->n : ids, 1, NULL,
                       next + done * s->n));
            begun++;
        }
        while (started && begun < n) {
            TRY(tsri_session_follow(s->session, NULL, next + begun * s->n, &started));
            begun += started;
        }
    }
    return TSR_OK;
}

tsr_status tsr_session_greedy(tsr_session *session, const int32_t *ids, size_t n, int32_t *next) {
    TRY(NEED(session));
    TRY(NEED(ids));
    TRY(NEED(next));
    TRY(check_count(n));
    for (uint32_t i = 0; i < session->n; i++)
        TRY(check_room(session, i, n));
    const tsr_status status = run_greedy(session, ids, n, next);
    for (int i = 0; i < TSRI_SESSION_AHEAD && status != TSR_OK; i++)
        (void)tsri_session_finish(session->session); /* they would write to the caller's memory */
    return status;
}

tsr_status tsr_session_encode(tsr_session *session, uint32_t number, const int32_t *ids, size_t n) {
    TRY(NEED(session));
    TRY(NEED(ids));
    TRY(check_sequence(session, number));
    for (uint32_t i = 0; i < session->n; i++)
        if (i != number && session->sequences[i].length &&
            session->sequences[i].source == (int32_t)number)
            return tsri_base_fail(TSR_E_STATE,
                                  "sequence %u was forked from sequence %u and attends to its "
                                  "text: rewind it to 0",
                                  i, number);
    const tsri_model_sequence source = {.ids = ids, .n = (int64_t)n, .slot = (int32_t)number};
    const tsri_model_results nothing = {0};
    TRY(tsri_session_encode(session->session, &source, 1, &nothing));
    for (uint32_t i = 0; i < session->n; i++)
        if (session->sequences[i].source == (int32_t)number)
            session->sequences[i].source = REPLACED;
    session->sequences[number].source = (int32_t)number;
    return tsr_session_rewind(session, number, 0);
}

/* ---- copies and cuts ---- */

tsr_status tsr_session_fork(tsr_session *session, uint32_t from, uint32_t to) {
    TRY(NEED(session));
    TRY(check_sequence(session, from));
    TRY(check_sequence(session, to));
    if (from == to)
        return tsri_base_fail(TSR_E_ARGUMENT, "sequence %u was to be forked into itself", from);
    const sequence *old = &session->sequences[from];
    sequence *copy = &session->sequences[to];
    memcpy(copy->slots, old->slots, (size_t)old->length * sizeof *old->slots);
    copy->length = old->length;
    copy->source = old->source;
    return tsr_session_rewind(session, to, old->length);
}

tsr_status tsr_session_rewind(tsr_session *session, uint32_t number, int64_t length) {
    TRY(NEED(session));
    TRY(check_sequence(session, number));
    sequence *own = &session->sequences[number];
    if (length < 0 || length > own->length)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "sequence %u has %" PRId64 " tokens; it can't be cut to %" PRId64,
                              number, own->length, length);
    own->length = length;
    own->forked = false;
    for (int64_t t = 0; t < length; t++)
        own->forked |= own->slots[t] != (int32_t)number;
    return TSR_OK;
}
