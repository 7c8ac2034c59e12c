/* What a session promises besides numbers: bytes that do not depend on other sequences, on chunks
 * or on later tokens; and its refusals. */
#include "model/session_runs.h"

#include "base/error.h"
#include "base/random.h"
#include "run/context.h"

#include <stdlib.h>
#include <string.h>

static fixture fix;

static void later_tokens(const char *selector) {
    static float a[LENGTH * V], b[LENGTH * V];
    int32_t ids[LENGTH];
    const tsri_model_sequence sequence = {.ids = ids, .n = LENGTH};
    session_open(&fix, "llama-tiny", selector);
    session_some_ids(ids, LENGTH, 1);
    session_run_all(&fix, 1, &sequence, 1, a);
    for (int64_t t = 11; t < LENGTH; t++)
        ids[t] = (ids[t] + 7) % V;
    session_run_all(&fix, 1, &sequence, 1, b);
    cr_expect(memcmp(a, b, 11 * V * sizeof *a) == 0,
              "a later token changed an earlier one's logits");
    cr_expect(memcmp(a + 11 * V, b + 11 * V, V * sizeof *a) != 0);
    fixture_close(&fix);
}

Test(session, later_tokens_change_nothing_before_reference) {
    later_tokens("reference");
}

Test(session, later_tokens_change_nothing_before_device) {
    later_tokens(NULL);
}

/* Three sequences of unequal lengths, run in one batch and one by one, give the same bytes. */
static void in_company_of(const char *name, int32_t vocab, const char *selector) {
    static float together[3 * LENGTH * V], alone[LENGTH * V];
    const int64_t lengths[] = {LENGTH, 1, 7};
    int32_t ids[3][LENGTH];
    tsri_model_sequence sequences[3];
    session_open(&fix, name, selector);
    cr_assert_leq(vocab, V);
    for (int32_t i = 0; i < 3; i++) {
        session_some_ids(ids[i], LENGTH, 10 + (uint64_t)i);
        for (int64_t t = 0; t < LENGTH; t++)
            ids[i][t] %= vocab;
        sequences[i] = (tsri_model_sequence){.ids = ids[i], .n = lengths[i], .slot = 2 - i};
    }
    session_run_all(&fix, 3, sequences, 3, together);
    const float *at = together;
    for (int32_t i = 0; i < 3; i++) {
        sequences[i].slot = 0;
        session_run_all(&fix, 1, &sequences[i], 1, alone);
        cr_expect(memcmp(at, alone, (size_t)(lengths[i] * vocab) * sizeof *at) == 0,
                  "%s: sequence %d has other logits in a batch than alone", name, i);
        at += lengths[i] * vocab;
    }
    fixture_close(&fix);
}

static void in_company(const char *selector) {
    in_company_of("qwen2-window", V, selector);
    in_company_of("deepseek_v3", 43, selector); /* latent attention, experts in groups */
}

Test(session, a_batch_gives_what_each_gives_alone_reference) {
    in_company("reference");
}

Test(session, a_batch_gives_what_each_gives_alone_device) {
    in_company(NULL);
}

/* At once, token by token, and in chunks (a session of many slots takes fewer tokens of each at a
 * time). */
static void in_pieces(const char *selector) {
    static float whole[LENGTH * V], pieces[LENGTH * V];
    int32_t ids[40];
    tsri_model_sequence sequence = {.ids = ids, .n = LENGTH};
    session_open(&fix, "gpt2-tiny", selector);
    session_some_ids(ids, LENGTH, 3);
    session_run_all(&fix, 1, &sequence, 1, whole);
    session_run_all(&fix, 300, &sequence, 1, pieces);
    cr_expect(memcmp(whole, pieces, sizeof whole) == 0, "pieces give other logits");
    session_expect_same_by_steps(&fix, ids, whole);
    fixture_close(&fix);
}

