/* model/session/encode.c - runs an encoder: sequences of similar length run together, so that the
 * time of a batch depends on its tokens and not on its longest sequence. */
#include "model/session/encode.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FULL = 64,              /* from this many tokens on, padding costs more than another run */
    MOST_RESULTS = 16 << 20 /* elements of logits or probabilities in a run of several sequences */
};

typedef tsri_model_length length;
typedef tsri_model_encode_run run;

static void clear_run(const tsri_model_encoder *e, run *run) {
    for (int i = 0; i < TSRI_MODEL_ENCODED_KINDS; i++)
        free(run->stages[i].data);
    for (size_t i = 0; run->per_token && i < e->per_token; i++)
        free(run->per_token[i].data);
    free(run->per_token);
    free(run->encoded.data);
    free(run->destination);
    free(run->past);
    free(run->len);
    free(run->slot);
}

void tsri_model_encoder_destroy(tsri_model_encoder **encoder) {
    tsri_model_encoder *e = *encoder;
    if (!e)
        return;
    for (int i = 0; i < TSRI_MODEL_UNDER_WAY; i++)
        clear_run(e, &e->runs[i]);
    tsri_model_distance_inputs_clear(&e->distances);
    tsri_model_tap_inputs_clear(&e->taps);
    void *const arrays[] = {e->order,   e->offset, e->ids, e->positions, e->types, e->rows,
                            e->outputs, e->state,  e};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    *encoder = NULL;
}

static tsr_status make_encoder(tsri_session *session) {
    const size_t layers = (size_t)session->model->spec.encoder.layers;
    if (session->encoder)
        return TSR_OK;
    TRY(tsri_base_new(1, sizeof *session->encoder, &session->encoder));
    tsri_model_encoder *e = session->encoder;
    e->per_token = 2 * layers + 1;
    return tsri_base_new(TSRI_MODEL_ENCODED_KINDS + e->per_token + 1, sizeof *e->outputs,
                         &e->outputs);
}

/* ---- checks ---- */

static tsr_status check_heads(const tsri_model *model, const tsri_model_results *r) {
    const tsri_model_weights *w = model->weights;
    const struct {
        bool wanted;
        uint32_t weight;
        const char *name;
    } heads[] = {{r->pooled, TSRI_WEIGHT_POOLER, "pooler"},
                 {r->labels, TSRI_WEIGHT_LABEL, "classifier"},
                 {r->next, TSRI_WEIGHT_NEXT, "next-sentence head"}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (heads[i].wanted &&
            (model->spec.decoder.layers || !tsri_model_weight_at(w, heads[i].weight)))
            return tsri_base_fail(TSR_E_STATE, "%s (%s) has no %s", model->path, model->spec.family,
                                  heads[i].name);
    if ((r->logits || r->argmax || r->top_k) &&
        (model->spec.decoder.layers || !tsri_model_has_masked(w)))
        return tsri_base_fail(TSR_E_STATE, "%s (%s) has no masked LM head", model->path,
                              model->spec.family);
    if ((r->vectors || r->states) && model->spec.decoder.layers)
        return tsri_base_fail(TSR_E_STATE,
                              "%s (%s) has a decoder; vectors come from models without one",
                              model->path, model->spec.family);
    return TSR_OK;
}

static tsr_status check_tokens(const tsri_session *session, const tsri_model_sequence *sequence,
                               int32_t number) {
    const tsri_model_spec *spec = &session->model->spec;
    for (int64_t i = 0; i < sequence->n; i++) {
        const int64_t position = sequence->positions ? sequence->positions[i] : i;
        const int32_t type = sequence->types ? sequence->types[i] : 0;
        TRY(tsri_model_check_token(number, i, sequence->ids[i], position, spec->source_vocab,
                                   spec->source_context));
        if (type < 0 || (type > 0 && type >= spec->token_types))
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "sequence %" PRId32 ": token %" PRId64 " has segment %" PRId32
                                  "; the model has %" PRId32 " segments",
                                  number, i, type, spec->token_types);
    }
    return TSR_OK;
}

