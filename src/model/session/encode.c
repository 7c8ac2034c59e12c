/* model/session/encode.c - runs an encoder: sequences of similar length run together, so that the
 * time of a batch depends on its tokens and not on its longest sequence. */
#include "model/session/encode.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_TOKENS = 1024,     /* of a run of several sequences, so that its activations stay in the
                               caches (2048: 32 texts of 256 tokens took 1.03 to 1.05 as long
                               with a small model) */
    FULL = 64,              /* from this many tokens on, padding costs more than another run */
    MOST_RESULTS = 16 << 20 /* elements of logits or probabilities in a run of several sequences */
};

typedef tsri_model_length length;
typedef tsri_model_encode_run run;

void tsri_model_encoder_destroy(tsri_model_encoder **encoder) {
    tsri_model_encoder *e = *encoder;
    if (!e)
        return;
    for (int i = 0; i < TSRI_MODEL_ENCODED_KINDS; i++)
        free(e->kinds[i].stage.data);
    for (tsri_model_staging *stage = e->per_token; stage && stage->room != SIZE_MAX; stage++)
        free(stage->data);
    void *const arrays[] = {e->rows_of_distances,
                            e->places,
                            e->order,
                            e->offset,
                            e->ids,
                            e->positions,
                            e->types,
                            e->past,
                            e->len,
                            e->slot,
                            e->destination,
                            e->rows,
                            e->outputs,
                            e->per_token,
                            e->state,
                            e};
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
    TRY(tsri_base_new(TSRI_MODEL_ENCODED_KINDS + 2 * layers + 1, sizeof *e->outputs, &e->outputs));
    TRY(tsri_base_new(2 * layers + 2, sizeof *e->per_token, &e->per_token));
    e->per_token[2 * layers + 1].room = SIZE_MAX; /* the end */
    return TSR_OK;
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

/* The range of lengths that the plan for length T serves. */
static void range_of(int64_t T, int64_t *lowest, int64_t *highest) {
    *lowest = 1;
    for (*highest = 16; *highest < T; *highest *= *highest < 64 ? 4 : 2)
        *lowest = *highest + 1;
}

/* The elements of the largest result of a run of B sequences of T tokens. */
static int64_t largest_result(const tsri_model_spec *spec, const tsri_model_results *r, int64_t B,
                              int64_t T) {
    const int64_t logits = !r->logits ? 0 : B * T * spec->vocab,
                  scores = !r->attention ? 0 : B * spec->encoder.heads * T * T;
    return logits > scores ? logits : scores;
}

/* The lengths that a run's plan serves, and the most sequences that it may have: every product of
 * its sizes must be an int32. */
static int64_t limits(const tsri_session *session, const tsri_model_results *r, int64_t T,
                      int64_t *lowest, int64_t *highest) {
    const bool each = r->rows == TSRI_ROWS_ALL || r->rows == TSRI_ROWS_LISTED;
    range_of(T, lowest, highest);
    if (*highest > session->source_context)
        *highest = session->source_context;
    int64_t most = MOST_TOKENS / *highest;
    while (most > 1 && most * *highest * *highest * most * (each ? *highest : 1) > INT32_MAX)
        most--;
    return most > 1 ? most : 1;
}

/* The largest distance in a plan for sequences of about T tokens, where attention is disentangled; else 0. */
static int64_t reach_of(const tsri_session *session, int64_t T) {
    int64_t lowest, highest;
    range_of(T, &lowest, &highest);
    return !session->model->spec.encoder.distance_span ? 0
           : highest < session->source_context         ? highest
                                                       : session->source_context;
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
        const int64_t most = limits(session, run->results, T, &lowest, &highest);
        if ((tokens >= FULL && all > (tokens + T) * 9 / 8) || B + 1 > most ||
            largest_result(spec, run->results, B + 1, T) > MOST_RESULTS)
            break;
        tokens += T;
    }
    return B;
}

/* ---- inputs ---- */

static tsr_status make_room(tsri_model_encoder *e, const run *run) {
    const size_t tokens = (size_t)(run->B * run->T), sequences = (size_t)run->B;
    int32_t **const by_token[] = {&e->ids, &e->positions, &e->types, &e->rows},
                    **const by_sequence[] = {&e->past, &e->len, &e->slot, &e->state};
    for (int i = 0; i < 4; i++)
        TRY(tsri_base_grow(by_token[i], &e->tokens_room[i], tokens, sizeof(int32_t)));
    for (int i = 0; i < 4; i++)
        TRY(tsri_base_grow(by_sequence[i], &e->sequences_room[i], sequences, sizeof(int32_t)));
    return tsri_base_grow(&e->destination, &e->destination_room, tokens, sizeof(int64_t));
}

/* The wanted rows of a sequence: its token t is row b * T + t of the run. If tokens are listed, the
 * search finds the first one in the list that is not before the sequence. */