/* A copy of another slot's first tokens is what the slot itself would have. */
static void copied(const char *selector) {
    enum { KEPT = 11, REST = LENGTH - KEPT };
    static float whole[LENGTH * V], other[LENGTH * V], rest[REST * V];
    int32_t ids[LENGTH], others[LENGTH];
    tsri_session *session = NULL;
    const tsri_model_sequence sequences[] = {{.ids = ids, .n = LENGTH, .slot = 1},
                                             {.ids = others, .n = LENGTH, .slot = 2}};
    const tsri_model_results all = {.rows = TSRI_ROWS_ALL, .logits = whole},
                             unlike = {.rows = TSRI_ROWS_ALL, .logits = other},
                             results = {.rows = TSRI_ROWS_ALL, .logits = rest};
    session_open(&fix, "llama-tiny", selector);
    session_some_ids(ids, LENGTH, 6);
    session_some_ids(others, LENGTH, 7);
    OK(tsri_session_create(fix.model, 3, 0, &session));
    OK(tsri_session_forward(session, &sequences[1], 1, &unlike));
    OK(tsri_session_forward(session, &sequences[0], 1, &all));
    for (int32_t to = 0; to < 3;
         to += 2) { /* a slot that was never used, and one with other keys */
        const tsri_model_sequence on = {.ids = ids + KEPT, .n = REST, .past = KEPT, .slot = to};
        OK(tsri_session_copy(session, 1, to, KEPT));
        OK(tsri_session_forward(session, &on, 1, &results));
        cr_expect(memcmp(whole + KEPT * V, rest, sizeof rest) == 0,
                  "after a copy to slot %d the logits are others", to);
    }
    tsri_session_destroy(&session);
    fixture_close(&fix);
}

Test(session, a_copied_beginning_gives_the_same_reference) {
    copied("reference");
}

Test(session, a_copied_beginning_gives_the_same_device) {
    copied(NULL);
}

/* Behind 256 keys attention has several chunks of them, which a GPU computes side by side in a step and one after the other in a
 * prompt. */
Test(session, steps_behind_256_tokens_give_the_bytes_of_a_prompt) {
    enum { PROMPT = 250, ALL = 266, WORDS = 1024 };
    static float whole[ALL * WORDS], steps[ALL * WORDS];
    char path[1024];
    int32_t ids[ALL];
    tsri_session *session = NULL;
    snprintf(path, sizeof path, "%s/models/shakespeare", TESSERA_SOURCE_DIR);
    fixture_device(&fix, NULL);
    fixture_model(&fix, path, NULL);
    for (int64_t i = 0; i < ALL; i++)
        ids[i] = (int32_t)(tsri_base_uniform(5, 0, (uint64_t)i) * WORDS);
    const tsri_model_sequence all = {.ids = ids, .n = ALL};
    session_run_all(&fix, 1, &all, 1, whole);
    OK(tsri_session_create(fix.model, 1, 0, &session));
    for (int64_t t = 0; t < ALL; t = t ? t + 1 : PROMPT) {
        const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .logits = steps + t * WORDS};
        const tsri_model_sequence next = {.ids = ids + t, .n = t ? 1 : PROMPT, .past = t};
        OK(tsri_session_forward(session, &next, 1, &results));
    }
    tsri_session_destroy(&session);
    for (int64_t t = 0; t < ALL; t++)
        cr_expect(memcmp(whole + t * WORDS, steps + t * WORDS, WORDS * sizeof *whole) == 0,
                  "token %lld has other logits", (long long)t);
    fixture_close(&fix);
}

Test(session, pieces_and_steps_give_the_same_reference) {
    in_pieces("reference");
}

Test(session, pieces_and_steps_give_the_same_device) {
    in_pieces(NULL);
}

/* Results that are collected from chunks: hidden states and probabilities of two sequences, at once
 * and in chunks of 6. */
