/* train/step/plan.c - makes the plan of a graph, and destroys it. */
#include "base/error.h"
#include "train/step/training_state.h"

static tsr_status give_rows(void *data, uint32_t id, int64_t first, int64_t count, tsr_dtype dtype,
                            void *out) {
    return tsri_model_weights_rows(data, id, first, count, dtype, out);
}

tsr_status tsri_training_prepare(tsri_training *t, tsri_training_plan *plan, int64_t B, int64_t T,
                                 int64_t S, int64_t N, bool ahead) {
    const tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {B, T, S, 1, N}};
    const tsri_run_source source = {.data = t->model->weights, .rows = give_rows};
    TRY(tsri_run_load(t->run, plan->graph, &bounds, &source));
    return ahead ? tsri_run_announce(t->run, plan->graph, &bounds)
                 : tsri_run_prepare(t->run, plan->graph, &bounds, &plan->plan);
}

tsr_status tsri_training_prepare_plan(tsri_training *t, tsri_training_plan *plan, bool ahead) {
    return plan->graph && !plan->plan ? tsri_training_prepare(t, plan, 1, 1, 1, 1, ahead) : TSR_OK;
}

void tsri_training_drop_plan(tsri_training *t, tsri_training_plan *plan) {
    if (t->run && plan->graph)
        tsri_run_forget(t->run, plan->graph);
    tsri_graph_destroy(&plan->graph);
    plan->plan = NULL;
}