static void want_rows(tsri_model_encoder *e, run *run, int64_t b, int32_t number, int64_t n) {
    const tsri_model_results *r = run->results;
    const int64_t offset = e->offset[number];
    const int64_t one = r->rows == TSRI_ROWS_FIRST ? 0 : n - 1;
    if (r->rows == TSRI_ROWS_ALL) {
        for (int64_t t = 0; t < n; t++) {
            e->destination[run->wanted] = offset + t;
            e->rows[run->wanted++] = (int32_t)(b * run->T + t);
        }
        return;
    }
    if (r->rows != TSRI_ROWS_LISTED) {
        e->destination[run->wanted] = number;
        e->rows[run->wanted++] = (int32_t)(b * run->T + one);
        return;
    }
    int64_t low = 0, high = r->n_listed;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (r->listed[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < r->n_listed && r->listed[low] < offset + n; low++) {
        e->destination[run->wanted] = low;
        e->rows[run->wanted++] = (int32_t)(b * run->T + r->listed[low] - offset);
    }
}

static void fill_inputs(tsri_model_encoder *e, run *run, int32_t slots) {
    const size_t bytes = (size_t)(run->B * run->T) * sizeof(int32_t);
    int32_t *const by_token[] = {e->ids, e->positions, e->types};
    for (int i = 0; i < 3; i++)
        memset(by_token[i], 0, bytes);
    run->wanted = 0;
    for (int64_t b = 0; b < run->B; b++) {
        const int32_t number = e->order[run->first + b].number;
        const tsri_model_sequence *sequence = &run->sequences[number];
        const int64_t at = b * run->T;
        e->past[b] = 0;
        e->len[b] = (int32_t)sequence->n;
        e->slot[b] = sequence->slot;
        e->state[b] = slots + sequence->slot;
        memcpy(e->ids + at, sequence->ids, (size_t)sequence->n * sizeof(int32_t));
        if (sequence->types)
            memcpy(e->types + at, sequence->types, (size_t)sequence->n * sizeof(int32_t));
        for (int64_t t = 0; t < sequence->n; t++)
            e->positions[at + t] = sequence->positions ? sequence->positions[t] : (int32_t)t;
        want_rows(e, run, b, number, sequence->n);
    }
    run->N = run->wanted ? run->wanted : 1; /* heads always run for at least one row, even if
                                               nobody reads it */
    if (!run->wanted)
        e->rows[0] = 0;
}

/* Sets what disentangled attention reads for sequences of about T tokens. */
static tsr_status fill_distances(tsri_session *session, int64_t T) {
    const tsri_model_stack *stack = &session->model->spec.encoder;
    tsri_model_encoder *e = session->encoder;
    const int64_t reach = reach_of(session, T);
    if (!reach || (e->places && e->distances.reach == reach))
        return TSR_OK;
    const tsri_model_distances all = tsri_model_distances_of(stack, reach);
    TRY(tsri_base_grow(&e->rows_of_distances, &e->distances_room, (size_t)all.rows,
                       sizeof(int32_t)));
    TRY(tsri_base_grow(&e->places, &e->places_room, 2 * (size_t)all.reach + 1, sizeof(int32_t)));
    for (int32_t i = 0; i < all.rows; i++)
        e->rows_of_distances[i] = all.first + i;
    tsri_model_distance_places(stack, &all, e->places);
    e->distances = all;
    return TSR_OK;
}

/* Binds those inputs that the graph reads. */
static size_t bind_inputs(const tsri_session *session, const tsri_graph *graph, const run *run,
                          tsri_run_binding *inputs) {
    const tsri_model_encoder *e = session->encoder;
    const size_t tokens = (size_t)(run->B * run->T) * sizeof(int32_t),
                 sequences = (size_t)run->B * sizeof(int32_t);
    const tsri_run_binding all[] = {
        {.id = TSRI_INPUT_IDS, .data = e->ids, .bytes = tokens},
        {.id = TSRI_INPUT_POSITIONS, .data = e->positions, .bytes = tokens},
        {.id = TSRI_INPUT_TYPES, .data = e->types, .bytes = tokens},
        {.id = TSRI_INPUT_PAST, .data = e->past, .bytes = sequences},
        {.id = TSRI_INPUT_LEN, .data = e->len, .bytes = sequences},
        {.id = TSRI_INPUT_SLOT, .data = e->slot, .bytes = sequences},
        {.id = TSRI_INPUT_STATE, .data = e->state, .bytes = sequences},
        {.id = TSRI_INPUT_ROWS, .data = e->rows, .bytes = (size_t)run->N * sizeof(int32_t)},
        {.id = TSRI_INPUT_DISTANCES,
         .data = e->rows_of_distances,
         .bytes = (size_t)e->distances.rows * sizeof(int32_t)},
        {.id = TSRI_INPUT_PLACES,
         .data = e->places,
         .bytes = (2 * (size_t)e->distances.reach + 1) * sizeof(int32_t)}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t v = 0; v < tsri_graph_value_count(graph); v++) {
            const tsri_graph_value *leaf = tsri_graph_value_at(graph, (tsri_value)v);
            if (leaf->tensor.kind == TSR_KIND_INPUT && leaf->producer < 0 &&
                leaf->storage == (tsri_value)v && leaf->id == all[i].id) {
                inputs[n++] = all[i];
                break;
            }
        }
    return n;
}

/* ---- runs ---- */

static tsri_model_shape shape_of(const tsri_model_results *r) {
    return (tsri_model_shape){.sides = TSRI_SIDES_ENCODER,
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

/* A plan for one sequence of about T tokens, or for as many sequences as a run may have. */
static tsr_status plan_for(tsri_session *session, const tsri_graph *graph, const run *run,
                           tsri_run_plan **out) {
    const tsri_model_rows rows = run->results->rows;
    const int64_t B = run->B;
    int64_t lowest, highest, most = limits(session, run->results, run->T, &lowest, &highest);
    most = B == 1 ? 1 : most;
    const int64_t N = rows == TSRI_ROWS_ALL || rows == TSRI_ROWS_LISTED ? most * highest : most;
    const tsr_bounds bounds = {.struct_size = sizeof bounds,
                               .lowest = {B == 1 ? 1 : 2, lowest, lowest, 1, 1},
                               .highest = {most, highest, highest, 1, N}};
    return tsri_run_prepare(session->model->run, graph, &bounds, out);
}

/* The graph for sequences of about T tokens. Where attention is disentangled, it has the rows of the distances
 * that its plan may have; else one graph serves all lengths. */
static tsr_status graph_for(tsri_session *session, tsri_model_shape shape, int64_t T,
                            const tsri_graph **out) {
    shape.reach = reach_of(session, T);
    return tsri_model_plans_graph(&session->plans, &shape, out);
}

static tsr_status run_one(tsri_session *session, const tsri_model_shape *shape, run *run) {
    tsri_model_encoder *e = session->encoder;
    const tsri_graph *graph = NULL;
    tsri_run_binding inputs[TSRI_INPUT_COUNT];
    tsri_run_plan *plan = NULL;
    TRY(make_room(e, run));
    fill_inputs(e, run, session->slots);
    TRY(graph_for(session, *shape, run->T, &graph));
    TRY(fill_distances(session, run->T));
    TRY(tsri_model_encode_bind(session, run));
    TRY(plan_for(session, graph, run, &plan));
    const int64_t sizes[TSR_SYMBOLS] = {run->B, run->T, run->T, 1, run->N};
    const size_t n = bind_inputs(session, graph, run, inputs);
    TRY(tsri_run_execute(plan, sizes, inputs, n, e->outputs, run->n_outputs));
    tsri_model_encode_scatter(session, run);
    return TSR_OK;
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

tsr_status tsri_session_encode(tsri_session *session, const tsri_model_sequence *sequences,
                               int32_t n, const tsri_model_results *results) {
    const tsri_model *model = session->model;
    const tsri_model_weight *label = tsri_model_weight_at(model->weights, TSRI_WEIGHT_LABEL);
    TRY(check(session, sequences, n, results));
    if (n < 1)
        return TSR_OK;
    TRY(make_encoder(session));
    TRY(sort(session, sequences, n));
    TRY(reserve(session, session->encoder->order[n - 1].n));
    tsri_model_encode_kinds(session->encoder, &model->spec, label ? label->dims[0] : 0, results);
    const tsri_model_shape shape = shape_of(results);
    run run = {.sequences = sequences, .results = results};
    for (; run.first < n; run.first += (int32_t)run.B) {
        run.B = run_size(session, &run, n);
        run.T = session->encoder->order[run.first + run.B - 1].n;
        TRY(run_one(session, &shape, &run));
    }
    for (int32_t i = 0; session->encoded && i < n; i++)
        session->encoded[sequences[i].slot] = (int32_t)sequences[i].n;
    return TSR_OK;
}

tsr_status tsri_session_encode_plan(tsri_session *session, int64_t tokens, tsri_run_plan **out) {
    const tsri_model *model = session->model;
    const tsri_model_weights *w = model->weights;
    const bool whole = !model->spec.decoder.layers;
    const tsri_model_shape shape = {.sides = TSRI_SIDES_ENCODER,
                                    .argmax = whole && tsri_model_has_masked(w),
                                    .labels = whole && tsri_model_weight_at(w, TSRI_WEIGHT_LABEL),
                                    .next = whole && tsri_model_weight_at(w, TSRI_WEIGHT_NEXT),
                                    .pooled = whole && tsri_model_weight_at(w, TSRI_WEIGHT_POOLER),
                                    .vectors = whole};
    const tsri_graph *graph = NULL;
    if (!model->spec.encoder.layers)
        return tsri_base_fail(TSR_E_STATE, "%s (%s) has no encoder", model->path,
                              model->spec.family);
    if (tokens > session->source_context)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a text of %" PRId64 " tokens; the encoder reads at most %" PRId64,
                              tokens, session->source_context);
    TRY(reserve(session, tokens));
    TRY(graph_for(session, shape, tokens, &graph));
    const tsri_model_results none = {0};
    const run one = {.results = &none, .B = 1, .T = tokens};
    return plan_for(session, graph, &one, out);
}