static tsr_status check_sequence(const tsri_session *session, const tsri_model_sequence *sequence,
                                 int32_t number) {
    const int32_t sources = session->plans.sources;
    if (sequence->n < 1 || sequence->past != 0)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "sequence %" PRId32 " has %" PRId64 " tokens after %" PRId64
                              "; an encoder reads whole texts of at least one token",
                              number, sequence->n, sequence->past);
    if (sequence->n > session->source_context)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "sequence %" PRId32 " has %" PRId64
                              " tokens; the encoder reads at most %" PRId64,
                              number, sequence->n, session->source_context);
    if (session->encoded && (sequence->slot < 0 || sequence->slot >= sources))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "sequence %" PRId32 " is for source slot %" PRId32
                              "; the session has %" PRId32,
                              number, sequence->slot, sources);
    return check_tokens(session, sequence, number);
}

static tsr_status check(const tsri_session *session, const tsri_model_sequence *sequences,
                        int32_t n, const tsri_model_results *results) {
    const tsri_model *model = session->model;
    int64_t tokens = 0;
    if (!model->spec.encoder.layers)
        return tsri_base_fail(TSR_E_STATE, "%s (%s) has no encoder", model->path,
                              model->spec.family);
    TRY(check_heads(model, results));
    TRY(tsri_model_check_top_k(model, results->top_k));
    if (session->encoded && n > session->plans.sources)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a batch of %" PRId32 " texts; the session has %" PRId32
                              " source slots",
                              n, session->plans.sources);
    for (int32_t i = 0; i < n; i++) {
        TRY(check_sequence(session, &sequences[i], i));
        tokens += sequences[i].n;
    }
    for (int64_t i = 0; results->rows == TSRI_ROWS_LISTED && i < results->n_listed; i++)
        if (results->listed[i] < 0 || results->listed[i] >= tokens ||
            (i && results->listed[i] <= results->listed[i - 1]))
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "listed token %" PRId64 " is number %" PRId64
                                  "; the batch has %" PRId64
                                  " tokens, to be listed in ascending order",
                                  i, results->listed[i], tokens);
    return TSR_OK;
}

/* ---- which sequences run together ---- */

static int by_length(const void *a, const void *b) {
    const length *x = a, *y = b;
    return x->n != y->n ? (x->n > y->n) - (x->n < y->n)
                        : (x->number > y->number) - (x->number < y->number);
}

/* The elements of the largest result of a run of B sequences of T tokens. */
static int64_t largest_result(const tsri_model_spec *spec, const tsri_model_results *r, int64_t B,
                              int64_t T) {
    const int64_t logits = !r->logits ? 0 : B * T * spec->vocab,
                  scores = !r->attention ? 0 : B * spec->encoder.heads * T * T;
    return logits > scores ? logits : scores;
}

/* How many of the sequences from order[first] on run together: as many as pad at less cost than
 * another run, within what a run may hold. */
static int64_t run_size(const tsri_session *session, const run *run, int32_t n) {
    const length *order = session->encoder->order + run->first;
    const tsri_model_spec *spec = &session->model->spec;
    int64_t B = 1, tokens = order[0].n;
    for (; run->first + B < n; B++) {
        const int64_t T = order[B].n, all = (B + 1) * T;
        int64_t lowest, highest;
        const int64_t most = tsri_model_encode_limits(session, run->results, T, &lowest, &highest);
        if ((tokens >= FULL && all > (tokens + T) * 9 / 8) || B + 1 > most ||
            largest_result(spec, run->results, B + 1, T) > MOST_RESULTS)
            break;
        tokens += T;
    }
    return B;
}

/* ---- runs ---- */

static tsri_model_shape shape_of(const tsri_session *session, const tsri_model_results *r) {
    return (tsri_model_shape){.sides = TSRI_SIDES_ENCODER,
                              .encoded = session->encoded && tsri_model_is_shared(session),
                              .logits = r->logits,
                              .argmax = r->argmax,
                              .top_k = r->top_k,
                              .hidden = r->hidden,
                              .attention = r->attention,
                              .states = r->states,
                              .vectors = r->vectors,
                              .pooling = r->pooling,
                              .pooled = r->pooled,
                              .labels = r->labels,
                              .next = r->next};
}

/* A recurrent decoder's first state is kept among its other states. */
static tsr_status reserve(tsri_session *session, int64_t tokens) {
    tsri_model_reserve_sources(session, tokens);
    return session->model->spec.decoder.recurrent ? tsri_session_reserve(session, 1) : TSR_OK;
}