Test(session, pieces_of_everything) {
    static float hidden[2][L + 1][2 * LENGTH * C], attention[2][L][2 * H * LENGTH * LENGTH];
    int32_t ids[2][LENGTH];
    session_open(&fix, "llama-tiny", "reference");
    session_some_ids(ids[0], LENGTH, 20);
    session_some_ids(ids[1], LENGTH, 21);
    const tsri_model_sequence sequences[] = {{.ids = ids[0], .n = 9, .slot = 1},
                                             {.ids = ids[1], .n = LENGTH, .slot = 0}};
    for (int i = 0; i < 2; i++) {
        float *const to_hidden[] = {hidden[i][0], hidden[i][1], hidden[i][2]},
                     *const to_attention[] = {attention[i][0], attention[i][1]};
        const tsri_model_results results = {.hidden = to_hidden, .attention = to_attention};
        tsri_session *session = NULL;
        OK(tsri_session_create(fix.model, i ? 300 : 2, 0, &session));
        OK(tsri_session_forward(session, sequences, 2, &results));
        tsri_session_destroy(&session);
    }
    cr_expect(memcmp(hidden[0], hidden[1], sizeof hidden[0]) == 0);
    cr_expect(memcmp(attention[0], attention[1], sizeof attention[0]) == 0);
    cr_expect(hidden[0][L][28 * C] != 0 && hidden[0][L][29 * C] == 0,
              "29 tokens have hidden states");
    fixture_close(&fix);
}

static void count_calls(void *data) {
    ++*(int *)data;
}

/* Work of the caller between the start of a run and its results changes none of them. */
Test(session, the_caller_works_meanwhile) {
    static float logits[2][V];
    int32_t ids[LENGTH];
    int calls = 0;
    session_open(&fix, "llama-tiny", NULL);
    session_some_ids(ids, LENGTH, 1);
    for (int i = 0; i < 2; i++) {
        tsri_session *session = NULL;
        const tsri_model_results results = {
            .logits = logits[i], .meanwhile = i ? count_calls : NULL, .meanwhile_data = &calls};
        OK(tsri_session_create(fix.model, 1, 0, &session));
        for (int64_t t = 0; t < LENGTH; t++) {
            const tsri_model_sequence next = {.ids = ids + t, .n = 1, .past = t};
            OK(tsri_session_forward(session, &next, 1, &results));
        }
        tsri_session_destroy(&session);
    }
    cr_expect(calls == LENGTH, "%d calls in %d runs", calls, LENGTH);
    cr_expect(memcmp(logits[0], logits[1], sizeof logits[0]) == 0);
    fixture_close(&fix);
}

/* Capacity grows by half, or to what is needed, in the middle of a text: keys and values stay. */
Test(session, capacity_grows) {
    enum { FIRST = 60, MORE = 20 };
    int32_t ids[FIRST + MORE], grown = 0, roomy = 0;
    tsri_session *session = NULL;
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/models/bloom", TESSERA_SOURCE_DIR);
    fixture_device(&fix, "reference");
    fixture_model(&fix, path, NULL);
    session_some_ids(ids, FIRST + MORE, 5);
    for (int reserve = 0; reserve < 2; reserve++) {
        const tsri_model_sequence first = {.ids = ids, .n = FIRST},
                                  more = {.ids = ids + FIRST, .n = MORE, .past = FIRST};
        const tsri_model_results results = {.argmax = reserve ? &roomy : &grown};
        OK(tsri_session_create(fix.model, 1, 0, &session));
        OK(tsri_session_reserve(session, reserve ? 150 : 1));
        cr_expect(tsri_session_capacity(session) == (reserve ? 160 : 32));
        OK(tsri_session_forward(session, &first, 1, &results));
        cr_expect(tsri_session_capacity(session) == (reserve ? 160 : 64));
        OK(tsri_session_forward(session, &more, 1, &results));
        cr_expect(tsri_session_capacity(session) == (reserve ? 160 : 96));
        tsri_session_destroy(&session);
    }
    cr_expect(grown == roomy, "%d after growing, %d with room from the start", grown, roomy);
    fixture_close(&fix);
}

/* The last session serves one that wants as many slots or fewer, down to half, and is empty then. */
Test(session, a_session_serves_the_next_one) {
    enum { TOKENS = 9 };
    static const struct {
        int32_t wanted, has;
    } rows[] = {{5, 5}, {4, 5}, {2, 5}, {1, 1}, {2, 2}, {3, 3}};
    int32_t ids[TOKENS], want = -1;
    tsri_session *session = NULL;
    session_open(&fix, "bloom", "reference");
    session_some_ids(ids, TOKENS, 5);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t got = -1;
        const tsri_model_sequence last = {.ids = ids, .n = TOKENS, .slot = rows[i].wanted - 1};
        const tsri_model_results results = {.argmax = &got};
        OK(tsri_session_create(fix.model, rows[i].wanted, 0, &session));
        cr_expect(tsri_session_slots(session) == rows[i].has, "row %zu: %d slots", i,
                  tsri_session_slots(session));
        OK(tsri_session_forward(session, &last, 1, &results));
        cr_expect(got == want || !i, "row %zu: %d, wanted %d", i, got, want);
        want = got;
        tsri_session_destroy(&session);
    }
    fixture_close(&fix);
}

