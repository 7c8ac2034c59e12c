/* model/session/plans.h - the graphs and plans of a session: one graph for each set of results, one
 * plan for each range of sizes. */
#ifndef TSRI_MODEL_SESSION_PLANS_H
#define TSRI_MODEL_SESSION_PLANS_H

#include "model/load/load.h"

typedef struct tsri_model_shaped_graph {
    tsri_model_shape shape;
    tsri_graph *graph;
} tsri_model_shaped_graph;

typedef struct tsri_model_plans {
    const tsri_model *model;
    int32_t slots, sources, pages;     /* pages: of all sequences together; 0: they have slots */
    int64_t capacity, source_capacity; /* 0: no graph yet */
    int64_t held, source_held;         /* those that the states of the last plan had */
    uint32_t first_state;
    bool many;         /* a plan for a token of any number of sequences was made */
    int32_t few_steps; /* steps of few sequences so far, until they pay for a plan of their own */
    tsri_model_shaped_graph *items;
    size_t count, room;
    /* The plan of a run that another may follow (tsri_session_follow): set after the run, until a plan is
     * asked for or the graphs are dropped */
    tsri_run_plan *followed;
    tsri_run_plan *last; /* the plan that was asked for last, until the graphs are dropped */
} tsri_model_plans;

void tsri_model_plans_begin(tsri_model_plans *plans, const tsri_model *model, int32_t slots,
                            int32_t sources, int32_t pages, uint32_t session);
void tsri_model_plans_end(tsri_model_plans *plans);
/* Drops the graphs of the old capacity; the states are copied when the first plan of the new
 * capacity is made. */
void tsri_model_plans_grow(tsri_model_plans *plans, int64_t capacity, int64_t source_capacity);
/* After what ended with `status`: if memory was lacking, drops the graphs, and goes back to the capacities that
 * the states had before they were to grow, so that a smaller request finds room. Returns `status`. */
tsr_status tsri_model_plans_settle(tsri_model_plans *plans, tsr_status status);

/* The graph for the results that `shape` marks; slots, capacities and states of `shape` are set
 * here. */
tsr_status tsri_model_plans_graph(tsri_model_plans *plans, const tsri_model_shape *shape,
                                  const tsri_graph **out);

/* A decoder's plan for B sequences of T tokens (at most `limit`) and the results that `shape`
 * marks. `all`: rows are up to B * T, else up to B. Tokens of 2 to TSRI_MODEL_FEW_ROWS sequences have a plan of
 * their own, with kernels for few rows, where no other plan has them, and otherwise as soon as so many were
 * computed that making it pays. */
tsr_status tsri_model_plans_plan(tsri_model_plans *plans, const tsri_model_shape *shape, int64_t B,
                                 int64_t T, int64_t limit, bool all, tsri_run_plan **out);
/* Tells the devices that this plan will be asked for. */
tsr_status tsri_model_plans_announce(tsri_model_plans *plans, const tsri_model_shape *shape,
                                     int64_t B, int64_t T, int64_t limit, bool all);

#endif
