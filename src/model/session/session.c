/* model/session/session.c - creates and destroys sessions, and runs forward passes of a decoder. */
#include "model/session/session.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/session/chunk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static tsr_status check_sizes(const tsri_model *model, const tsri_session_sizes *sizes) {
    const tsri_model_spec *spec = &model->spec;
    if (sizes->slots < 1 || sizes->context < 0 || sizes->sources < 0 || sizes->source_context < 0 ||
        sizes->pages < 0)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a session of %" PRId32 " sequences of %" PRId64
                              " tokens; at least one of each is needed",
                              sizes->slots, sizes->context);
    if (sizes->context > spec->context)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a context of %" PRId64
                              " tokens was asked for; %s reads at most %" PRId64,
                              sizes->context, model->path, spec->context);
    if (sizes->source_context > spec->source_context)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "texts of %" PRId64
                              " tokens were asked for; the encoder of %s reads at most %" PRId64,
                              sizes->source_context, model->path, spec->source_context);
    if (!model->run)
        return tsri_base_fail(
            TSR_E_STATE, "%s was opened without a device; its weights are not stored", model->path);
    return TSR_OK;
}

/* With longrope the context says which frequencies all sequences have, whatever their lengths. */
static void set_context_frequencies(tsri_session *session) {
    const tsri_model_spec *spec = &session->model->spec;
    if (spec->decoder.rope.scaling == TSRI_SCALING_LONGROPE)
        tsri_model_rope_frequencies(&spec->decoder.rope, spec->max_positions, session->context,
                                    session->frequencies);
}

/* Allocates what a session of this many sequences needs from the start. */
static tsr_status make_arrays(tsri_session *session, const tsri_session_sizes *sizes) {
    const tsri_model_spec *spec = &session->model->spec;
    const size_t layers = (size_t)spec->decoder.layers, slots = (size_t)sizes->slots,
                 sources = (size_t)session->plans.sources;
    int32_t **const facts[] = {&session->past,   &session->len,    &session->slot,
                               &session->member, &session->source, &session->source_len,
                               &session->state};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        TRY(tsri_base_new(slots, sizeof(int32_t), facts[i]));
    if (spec->decoder.cross)
        TRY(tsri_base_new(sources, sizeof(int32_t), &session->encoded));
    TRY(tsri_base_new(slots, sizeof(int64_t), &session->taken));
    TRY(tsri_base_new(slots, sizeof *session->followed_pages, &session->followed_pages));
    TRY(tsri_model_reserve_draws(session, slots));
    TRY(tsri_base_new(TSRI_MODEL_MAX_ROTARY / 2, sizeof(float), &session->frequencies));
    TRY(tsri_base_new(3 * layers + 1, sizeof *session->per_token, &session->per_token));
    return tsri_base_new(TSRI_MODEL_ROW_OUTPUTS + 3 * layers + 1, sizeof *session->outputs,
                         &session->outputs);
}

static void set_contexts(tsri_session *session, const tsri_session_sizes *sizes) {
    const tsri_model_spec *spec = &session->model->spec;
    session->context = sizes->context ? sizes->context : spec->context;
    session->source_context = sizes->source_context ? sizes->source_context : spec->source_context;
}

static void destroy(tsri_session *session);

static int32_t sources_of(const tsri_session_sizes *sizes) {
    return sizes->sources ? sizes->sources : sizes->slots;
}

/* Whether there are as many as are wanted, but not so many that most of their memory is idle. */
static bool serves(int32_t has, int32_t wanted) {
    return has >= wanted && has / 2 <= wanted;
}

/* The parked session, reset, if it serves for so many slots. Otherwise it is destroyed, so that the
 * new session can have the memory that it holds. */
static tsri_session *take_parked(tsri_model *model, const tsri_session_sizes *sizes) {
    tsri_session *session = model->parked;
    model->parked = NULL;
    if (!session)
        return NULL;
    if (!serves(session->slots, sizes->slots) || session->plans.pages != sizes->pages ||
        !serves(session->plans.sources, sources_of(sizes))) {
        destroy(session);
        return NULL;
    }
    set_contexts(session, sizes);
    set_context_frequencies(session);
    if (session->encoded)
        memset(session->encoded, 0, (size_t)session->plans.sources * sizeof *session->encoded);
    return session;
}