/* ---- too little memory ---- */

enum { SLOTS = 64, LESS = 56 }; /* so many that states are the largest arrays */

/* No buffer may be larger than a state of session 0 is now. */
static void allow_no_larger(void) {
    fix.device->facts.max_allocation = tsri_run_state_find(fix.run, 0)->bytes;
}

static tsr_backend scarce;
static const tsr_backend *ample;
static int left; /* states that the device has memory for */

static tsr_status create_some(tsr_dev *dev, const tsr_buffer_spec *spec, tsr_buf **buf) {
    if (spec->kind == TSR_KIND_STATE && left-- <= 0)
        return tsri_base_fail(TSR_E_DEVICE_MEMORY, "no memory is left");
    return ample->buffer_create(dev, spec, buf);
}

static void make_scarce(void) {
    ample = fix.device->backend;
    scarce = *ample;
    scarce.buffer_create = create_some;
    fix.device->backend = &scarce;
    left = 1000;
}

/* A text that does not fit fails, and the one before it goes on; however many states have grown by then. */
Test(session, a_text_that_does_not_fit_leaves_what_was_there) {
    enum { FIRST = 20, REST = 20 };
    static float want[V], got[V];
    int32_t ids[FIRST + REST];
    tsri_session *session = NULL;
    session_open(&fix, "llama-tiny", "reference");
    make_scarce();
    const uint64_t most = fix.device->facts.max_allocation;
    session_some_ids(ids, FIRST + REST, 5);
    const tsri_model_sequence first = {.ids = ids, .n = FIRST},
                              next = {.ids = ids + FIRST, .n = 1, .past = FIRST},
                              rest = {.ids = ids + FIRST, .n = REST, .past = FIRST};
    const tsri_model_results wanted = {.logits = want}, results = {.logits = got};
    OK(tsri_session_create(fix.model, SLOTS, 0, &session));
    OK(tsri_session_forward(session, &first, 1, &results));
    OK(tsri_session_forward(session, &next, 1, &wanted));
    for (int grown = 0; grown <= 2 * L; grown++) {
        if (grown == 2 * L) /* refused before one is made */
            allow_no_larger();
        left = grown < 2 * L ? grown : 1000;
        cr_expect(tsri_session_forward(session, &rest, 1, &results) == TSR_E_DEVICE_MEMORY,
                  "with memory for %d states", grown);
        cr_expect(tsri_session_capacity(session) == 32, "capacity %lld",
                  (long long)tsri_session_capacity(session));
        left = 1000;
        OK(tsri_session_forward(session, &next, 1, &results));
        cr_expect(memcmp(got, want, sizeof want) == 0, "after %d states grew, others", grown);
    }
    fix.device->facts.max_allocation = most;
    OK(tsri_session_forward(session, &rest, 1, &results));
    cr_expect(tsri_session_capacity(session) > 32);
    tsri_session_destroy(&session);
    fixture_close(&fix);
}

/* What a session could not have is not asked for by the next one, nor by itself. */
Test(session, a_reservation_that_does_not_fit_is_forgotten) {
    int32_t ids[] = {1, 2, 3}, want = -1, got = -1;
    tsri_session *session = NULL;
    session_open(&fix, "llama-tiny", "reference");
    const tsri_model_sequence text = {.ids = ids, .n = 3}, none = {.ids = ids, .n = 0};
    const tsri_model_results wanted = {.argmax = &want}, results = {.argmax = &got};
    OK(tsri_session_create(fix.model, SLOTS, 0, &session));
    OK(tsri_session_forward(session, &text, 1, &wanted));
    allow_no_larger();
    OK(tsri_session_reserve(session, 40));
    cr_expect_eq(tsri_session_forward(session, &text, 1, &results), TSR_E_DEVICE_MEMORY);
    tsri_session_destroy(&session);

    OK(tsri_session_create(fix.model, LESS, 0, &session));
    cr_expect_eq(tsri_session_slots(session), LESS, "the one without memory serves again");
    OK(tsri_session_reserve(session, 40));
    cr_expect_eq(tsri_session_forward(session, &none, 1, &results), TSR_E_ARGUMENT);
    cr_expect_geq(tsri_session_capacity(session), 40, "a wrong call forgets what was reserved");
    cr_expect_eq(tsri_session_forward(session, &text, 1, &results), TSR_E_DEVICE_MEMORY);
    OK(tsri_session_forward(session, &text, 1, &results));
    cr_expect_eq(got, want);
    tsri_session_destroy(&session);
    fixture_close(&fix);
}

