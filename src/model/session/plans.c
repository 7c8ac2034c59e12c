/* model/session/plans.c - builds the graphs of a session, one for each set of wanted results, and
 * their plans, one for each range of sizes. */
#include "model/session/plans.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

/* Steps of few sequences after which they get a plan of their own: making it takes some 60 ms with kernels that are
 * built already, and saves a quarter to a third of a step of 2 to 6 ms (a Llama of 110M in q8, 8 sequences). */
enum { FEW_STEPS = 32 };

void tsri_model_plans_begin(tsri_model_plans *plans, const tsri_model *model, int32_t slots,
                            int32_t sources, int32_t pages, uint32_t session) {
    *plans = (tsri_model_plans){.model = model,
                                .slots = slots,
                                .sources = sources,
                                .pages = pages,
                                .first_state = session * tsri_model_state_count(&model->spec)};
}

static void drop(tsri_model_plans *plans) {
    for (size_t i = 0; i < plans->count; i++) {
        tsri_run_forget(plans->model->run, plans->items[i].graph);
        tsri_graph_destroy(&plans->items[i].graph);
    }
    plans->count = 0;
    plans->followed = plans->last = NULL;
    plans->many = false;
}

void tsri_model_plans_end(tsri_model_plans *plans) {
    drop(plans);
    if (plans->model)
        tsri_run_drop_states(plans->model->run, plans->first_state,
                             tsri_model_state_count(&plans->model->spec));
    free(plans->items);
    plans->items = NULL;
}

void tsri_model_plans_grow(tsri_model_plans *plans, int64_t capacity, int64_t source_capacity) {
    drop(plans);
    plans->capacity = capacity;
    plans->source_capacity = source_capacity;
}

tsr_status tsri_model_plans_settle(tsri_model_plans *plans, tsr_status status) {
    if (status == TSR_E_DEVICE_MEMORY || status == TSR_E_HOST_MEMORY)
        tsri_model_plans_grow(plans, plans->held, plans->source_held);
    return status;
}

static bool same(const tsri_model_shape *a, const tsri_model_shape *b) {
    return a->sides == b->sides && a->logits == b->logits && a->argmax == b->argmax &&
           a->hidden == b->hidden && a->attention == b->attention && a->cross == b->cross &&
           a->by_keys == b->by_keys && a->top_k == b->top_k && a->drawn == b->drawn &&
           a->states == b->states && a->vectors == b->vectors && a->pooling == b->pooling &&
           a->pooled == b->pooled && a->labels == b->labels && a->next == b->next &&
           a->reach == b->reach && a->encoded == b->encoded;
}

tsr_status tsri_model_plans_graph(tsri_model_plans *plans, const tsri_model_shape *shape,
                                  const tsri_graph **out) {
    size_t i = 0;
    while (i < plans->count && !same(&plans->items[i].shape, shape))
        i++;
    if (i == plans->count) {
        TRY(tsri_base_grow(&plans->items, &plans->room, i + 1, sizeof *plans->items));
        tsri_model_shaped_graph *item = &plans->items[i];
        item->shape = *shape;
        item->shape.slots = plans->slots;
        item->shape.sources = plans->sources;
        item->shape.pages = plans->pages;
        item->shape.capacity = plans->capacity;
        item->shape.source_capacity = plans->source_capacity;
        item->shape.first_state = plans->first_state;
        item->shape.kv_dtype = plans->model->kv_dtype;
        TRY(tsri_model_build(plans->model->weights, &item->shape, &item->graph));
        plans->count++;
    }
    *out = plans->items[i].graph;
    return TSR_OK;
}

/* Whether a run is a step that may have a plan for few sequences beside that for any number: a token of several
 * ones. Not a search's, whose first step has fewer sequences than the others. */
static bool is_step(const tsri_model_plans *plans, const tsri_model_shape *shape, int64_t B,
                    int64_t T) {
    return T == 1 && B > 1 && plans->slots > TSRI_MODEL_FEW_ROWS && !shape->by_keys;
}

/* A search's first step may have one sequence, and its next ones have several: one plan serves them
 * all. */
static tsr_bounds bounds_of(const tsri_model_plans *plans, const tsri_model_shape *shape, int64_t B,
                            int64_t T, int64_t limit, bool all) {
    const bool joins = shape->by_keys && B == 1;
    const bool few = is_step(plans, shape, B, T) && B <= TSRI_MODEL_FEW_ROWS &&
                     (!plans->many || plans->few_steps >= FEW_STEPS);
    tsr_bounds bounds =
        tsri_model_bounds(few ? TSRI_MODEL_FEW_ROWS : plans->slots, joins ? 2 : B, T, limit, all);
    if (shape->by_keys)
        bounds.lowest[0] = 1;
    return bounds;
}

tsr_status tsri_model_plans_plan(tsri_model_plans *plans, const tsri_model_shape *shape, int64_t B,
                                 int64_t T, int64_t limit, bool all, tsri_run_plan **out) {
    const tsr_bounds bounds = bounds_of(plans, shape, B, T, limit, all);
    const tsri_graph *graph = NULL;
    plans->followed = NULL;
    TRY(tsri_model_plans_graph(plans, shape, &graph));
    TRY(tsri_run_prepare(plans->model->run, graph, &bounds, out));
    if (is_step(plans, shape, B, T)) {
        const bool few = B <= TSRI_MODEL_FEW_ROWS;
        plans->many |= !few;
        plans->few_steps += few && plans->few_steps < FEW_STEPS;
    }
    plans->last = *out;
    plans->held = plans->capacity;
    plans->source_held = plans->source_capacity;
    return TSR_OK;
}

tsr_status tsri_model_plans_announce(tsri_model_plans *plans, const tsri_model_shape *shape,
                                     int64_t B, int64_t T, int64_t limit, bool all) {
    const tsr_bounds bounds = bounds_of(plans, shape, B, T, limit, all);
    const tsri_graph *graph = NULL;
    TRY(tsri_model_plans_graph(plans, shape, &graph));
    return tsri_run_announce(plans->model->run, graph, &bounds);
}