tsr_status tsri_session_create_sized(tsri_model *model, const tsri_session_sizes *sizes,
                                     tsri_session **out) {
    tsri_session *session = NULL;
    TRY(check_sizes(model, sizes));
    *out = take_parked(model, sizes);
    if (*out)
        return TSR_OK;
    TRY(tsri_base_new(1, sizeof *session, &session));
    session->model = model;
    session->slots = sizes->slots;
    set_contexts(session, sizes);
    while (session->number < model->states_room && model->states_used[session->number])
        session->number++;
    tsr_status status = tsri_base_grow(&model->states_used, &model->states_room,
                                       session->number + 1, sizeof *model->states_used);
    if (status == TSR_OK) {
        model->states_used[session->number] = true;
        tsri_model_plans_begin(&session->plans, model, sizes->slots, sources_of(sizes),
                               sizes->pages, (uint32_t)session->number);
        status = make_arrays(session, sizes);
    }
    if (status == TSR_OK)
        set_context_frequencies(session);
    if (status != TSR_OK) {
        destroy(session);
        session = NULL;
    }
    *out = session;
    return status;
}

tsr_status tsri_session_create(tsri_model *model, int32_t slots, int64_t context,
                               tsri_session **out) {
    const tsri_session_sizes sizes = {.slots = slots, .context = context};
    return tsri_session_create_sized(model, &sizes, out);
}

static void drop_parked(tsri_model *model) {
    if (model->parked)
        destroy(model->parked);
    model->parked = NULL;
}

void tsri_session_destroy(tsri_session **session) {
    tsri_session *s = *session;
    if (!s)
        return;
    *session = NULL;
    if (!s->plans.count) {
        destroy(s);
        return;
    }
    drop_parked(s->model);
    s->model->parked = s;
    s->model->drop_parked = drop_parked;
}

static void destroy(tsri_session *s) {
    tsri_model_plans_end(&s->plans);
    if (s->number < s->model->states_room)
        s->model->states_used[s->number] = false;
    for (int i = 0; i < TSRI_MODEL_ROW_OUTPUTS; i++)
        free(s->per_row[i].data);
    for (int32_t i = 0; s->per_token && i < 3 * s->model->spec.decoder.layers + 1; i++)
        free(s->per_token[i].data);
    tsri_model_encoder_destroy(&s->encoder);
    void *const arrays[] = {s->per_token,      s->outputs, s->ids,         s->positions,
                            s->past,           s->len,     s->slot,        s->rows,
                            s->keys,           s->source,  s->source_len,  s->encoded,
                            s->member,         s->taken,   s->destination, s->frequencies,
                            s->state,          s->draw,    s->draw_rate,   s->pages,
                            s->followed_pages, s};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

tsr_status tsri_session_copy(tsri_session *session, int32_t from, int32_t to, int64_t n) {
    for (int32_t i = 0; n && i < 2 * session->model->spec.decoder.layers; i++)
        TRY(tsri_run_copy_slot(session->model->run, session->plans.first_state + (uint32_t)i, from,
                               to, n));
    return TSR_OK;
}

int64_t tsri_session_context(const tsri_session *session) {
    return session->context;
}

int64_t tsri_session_capacity(const tsri_session *session) {
    return session->plans.capacity;
}

int64_t tsri_session_source_context(const tsri_session *session) {
    return session->source_context;
}

int32_t tsri_session_slots(const tsri_session *session) {
    return session->slots;
}

/* ---- checks ---- */

/* The source that a decoder with cross-attention attends to must have been encoded. */
static tsr_status check_source(const tsri_session *session, const tsri_model_sequence *sequence,
                               int32_t number) {
    if (!session->encoded)
        return TSR_OK;
    if (sequence->source < 0 || sequence->source >= session->plans.sources)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "sequence %" PRId32 " attends to source slot %" PRId32
                              "; the session has %" PRId32,
                              number, sequence->source, session->plans.sources);
    if (session->encoded[sequence->source] == 0)
        return tsri_base_fail(TSR_E_STATE,
                              "sequence %" PRId32 " attends to source slot %" PRId32
                              ", which holds no encoded text yet",
                              number, sequence->source);
    return TSR_OK;
}

