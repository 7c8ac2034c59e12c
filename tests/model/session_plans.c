/* Which plan a step of several sequences has: one for few of them, or one for as many as the session has slots. */
#include "model/session/chunk.h"
#include "model/session_runs.h"
#include "run/context.h"

#include <string.h>

enum { SLOTS = 12, FEW = TSRI_MODEL_FEW_ROWS };

static fixture fix;
static tsri_session *session;
static int32_t ids[SLOTS][LENGTH];
static int64_t past;
static float logits[SLOTS * V];

/* A step of n sequences; how many its plan may have. */
static int64_t step(int32_t n) {
    tsri_model_sequence sequences[SLOTS];
    const tsri_model_results results = {.logits = logits};
    for (int32_t i = 0; i < n; i++)
        sequences[i] = (tsri_model_sequence){.ids = ids[i] + past, .n = 1, .past = past, .slot = i};
    OK(tsri_session_forward(session, sequences, n, &results));
    return session->plans.last->bounds.highest[0];
}

static void begin(int32_t slots) {
    session_open(&fix, "gpt2-tiny", "reference");
    for (int32_t i = 0; i < SLOTS; i++)
        session_some_ids(ids[i], LENGTH, (uint64_t)i + 1);
    OK(tsri_session_create(fix.model, slots, 0, &session));
    past = 0;
}

static void end(void) {
    tsri_session_destroy(&session);
    fixture_close(&fix);
}

TestSuite(session_plans, .fini = end);

Test(session_plans, few_sequences_have_a_plan_of_their_own) {
    begin(SLOTS);
    cr_expect_eq(step(1), 1);
    cr_expect_eq(step(2), FEW);
    cr_expect_eq(step(FEW), FEW);
    cr_expect_eq(step(FEW + 1), SLOTS);
}

/* 32 steps are too few to pay for a further plan: those before the plan for many count, too. */
Test(session_plans, a_plan_for_many_serves_few_at_first) {
    begin(SLOTS);
    cr_expect_eq(step(SLOTS), SLOTS);
    for (int i = 0; i < 32; i++)
        cr_expect_eq(step(3), SLOTS, "step %d", i);
    cr_expect_eq(step(3), FEW);
    cr_expect_eq(step(SLOTS), SLOTS);
    cr_expect_eq(step(3), FEW);
}

Test(session_plans, few_slots_have_one_plan) {
    begin(FEW);
    cr_expect_eq(step(FEW), FEW);
    cr_expect_eq(step(2), FEW);
}

Test(session_plans, both_plans_give_the_same_bytes) {
    static float many[SLOTS * V];
    begin(SLOTS);
    (void)step(SLOTS);
    past = 1;
    cr_expect_eq(step(3), SLOTS);
    memcpy(many, logits, sizeof many);
    for (int i = 0; i < 40; i++)
        (void)step(3);
    cr_expect_eq(session->plans.last->bounds.highest[0], FEW);
    cr_expect(memcmp(logits, many, sizeof(float) * 3 * V) == 0);
}
