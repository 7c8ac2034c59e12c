/* Which plan a step of several sequences has: one for few of them, or one for as many as the session has slots. */
#include "model/session/chunk.h"
#include "model/session_runs.h"
#include "run/context.h"

#include <string.h>

enum { SLOTS = 12, FEW = TSRI_MODEL_FEW_ROWS };

static fixture fix;
static int32_t ids[SLOTS][LENGTH];
static int64_t past;

/* A step of n sequences; how many its plan may have. */
static int64_t step(tsri_session *session, int32_t n, float *logits) {
    tsri_model_sequence sequences[SLOTS];
    const tsri_model_results results = {.logits = logits};
    for (int32_t i = 0; i < n; i++)
        sequences[i] = (tsri_model_sequence){.ids = ids[i] + past, .n = 1, .past = past, .slot = i};
    OK(tsri_session_forward(session, sequences, n, &results));
    return session->plans.last->bounds.highest[0];
}

static void begin(int32_t slots, tsri_session **session) {
    session_open(&fix, "gpt2-tiny", "reference");
    for (int32_t i = 0; i < SLOTS; i++)
        session_some_ids(ids[i], LENGTH, (uint64_t)i + 1);
    OK(tsri_session_create(fix.model, slots, 0, session));
    past = 0;
}

static void end(tsri_session **session) {
    tsri_session_destroy(session);
    fixture_close(&fix);
}

Test(session_plans, few_sequences_have_a_plan_of_their_own) {
    static float logits[SLOTS * V];
    tsri_session *session = NULL;
    begin(SLOTS, &session);
    cr_expect_eq(step(session, 1, logits), 1);
    cr_expect_eq(step(session, 2, logits), FEW);
    cr_expect_eq(step(session, FEW, logits), FEW);
    cr_expect_eq(step(session, FEW + 1, logits), SLOTS);
    end(&session);
}

/* 32 steps are too few to pay for a further plan: those before the plan for many count, too. */
Test(session_plans, a_plan_for_many_serves_few_at_first) {
    static float logits[SLOTS * V];
    tsri_session *session = NULL;
    begin(SLOTS, &session);
    cr_expect_eq(step(session, SLOTS, logits), SLOTS);
    for (int i = 0; i < 32; i++)
        cr_expect_eq(step(session, 3, logits), SLOTS, "step %d", i);
    cr_expect_eq(step(session, 3, logits), FEW);
    cr_expect_eq(step(session, SLOTS, logits), SLOTS);
    cr_expect_eq(step(session, 3, logits), FEW);
    end(&session);
}

Test(session_plans, few_slots_have_one_plan) {
    static float logits[SLOTS * V];
    tsri_session *session = NULL;
    begin(FEW, &session);
    cr_expect_eq(step(session, FEW, logits), FEW);
    cr_expect_eq(step(session, 2, logits), FEW);
    end(&session);
}

Test(session_plans, both_plans_give_the_same_bytes) {
    static float few[SLOTS * V], many[SLOTS * V];
    tsri_session *session = NULL;
    begin(SLOTS, &session);
    (void)step(session, SLOTS, many);
    past = 1;
    cr_expect_eq(step(session, 3, many), SLOTS);
    for (int i = 0; i < 40; i++)
        (void)step(session, 3, few);
    cr_expect_eq(session->plans.last->bounds.highest[0], FEW);
    cr_expect(memcmp(few, many, sizeof(float) * 3 * V) == 0);
    end(&session);
}
