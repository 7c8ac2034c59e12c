/* model/session/encode_run.c - one run of an encoder: its inputs, its plan, and what is kept of a source.
 *
 * Where ranks share the layers of an encoder-decoder, a run gives the encoder's output to all ranks; when
 * it has ended, each rank makes of that output what its own layers of the decoder attend to. */
#include "model/session/encode.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

typedef tsri_model_encode_run run;

/* Tokens of a run of several sequences at most, so that its activations stay in the caches (2048: 32 texts
 * of 256 tokens took 1.03 to 1.05 as long with a small model). */
enum { MOST_TOKENS = 1024 };

/* ---- sizes ---- */

/* The range of lengths that the plan for length T serves. */
static void range_of(const tsri_session *session, int64_t T, int64_t *lowest, int64_t *highest) {
    *lowest = 1;
    for (*highest = 16; *highest < T; *highest *= *highest < 64 ? 4 : 2)
        *lowest = *highest + 1;
    if (*highest > session->source_context)
        *highest = session->source_context;
}

int64_t tsri_model_encode_limits(const tsri_session *session, const tsri_model_results *r,
                                 int64_t T, int64_t *lowest, int64_t *highest) {
    const bool each = r->rows == TSRI_ROWS_ALL || r->rows == TSRI_ROWS_LISTED;
    range_of(session, T, lowest, highest);
    int64_t most = MOST_TOKENS / *highest;
    while (most > 1 && most * *highest * *highest * most * (each ? *highest : 1) > INT32_MAX)
        most--;
    return most > 1 ? most : 1;
}

/* The largest distance in a plan for sequences of about T tokens, where attention is disentangled; else
 * 0. */
static int64_t reach_of(const tsri_session *session, int64_t T) {
    int64_t lowest, highest;
    range_of(session, T, &lowest, &highest);
    return session->model->spec.encoder.distance_span ? highest : 0;
}

/* ---- inputs ---- */

static tsr_status make_room(tsri_model_encoder *e, run *run) {
    const size_t tokens = (size_t)(run->B * run->T), sequences = (size_t)run->B;
    int32_t **const by_token[] = {&e->ids, &e->positions, &e->types, &e->rows},
                    **const by_sequence[] = {&run->past, &run->len, &run->slot};
    for (int i = 0; i < 4; i++)
        TRY(tsri_base_grow(by_token[i], &e->tokens_room[i], tokens, sizeof(int32_t)));
    for (int i = 0; i < 3; i++)
        TRY(tsri_base_grow(by_sequence[i], &run->sequences_room[i], sequences, sizeof(int32_t)));
    TRY(tsri_base_grow(&e->state, &e->state_room, sequences, sizeof(int32_t)));
    return tsri_base_grow(&run->destination, &run->destination_room, tokens, sizeof(int64_t));
}

/* The wanted rows of a sequence: its token t is row b * T + t of the run. If tokens are listed, the
 * search finds the first one in the list that is not before the sequence. */