static tsr_status check_pages(const tsri_session *session, const tsri_model_sequence *sequence,
                              int32_t number) {
    const tsri_model_pages *pages = sequence->pages;
    const int64_t tokens = sequence->past + sequence->n;
    if (!pages || (int64_t)pages->n * TSRI_MODEL_PAGE < tokens)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "sequence %" PRId32 " has %" PRId32 " pages of %d tokens; %" PRId64
                              " tokens were given",
                              number, pages ? pages->n : 0, TSRI_MODEL_PAGE, tokens);
    for (int32_t i = 0; i < pages->n; i++)
        if (pages->ids[i] < 0 || pages->ids[i] >= session->plans.pages)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "sequence %" PRId32 ": page %" PRId32 " is %" PRId32
                                  "; the session has %" PRId32 " pages",
                                  number, i, pages->ids[i], session->plans.pages);
    return TSR_OK;
}

static tsr_status check_sequence(const tsri_session *session, const tsri_model_sequence *sequence,
                                 int32_t number) {
    const tsri_model_spec *spec = &session->model->spec;
    if (sequence->n < 1 || sequence->past < 0 || sequence->slot < 0 ||
        sequence->slot >= session->slots)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "sequence %" PRId32 ": %" PRId64 " tokens after %" PRId64
                              " in slot %" PRId32 "; at least one token and a slot below %" PRId32
                              " are needed",
                              number, sequence->n, sequence->past, sequence->slot, session->slots);
    if (sequence->n > session->context || sequence->past > session->context - sequence->n)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "sequence %" PRId32 " has %" PRId64
                              " tokens; the context holds %" PRId64,
                              number, sequence->past + sequence->n, session->context);
    TRY(check_source(session, sequence, number));
    if (session->plans.pages)
        TRY(check_pages(session, sequence, number));
    for (int64_t i = 0; sequence->keys && i < sequence->past; i++)
        if (sequence->keys[i] < 0 || sequence->keys[i] >= session->slots)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "sequence %" PRId32 ": key %" PRId64 " is placed in slot %" PRId32
                                  "; the session has %" PRId32 " slots",
                                  number, i, sequence->keys[i], session->slots);
    for (int64_t i = 0; i < sequence->n; i++) {
        const int64_t position = sequence->positions ? sequence->positions[i] : sequence->past + i;
        TRY(tsri_model_check_token(number, i, sequence->ids[i], position, spec->vocab,
                                   spec->context));
    }
    return TSR_OK;
}

static tsr_status check_batch(const tsri_session *session, const tsri_model_sequence *sequences,
                              int32_t n, const tsri_model_results *results) {
    if (!session->model->spec.decoder.layers)
        return tsri_base_fail(TSR_E_STATE,
                              "%s is an encoder: it reads whole texts and can't continue one",
                              session->model->path);
    if (n < 1 || n > session->slots)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a batch of %" PRId32 " sequences; the session has %" PRId32 " slots",
                              n, session->slots);
    TRY(tsri_model_check_top_k(session->model, results->top_k));
    for (int32_t i = 0; i < n; i++) {
        TRY(check_sequence(session, &sequences[i], i));
        for (int32_t j = 0; j < i; j++)
            if (sequences[i].slot == sequences[j].slot)
                return tsri_base_fail(TSR_E_ARGUMENT,
                                      "sequences %" PRId32 " and %" PRId32 " share slot %" PRId32,
                                      j, i, sequences[i].slot);
    }
    return TSR_OK;
}

/* With dynamic scaling the frequencies depend on the highest position of a run, or on a length that is
 * given. */
static int64_t set_frequencies(tsri_session *session, const tsri_model_sequence *sequences,
                               int32_t n) {
    const tsri_model_rope *rope = &session->model->spec.decoder.rope;
    int64_t length = 0;
    if (rope->scaling != TSRI_SCALING_DYNAMIC)
        return 0;
    for (int32_t i = 0; i < n; i++) {
        length = sequences[i].length > length ? sequences[i].length : length;
        for (int64_t t = 0; t < sequences[i].n; t++) {
            const int64_t position =
                sequences[i].positions ? sequences[i].positions[t] : sequences[i].past + t;
            length = position + 1 > length ? position + 1 : length;
        }
    }
    tsri_model_rope_frequencies(rope, session->model->spec.max_positions, length,
                                session->frequencies);
    return length;
}

