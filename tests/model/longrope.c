/* The context that a session is opened with chooses longrope's factors, for all its sequences and
 * whatever their lengths; in the golden models contexts above 8 have the long ones. */
#include "model/session_runs.h"

#include <string.h>

enum { WORDS = 29, ORIGINAL = 8, SHORT = 5, ALL = 14 };

static fixture fix;

static void some_ids(int32_t *ids, int64_t n, uint64_t seed) {
    session_some_ids(ids, n, seed);
    for (int64_t i = 0; i < n; i++)
        ids[i] %= WORDS;
}

static void run(int64_t context, const int32_t *ids, int64_t n, float *logits) {
    tsri_session *session = NULL;
    const tsri_model_sequence sequence = {.ids = ids, .n = n};
    const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .logits = logits};
    OK(tsri_session_create(fix.model, 1, context, &session));
    OK(tsri_session_forward(session, &sequence, 1, &results));
    tsri_session_destroy(&session);
}

/* One model, whose session is parked and taken again. */
static void by_context(const char *selector) {
    static float few[SHORT * WORDS], more[SHORT * WORDS], again[SHORT * WORDS];
    int32_t ids[SHORT];
    session_open(&fix, "phi3-longrope-odd", selector);
    some_ids(ids, SHORT, 4);
    run(SHORT, ids, SHORT, few);
    run(ORIGINAL + 1, ids, SHORT, more);
    cr_expect(memcmp(few + WORDS, more + WORDS, WORDS * sizeof *few) != 0,
              "the context changes nothing");
    run(0, ids, SHORT, again);
    cr_expect(memcmp(more, again, sizeof again) == 0, "the model's own context is a long one");
    run(ORIGINAL, ids, SHORT, again);
    cr_expect(memcmp(few, again, sizeof again) == 0, "8 tokens are not a long context");
    fixture_close(&fix);
}

/* A text that grows past the original length: its keys and values stay what they are. */
static void by_steps(const char *selector) {
    static float whole[ALL * WORDS], steps[ALL * WORDS], first[ORIGINAL * WORDS];
    int32_t ids[ALL];
    tsri_session *session = NULL;
    session_open(&fix, "phi3-longrope-odd", selector);
    some_ids(ids, ALL, 5);
    run(ALL, ids, ALL, whole);
    OK(tsri_session_create(fix.model, 1, ALL, &session));
    session_run_steps(session, ids, ALL, WORDS, steps);
    tsri_session_destroy(&session);
    cr_expect(memcmp(whole, steps, sizeof steps) == 0, "token by token gives other logits");
    run(ALL, ids, ORIGINAL, first);
    cr_expect(memcmp(whole, first, sizeof first) == 0, "later tokens changed earlier ones' logits");
    fixture_close(&fix);
}

/* Short and long texts together, and as a copy's continuation, give what each gives alone. */
static void in_company(const char *selector) {
    static float together[(ALL + SHORT) * WORDS], alone[ALL * WORDS], rest[WORDS];
    int32_t ids[2][ALL];
    tsri_session *session = NULL;
    const tsri_model_sequence sequences[] = {{.ids = ids[0], .n = SHORT},
                                             {.ids = ids[1], .n = ALL, .slot = 1}},
                              last = {.ids = ids[1] + ALL - 1, .n = 1, .past = ALL - 1, .slot = 2};
    const tsri_model_results all = {.rows = TSRI_ROWS_ALL, .logits = together},
                             one = {.logits = rest};
    session_open(&fix, "llama-longrope-odd", selector);
    some_ids(ids[0], ALL, 6);
    some_ids(ids[1], ALL, 7);
    OK(tsri_session_create(fix.model, 3, 0, &session));
    OK(tsri_session_forward(session, sequences, 2, &all));
    OK(tsri_session_copy(session, 1, 2, ALL - 1));
    OK(tsri_session_forward(session, &last, 1, &one));
    tsri_session_destroy(&session);
    run(0, ids[0], SHORT, alone);
    cr_expect(memcmp(together, alone, SHORT * WORDS * sizeof *alone) == 0);
    run(0, ids[1], ALL, alone);
    cr_expect(memcmp(together + SHORT * WORDS, alone, sizeof alone) == 0);
    cr_expect(memcmp(rest, alone + (ALL - 1) * WORDS, sizeof rest) == 0);
    fixture_close(&fix);
}

#define ON_BOTH(title, run)             \
    Test(longrope, title##_reference) { \
        run("reference");               \
    }                                   \
    Test(longrope, title##_device) {    \
        run(NULL);                      \
    }

ON_BOTH(the_context_chooses, by_context)
ON_BOTH(a_text_grows_past_the_original_length, by_steps)
ON_BOTH(a_batch_gives_what_each_gives_alone, in_company)