/* How the tokens of a step are drawn. */
static void fill_draws(int step, tsri_tensor_draw *draws, int n) {
    for (int i = 0; i < n; i++)
        draws[i] = tsri_tensor_draw_of(i ? 2 : 0, 0, 1, 0, 0x9e3779b9u * (uint32_t)(step * n + i));
}

/* Steps that start before the ids of the last one are known give the ids of step after step: the
 * likeliest ones, or drawn ones. */
static void ahead(const char *selector, bool drawn) {
    enum { N = 3, STEPS = 9 };
    const int64_t lengths[N] = {5, 1, 12};
    int32_t ids[N][LENGTH + STEPS], want[STEPS + 1][N], got[STEPS + 1][N];
    tsri_model_sequence sequences[N];
    tsri_tensor_draw draws[N];
    const tsri_tensor_draw *const next = drawn ? draws : NULL;
    tsri_session *session = NULL;
    session_open(&fix, "llama-tiny", selector);
    const bool apart = fix.device->facts.type != TSR_DEVICE_CPU;
    bool started = true;
    OK(tsri_session_create(fix.model, N, 0, &session));
    OK(tsri_session_reserve(session, LENGTH + STEPS));
    for (int pass = 0; pass < 2; pass++) {
        int32_t(*to)[N] = pass ? got : want;
        tsri_model_results results = {.top_k = drawn ? 20 : 0, .draws = next};
        int32_t **const found = drawn ? &results.drawn : &results.argmax;
        *found = to[0];
        fill_draws(0, draws, N);
        for (int i = 0; i < N; i++) {
            session_some_ids(ids[i], lengths[i], 30 + (uint64_t)i);
            sequences[i] =
                (tsri_model_sequence){.ids = ids[i], .n = lengths[i], .slot = (i + 1) % N};
        }
        OK(tsri_session_forward(session, sequences, N, &results));
        OK(tsri_session_follow(session, next, to[1], &started));
        cr_expect_not(started, "a prompt was followed");
        for (int step = 1; step <= (pass ? 1 : STEPS); step++) {
            for (int i = 0; i < N; i++) {
                ids[i][lengths[i] + step - 1] = to[step - 1][i];
                sequences[i].ids = ids[i] + lengths[i] + step - 1;
                sequences[i].past = lengths[i] + step - 1;
                sequences[i].n = 1;
            }
            *found = to[step];
            fill_draws(step, draws, N);
            OK(tsri_session_forward(session, sequences, N, &results));
        }
    }
    fill_draws(0, draws, N);
    OK(tsri_session_follow(session, drawn ? NULL : draws, got[2], &started));
    cr_expect_not(started, "the last run found other ids");
    for (int step = 2; step <= STEPS; step++) {
        fill_draws(step, draws, N);
        OK(tsri_session_follow(session, next, got[step], &started));
        cr_expect_eq(started, apart, "step %d", step);
        if (step > 2)
            OK(tsri_session_finish(session));
    }
    int32_t none[N];
    OK(tsri_session_follow(session, next, none,
                           &started)); /* one is under way: a second may be, but no third */
    OK(tsri_session_follow(session, next, none, &started));
    cr_expect_not(started, "three steps are under way");
    for (int i = 0; i < 3; i++)
        OK(tsri_session_finish(session));
    for (int step = 0; step <= (apart ? STEPS : 1); step++)
        cr_expect_arr_eq(got[step], want[step], sizeof *want, "step %d", step);
    tsri_session_destroy(&session);
    fixture_close(&fix);
}