static tsr_status forward(tsri_session *session, const tsri_model_sequence *sequences, int32_t n,
                          const tsri_model_results *results);

/* Runs one sequence and puts its results where those of the batch have them. */
static tsr_status forward_one(tsri_session *session, const tsri_model_sequence *sequence,
                              const tsri_model_results *all, int64_t row, int64_t token,
                              int64_t probabilities) {
    const tsri_model_spec *spec = &session->model->spec;
    float *hidden[TSRI_MODEL_MAX_LAYERS + 1], *attention[TSRI_MODEL_MAX_LAYERS];
    tsri_model_results one = *all;
    one.logits = all->logits ? all->logits + row * spec->vocab : NULL;
    one.argmax = all->argmax ? all->argmax + row : NULL;
    one.top_logits = all->top_logits ? all->top_logits + row * all->top_k : NULL;
    one.top_ids = all->top_ids ? all->top_ids + row * all->top_k : NULL;
    one.top_lse = all->top_lse ? all->top_lse + row : NULL;
    one.draws = all->draws ? all->draws + row : NULL;
    one.drawn = all->drawn ? all->drawn + row : NULL;
    for (int32_t i = 0; all->hidden && i <= spec->decoder.layers; i++)
        hidden[i] = all->hidden[i] + token * spec->width;
    for (int32_t i = 0; all->attention && i < spec->decoder.layers; i++)
        attention[i] = all->attention[i] + probabilities;
    one.hidden = all->hidden ? hidden : NULL;
    one.attention = all->attention ? attention : NULL;
    return forward(session, sequence, 1, &one);
}

static tsr_status check_output(const tsri_model *model, const tsri_model_results *r) {
    if ((!r->logits && !r->argmax && !r->top_k) || tsri_model_has_output(model->weights))
        return TSR_OK;
    const char *head = model->arch->names ? model->arch->names->head : NULL;
    return tsri_base_fail(
        TSR_E_STATE,
        "%s (%s) is a bare model without an output matrix (%s.weight), so it can't "
        "write: it gives hidden states (tessera dump)",
        model->path, model->spec.family, head ? head + 1 : "lm_head");
}

/* Where ranks share the layers, its last chunks are under way when it returns. */
static tsr_status begin(tsri_session *session, const tsri_model_sequence *sequences, int32_t n,
                        const tsri_model_results *results) {
    const tsri_model_spec *spec = &session->model->spec;
    TRY(check_output(session->model, results));
    TRY(check_batch(session, sequences, n, results));
    if (n == 1 || set_frequencies(session, sequences, n) <= spec->max_positions)
        return forward(session, sequences, n, results);
    /* If lengths change the frequencies, each sequence runs alone, to get what it would get
     * alone. */
    int64_t tokens = 0, probabilities = 0;
    for (int32_t i = 0; i < n; i++) {
        TRY(forward_one(session, &sequences[i], results,
                        results->rows == TSRI_ROWS_ALL ? tokens : i, tokens, probabilities));
        tokens += sequences[i].n;
        probabilities +=
            spec->decoder.heads * sequences[i].n * (sequences[i].past + sequences[i].n);
    }
    return TSR_OK;
}

tsr_status tsri_session_begin(tsri_session *session, const tsri_model_sequence *sequences,
                              int32_t n, const tsri_model_results *results, uint64_t *pass) {
    return tsri_model_pass_of(session, begin(session, sequences, n, results), pass);
}

tsr_status tsri_session_forward(tsri_session *session, const tsri_model_sequence *sequences,
                                int32_t n, const tsri_model_results *results) {
    uint64_t pass;
    TRY(tsri_session_begin(session, sequences, n, results, &pass));
    return tsri_session_end(session, pass);
}

static tsri_model_shape shape_of(const tsri_model_results *results) {
    return (tsri_model_shape){.sides = TSRI_SIDES_DECODER,
                              .cross = results->cross,
                              .logits = results->logits,
                              .argmax = results->argmax,
                              .top_k = results->top_k,
                              .drawn = results->drawn,
                              .hidden = results->hidden,
                              .attention = results->attention};
}