static tsr_status sort(tsri_session *session, const tsri_model_sequence *sequences, int32_t n) {
    tsri_model_encoder *e = session->encoder;
    TRY(tsri_base_grow(&e->order, &e->order_room, (size_t)n, sizeof *e->order));
    TRY(tsri_base_grow(&e->offset, &e->offset_room, (size_t)n, sizeof *e->offset));
    int64_t tokens = 0;
    for (int32_t i = 0; i < n; i++) {
        e->order[i] = (length){.n = sequences[i].n, .number = i};
        e->offset[i] = tokens;
        tokens += sequences[i].n;
    }
    qsort(e->order, (size_t)n, sizeof *e->order, by_length);
    return TSR_OK;
}

/* Where ranks share the layers, the last runs are under way when it returns. */
static tsr_status encode(tsri_session *session, const tsri_model_sequence *sequences, int32_t n,
                         const tsri_model_results *results) {
    const tsri_model *model = session->model;
    const tsri_model_weight *label = tsri_model_weight_at(model->weights, TSRI_WEIGHT_LABEL);
    TRY(check(session, sequences, n, results));
    if (n < 1)
        return TSR_OK;
    TRY(make_encoder(session));
    TRY(sort(session, sequences, n));
    TRY(reserve(session, session->encoder->order[n - 1].n));
    tsri_model_encode_kinds(session->encoder, &model->spec, label ? label->dims[0] : 0, results);
    const tsri_model_shape shape = shape_of(session, results);
    run part = {.sequences = sequences, .results = results};
    for (; part.first < n; part.first += (int32_t)part.B) {
        part.B = run_size(session, &part, n);
        part.T = session->encoder->order[part.first + part.B - 1].n;
        TRY(tsri_model_encode_start(session, &shape, &part));
    }
    for (int32_t i = 0; session->encoded && i < n; i++)
        session->encoded[sequences[i].slot] = (int32_t)sequences[i].n;
    return TSR_OK;
}

tsr_status tsri_session_encode(tsri_session *session, const tsri_model_sequence *sequences,
                               int32_t n, const tsri_model_results *results) {
    uint64_t pass;
    TRY(tsri_session_end(session, session->n_begun));
    TRY(tsri_model_pass_of(session, encode(session, sequences, n, results), &pass));
    return tsri_session_end(session, pass);
}

tsr_status tsri_session_begin_encode(tsri_session *session, const tsri_model_sequence *sequences,
                                     int32_t n, uint64_t *pass) {
    static const tsri_model_results nothing = {0};
    return tsri_model_pass_of(session, encode(session, sequences, n, &nothing), pass);
}

/* Of at most B texts of T tokens, as many as run at once. */
static tsr_status plan_of(tsri_session *session, const tsri_model_shape *shape,
                          const tsri_model_results *results, int64_t B, int64_t T,
                          tsri_run_plan **out) {
    const tsri_model *model = session->model;
    const tsri_graph *graph = NULL;
    int64_t lowest, highest;
    if (!model->spec.encoder.layers)
        return tsri_base_fail(TSR_E_STATE, "%s (%s) has no encoder", model->path,
                              model->spec.family);
    if (T > session->source_context)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a text of %" PRId64 " tokens; the encoder reads at most %" PRId64, T,
                              session->source_context);
    TRY(reserve(session, T));
    const int64_t most = tsri_model_encode_limits(session, results, T, &lowest, &highest);
    return tsri_model_plans_settle(
        &session->plans,
        tsri_model_encode_plan(session, shape, results, B < most ? B : most, T, &graph, out));
}

tsr_status tsri_session_encode_plan(tsri_session *session, int64_t tokens, tsri_run_plan **out) {
    static const tsri_model_results none = {0};
    const tsri_model *model = session->model;
    const tsri_model_weights *w = model->weights;
    const bool whole = !model->spec.decoder.layers;
    const tsri_model_shape shape = {.sides = TSRI_SIDES_ENCODER,
                                    .encoded = session->encoded && tsri_model_is_shared(session),
                                    .argmax = whole && tsri_model_has_masked(w),
                                    .labels = whole && tsri_model_weight_at(w, TSRI_WEIGHT_LABEL),
                                    .next = whole && tsri_model_weight_at(w, TSRI_WEIGHT_NEXT),
                                    .pooled = whole && tsri_model_weight_at(w, TSRI_WEIGHT_POOLER),
                                    .vectors = whole};
    return plan_of(session, &shape, &none, 1, tokens, out);
}

tsr_status tsri_session_encode_pass_plan(tsri_session *session, int64_t B, int64_t T,
                                         const tsri_model_results *results, tsri_run_plan **out) {
    const tsri_model_shape shape = shape_of(session, results);
    return plan_of(session, &shape, results, B, T, out);
}