Test(session, steps_ahead_give_what_step_after_step_gives_reference) {
    ahead("reference", false);
    ahead("reference", true);
}

Test(session, steps_ahead_give_what_step_after_step_gives_device) {
    ahead(NULL, false);
    ahead(NULL, true);
}

Test(session, refusals) {
    int32_t ids[60] = {0}, bad[] = {3, V}, negative[] = {-1}, far[] = {48}, argmax[4];
    tsri_session *session = NULL;
    session_open(&fix, "gpt2-tiny", "reference");
    const tsri_model_results results = {.argmax = argmax};
    cr_expect(tsri_session_create(fix.model, 1, 49, &session) == TSR_E_ARGUMENT &&
              strstr(tsr_error_last(), "49 tokens was asked for"));
    cr_expect(tsri_session_create(fix.model, 0, 0, &session) == TSR_E_ARGUMENT);
    OK(tsri_session_create(fix.model, 2, 40, &session));
    const struct {
        tsri_model_sequence sequences[2];
        int32_t n;
        const char *fragment;
    } rows[] = {
        {{{.ids = bad, .n = 2}}, 1, "token 1 is 61; the vocabulary has ids from 0 to 60"},
        {{{.ids = negative, .n = 1}}, 1, "token 0 is -1"},
        {{{.ids = ids, .n = 0}}, 1, "0 tokens"},
        {{{.ids = ids, .n = 41}}, 1, "has 41 tokens; the context holds 40"},
        {{{.ids = ids, .n = 1, .past = 40}}, 1, "has 41 tokens; the context holds 40"},
        {{{.ids = ids, .n = 1, .positions = far}},
         1,
         "position 48; the model reads positions up to 47"},
        {{{.ids = ids, .n = 1, .slot = 2}}, 1, "slot 2"},
        {{{.ids = ids, .n = 1}, {.ids = ids, .n = 1}}, 2, "share slot 0"},
        {{{.ids = ids, .n = 1}}, 3, "a batch of 3 sequences; the session has 2 slots"},
        {{{.ids = ids, .n = 1}}, 0, "a batch of 0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_expect(tsri_session_forward(session, rows[i].sequences, rows[i].n, &results) ==
                      TSR_E_ARGUMENT,
                  "row %zu", i);
        cr_expect(strstr(tsr_error_last(), rows[i].fragment), "row %zu: %s", i, tsr_error_last());
    }
    const tsri_model_sequence fine = {.ids = ids, .n = 40};
    OK(tsri_session_forward(session, &fine, 1, &results));
    tsri_session_destroy(&session);
    fixture_close(&fix);
}

/* Two sessions of one model keep their memory apart; a session number that was given back is used
 * again. */
Test(session, sessions_do_not_mix) {
    static float a[V], b[V];
    int32_t ids[2][8];
    tsri_session *first = NULL, *second = NULL;
    const tsri_model_results results = {.logits = b}, alone = {.logits = a};
    session_open(&fix, "opt", "reference");
    session_some_ids(ids[0], 8, 8);
    session_some_ids(ids[1], 8, 9);
    const tsri_model_sequence start = {.ids = ids[0], .n = 7},
                              end = {.ids = ids[0] + 7, .n = 1, .past = 7},
                              other = {.ids = ids[1], .n = 8};
    OK(tsri_session_create(fix.model, 1, 0, &first));
    OK(tsri_session_forward(first, &start, 1, &alone));
    OK(tsri_session_forward(first, &end, 1, &alone));
    OK(tsri_session_forward(first, &start, 1, &results));
    OK(tsri_session_create(fix.model, 1, 0, &second));
    OK(tsri_session_forward(second, &other, 1, &results));
    OK(tsri_session_forward(first, &end, 1, &results));
    cr_expect(memcmp(a, b, sizeof a) == 0);
    tsri_session_destroy(&second);
    tsri_session_destroy(&first);
    OK(tsri_session_create(fix.model, 2, 0, &first));
    OK(tsri_session_forward(first, &start, 1, &results));
    OK(tsri_session_forward(first, &end, 1, &results));
    cr_expect(memcmp(a, b, sizeof a) == 0);
    tsri_session_destroy(&first);
    fixture_close(&fix);
}