/* Makes room for forward passes of B sequences of T tokens, and says what they have in common. */
static tsr_status expect(tsri_session *session, int64_t B, int64_t T, int64_t source, bool by_keys,
                         const tsri_model_results *results, tsri_model_shape *shape,
                         int64_t *limit) {
    *shape = shape_of(results);
    shape->by_keys = by_keys && !session->model->spec.decoder.recurrent;
    tsri_model_reserve_sources(session, source);
    TRY(tsri_session_reserve(session, T));
    *limit = tsri_model_chunk_limit(session, results, B == 1 && !shape->by_keys);
    return TSR_OK;
}

tsr_status tsri_session_announce(tsri_session *session, int64_t B, int64_t T, int64_t source,
                                 bool by_keys, const tsri_model_results *results) {
    tsri_model_shape shape;
    int64_t limit;
    TRY(expect(session, B, T, source, by_keys, results, &shape, &limit));
    return tsri_model_plans_settle(&session->plans,
                                   tsri_model_plans_announce(&session->plans, &shape, B,
                                                             T < limit ? T : limit, limit,
                                                             results->rows == TSRI_ROWS_ALL));
}

tsr_status tsri_session_pass_plan(tsri_session *session, int64_t B, int64_t T, int64_t source,
                                  bool by_keys, const tsri_model_results *results,
                                  tsri_run_plan **out) {
    tsri_model_shape shape;
    int64_t limit;
    TRY(expect(session, B, T, source, by_keys, results, &shape, &limit));
    return tsri_model_plans_settle(
        &session->plans, tsri_model_plans_plan(&session->plans, &shape, B, T < limit ? T : limit,
                                               limit, results->rows == TSRI_ROWS_ALL, out));
}

static tsr_status forward(tsri_session *session, const tsri_model_sequence *sequences, int32_t n,
                          const tsri_model_results *results) {
    tsri_model_shape shape = shape_of(results);
    int64_t needed = 0, longest = 0;
    for (int32_t i = 0; i < n; i++) {
        const int64_t after = sequences[i].past + sequences[i].n;
        needed = after > needed ? after : needed;
        longest = sequences[i].n > longest ? sequences[i].n : longest;
        shape.by_keys |= sequences[i].keys && !session->model->spec.decoder.recurrent;
    }
    TRY(tsri_session_reserve(session, needed));
    set_frequencies(session, sequences, n);
    const bool few = results->rows == TSRI_ROWS_ALL && n * longest <= TSRI_MODEL_FEW_ROWS &&
                     !session->model->spec.decoder.recurrent;
    const int64_t limit = few ? TSRI_MODEL_FEW_ROWS
                              : tsri_model_chunk_limit(session, results, n == 1 && !shape.by_keys),
                  step = tsri_model_chunk_step(session, n, limit, longest);
    for (int64_t done = 0; done < longest; done += step)
        TRY(tsri_model_chunk_run(session, sequences, n, results, &shape, done, step, limit));
    return TSR_OK;
}

tsr_status tsri_session_finish(tsri_session *session) {
    if (!session->n_ahead)
        return TSR_OK;
    tsri_run_reads oldest = session->ahead[0];
    session->n_ahead--;
    memmove(session->ahead, session->ahead + 1, (size_t)session->n_ahead * sizeof oldest);
    return tsri_run_finish(&oldest);
}

static int64_t plan_limit(const tsri_session *session) {
    const tsri_model_results results = {0};
    return tsri_model_chunk_limit(session, &results, true);
}

int64_t tsri_session_plan_tokens(const tsri_session *session, int64_t tokens) {
    if (!session->model->spec.decoder.layers)
        return tokens;
    const int64_t limit = plan_limit(session);
    return tokens < limit ? tokens : limit;
}

tsr_status tsri_session_plan(tsri_session *session, int64_t tokens, tsri_run_plan **out) {
    const bool writes = tsri_model_has_output(session->model->weights);
    const tsri_model_shape shape = {
        .sides = TSRI_SIDES_DECODER, .logits = writes, .argmax = writes, .hidden = !writes};
    if (!session->model->spec.decoder.layers)
        return tsri_session_encode_plan(session, tokens, out);
    tsri_model_reserve_sources(session, 1);
    TRY(tsri_session_reserve(session, tokens));
    return tsri_model_plans_settle(&session->plans,
                                   tsri_model_plans_plan(&session->plans, &shape, 1,
                                                         tsri_session_plan_tokens(session, tokens),
                                                         plan_limit(session), false, out));
}