static void want_rows(tsri_model_encoder *e, run *run, int64_t b, int32_t number, int64_t n) {
    const tsri_model_results *r = run->results;
    const int64_t offset = e->offset[number];
    const int64_t one = r->rows == TSRI_ROWS_FIRST ? 0 : n - 1;
    if (r->rows == TSRI_ROWS_ALL) {
        for (int64_t t = 0; t < n; t++) {
            run->destination[run->wanted] = offset + t;
            e->rows[run->wanted++] = (int32_t)(b * run->T + t);
        }
        return;
    }
    if (r->rows != TSRI_ROWS_LISTED) {
        run->destination[run->wanted] = number;
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
        run->destination[run->wanted] = low;
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
        run->past[b] = 0;
        run->len[b] = (int32_t)sequence->n;
        run->slot[b] = sequence->slot;
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
    const int64_t reach = reach_of(session, T);
    return reach ? tsri_model_distance_inputs_fill(&session->model->spec.encoder, reach,
                                                   &session->encoder->distances)
                 : TSR_OK;
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
        {.id = TSRI_INPUT_PAST, .data = run->past, .bytes = sequences},
        {.id = TSRI_INPUT_LEN, .data = run->len, .bytes = sequences},
        {.id = TSRI_INPUT_SLOT, .data = run->slot, .bytes = sequences},
        {.id = TSRI_INPUT_STATE, .data = e->state, .bytes = sequences},
        {.id = TSRI_INPUT_ENCODED,
         .data = run->encoded.data,
         .bytes = tokens * (size_t)session->model->spec.width},
        {.id = TSRI_INPUT_ROWS, .data = e->rows, .bytes = (size_t)run->N * sizeof(int32_t)},
        {.id = TSRI_INPUT_DISTANCES,
         .data = e->distances.rows,
         .bytes = (size_t)e->distances.distances.rows * sizeof(int32_t)},
        {.id = TSRI_INPUT_PLACES,
         .data = e->distances.places,
         .bytes = (2 * (size_t)e->distances.distances.reach + 1) * sizeof(int32_t)},
        {.id = TSRI_INPUT_TAPS, .data = e->taps.rows, .bytes = e->taps.count * sizeof(int32_t)},
        {.id = TSRI_INPUT_TAP_MASK, .data = e->taps.mask, .bytes = e->taps.count * sizeof(float)}};
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

/* Where attention is disentangled, a graph has the rows of the distances that its plan may have; else one
 * graph serves all lengths. */
tsr_status tsri_model_encode_plan(tsri_session *session, const tsri_model_shape *shape,
                                  const tsri_model_results *results, int64_t B, int64_t T,
                                  const tsri_graph **graph, tsri_run_plan **out) {
    const tsri_model_rows rows = results->rows;
    tsri_model_shape reaching = *shape;
    int64_t lowest, highest,
        most = tsri_model_encode_limits(session, results, T, &lowest, &highest);
    most = B == 1 ? 1 : most;
    const int64_t N = rows == TSRI_ROWS_ALL || rows == TSRI_ROWS_LISTED ? most * highest : most;
    const tsr_bounds bounds = {.struct_size = sizeof bounds,
                               .lowest = {B == 1 ? 1 : 2, lowest, lowest, 1, 1},
                               .highest = {most, highest, highest, 1, N}};
    reaching.reach = reach_of(session, T);
    TRY(tsri_model_plans_graph(&session->plans, &reaching, graph));
    TRY(tsri_run_prepare(session->model->run, *graph, &bounds, out));
    session->plans.source_held = session->plans.source_capacity;
    return TSR_OK;
}

/* Keeps of the encoder's output what this rank's layers of the decoder attend to. No other rank takes part
 * in that. */
static tsr_status keep_source(tsri_session *session, run *run) {
    static const tsri_model_results nothing = {0};
    const tsri_model_shape shape = {.sides = TSRI_SIDES_SOURCE};
    const int64_t sizes[TSR_SYMBOLS] = {run->B, run->T, run->T, 1, 1};
    tsri_run_binding inputs[TSRI_INPUT_COUNT];
    const tsri_graph *graph = NULL;
    tsri_run_plan *plan = NULL;
    TRY(tsri_model_encode_plan(session, &shape, &nothing, run->B, run->T, &graph, &plan));
    return tsri_run_execute(plan, sizes, inputs, bind_inputs(session, graph, run, inputs), NULL, 0);
}

/* Puts the results of a run where they belong. */
static tsr_status ended(tsri_session *session, run *run) {
    tsri_model_encode_scatter(session, run);
    return session->encoded && tsri_model_is_shared(session) ? keep_source(session, run) : TSR_OK;
}

/* Starts a run. Where ranks share the layers it is a pass, and its outputs come later. */
static tsr_status execute(tsri_session *session, run *run, const tsri_graph *graph,
                          tsri_run_plan *plan, tsri_model_pass *pass) {
    const int64_t sizes[TSR_SYMBOLS] = {run->B, run->T, run->T, 1, run->N};
    const tsri_run_binding *outputs = session->encoder->outputs;
    tsri_run_binding inputs[TSRI_INPUT_COUNT];
    const size_t n = bind_inputs(session, graph, run, inputs);
    if (!pass) {
        TRY(tsri_run_execute(plan, sizes, inputs, n, outputs, run->n_outputs));
        return ended(session, run);
    }
    TRY(tsri_run_start(plan, sizes, inputs, n, outputs, run->n_outputs, &pass->reads));
    pass->run = run;
    pass->ended = ended;
    tsri_model_pass_begun(session);
    return TSR_OK;
}

tsr_status tsri_model_encode_start(tsri_session *session, const tsri_model_shape *shape,
                                   const tsri_model_encode_run *part) {
    tsri_model_encoder *e = session->encoder;
    run *run = &e->runs[e->n_runs % TSRI_MODEL_UNDER_WAY];
    const tsri_graph *graph = NULL;
    tsri_run_plan *plan = NULL;
    tsri_model_pass *pass = NULL;
    if (tsri_model_is_shared(session)) /* first, so that no other pass has this memory */
        TRY(tsri_model_pass_room(session, &pass));
    e->n_runs++;
    run->sequences = part->sequences;
    run->results = part->results;
    run->first = part->first;
    run->B = part->B;
    run->T = part->T;
    TRY(make_room(e, run));
    fill_inputs(e, run, session->slots);
    TRY(fill_distances(session, run->T));
    TRY(tsri_model_tap_inputs_fill(&session->model->spec.encoder, run->len, run->B, run->T,
                                   &e->taps));
    TRY(tsri_model_encode_bind(session, run, shape->encoded));
    TRY(tsri_model_encode_plan(session, shape, run->results, run->B, run->T, &graph, &plan));
    return execute(session, run, graph, plan, pass);
}
