/* The public session: tokens in any division, forks and cuts give what the tokens alone give; and
 * tsr_generate_text, which is made of the same. */
#include "tessera/session.h"
#include "task/fixture.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS = 12, MOST_V = 4096, CONTEXT = 32 };

static tsr_model *model;
static int64_t V;
static int32_t text[TOKENS];

static void open(const char *path) {
    tsr_model_info info = {.struct_size = sizeof info};
    open_reference();
    OK(tsr_model_open(path, device, NULL, &model));
    OK(tsr_model_info_get(model, &info));
    V = info.vocab;
    cr_assert(V <= MOST_V);
    for (int i = 0; i < TOKENS; i++)
        text[i] = (int32_t)((i * 37 + 5) % V);
}

static void close_all(void) {
    tsr_model_close(&model);
    close_reference();
}

static tsr_session *make(uint32_t sequences) {
    const tsr_session_options options = {
        .struct_size = sizeof options, .sequences = sequences, .context = CONTEXT};
    tsr_session *session = NULL;
    OK(tsr_session_create(model, &options, &session));
    return session;
}

/* Logits of the last of these tokens, by a session of their own. */
static void alone(const int32_t *ids, size_t n, float *logits) {
    tsr_session *session = make(1);
    OK(tsr_session_prefill(session, 0, ids, n, logits, NULL));
    tsr_session_destroy(&session);
    cr_assert_null(session);
}

static void expect_close(const float *got, const float *want, const char *what) {
    for (int64_t i = 0; i < V; i++)
        cr_assert(got[i] - want[i] < 1e-4f && want[i] - got[i] < 1e-4f,
                  "%s, logit %lld: %g, wanted %g", what, (long long)i, (double)got[i],
                  (double)want[i]);
}

static int32_t largest(const float *logits) {
    int32_t best = 0;
    for (int32_t i = 1; i < V; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

static void open_decoder(void) {
    open(TESSERA_SOURCE_DIR "/tests/golden/models/llama-tiny");
}

TestSuite(session, .fini = close_all);

Test(session, a_text_may_be_divided_anywhere, .init = open_decoder) {
    static float want[MOST_V], got[MOST_V];
    alone(text, TOKENS, want);
    for (size_t first = 1; first < TOKENS; first++) {
        tsr_session *session = make(1);
        int32_t next = -1;
        OK(tsr_session_prefill(session, 0, text, first, NULL, NULL));
        cr_assert_eq(tsr_session_length(session, 0), (int64_t)first);
        OK(tsr_session_step(session, text + first, TOKENS - first, got, &next));
        expect_close(got, want, "divided");
        cr_assert_eq(next, largest(got));
        cr_assert_eq(tsr_session_length(session, 0), TOKENS);
        tsr_session_destroy(&session);
    }
}

Test(session, every_sequence_of_a_step_has_its_own_text, .init = open_decoder) {
    static float want[MOST_V], got[3 * MOST_V];
    tsr_session *session = make(3);
    int32_t ids[3], next[3];
    for (uint32_t i = 0; i < 3; i++) /* of unequal lengths */
        OK(tsr_session_prefill(session, i, text + i, 3 + i, NULL, NULL));
    for (uint32_t i = 0; i < 3; i++)
        ids[i] = text[i + 3 + i];
    OK(tsr_session_step(session, ids, 1, got, next));
    for (uint32_t i = 0; i < 3; i++) {
        alone(text + i, 4 + i, want);
        expect_close(got + i * V, want, "in a batch");
        cr_assert_eq(next[i], largest(got + i * V));
    }
    tsr_session_destroy(&session);
}

/* On a device apart from the host's cores, tests/cli/generation/steps_ahead.py compares them. */
Test(session, greedy_tokens_are_those_of_single_steps, .init = open_decoder) {
    enum { STEPS = 6 };
    static float want[2 * MOST_V], got[2 * MOST_V];
    int32_t ids[2] = {text[3], text[4]}, each[STEPS][2], all[STEPS][2];
    tsr_session *single = make(2), *session = make(2);
    for (uint32_t i = 0; i < 2; i++) { /* of unequal lengths */
        OK(tsr_session_prefill(single, i, text, 3 + i, NULL, NULL));
        OK(tsr_session_prefill(session, i, text, 3 + i, NULL, NULL));
    }
    for (int t = 0; t < STEPS; t++)
        OK(tsr_session_step(single, t ? each[t - 1] : ids, 1, NULL, each[t]));
    OK(tsr_session_greedy(session, ids, 2, all[0]));
    OK(tsr_session_greedy(session, all[1], STEPS - 2, all[2]));
    cr_assert_arr_eq(all, each, sizeof each);
    for (uint32_t i = 0; i < 2; i++)
        cr_assert_eq(tsr_session_length(session, i), 3 + i + STEPS);
    OK(tsr_session_step(single, each[STEPS - 1], 1, want, NULL));
    OK(tsr_session_step(session, each[STEPS - 1], 1, got, NULL));
    cr_assert_arr_eq(got, want, 2 * (size_t)V * sizeof *got);

    cr_assert_eq(tsr_session_greedy(session, ids, 0, all[0]), TSR_E_ARGUMENT);
    cr_assert_eq(tsr_session_greedy(session, ids, (size_t)1 << 40, all[0]), TSR_E_ARGUMENT);
    ids[1] = -1;
    cr_assert_eq(tsr_session_greedy(session, ids, STEPS, all[0]), TSR_E_ARGUMENT);
    cr_assert_eq(tsr_session_length(session, 0), 3 + STEPS + 1);
    tsr_session_destroy(&single);
    tsr_session_destroy(&session);
}

Test(session, what_was_cut_is_forgotten, .init = open_decoder) {
    static float want[MOST_V], got[MOST_V];
    const int32_t other[] = {7, 8, 9};
    tsr_session *session = make(1);
    OK(tsr_session_prefill(session, 0, text, 5, NULL, NULL));
    OK(tsr_session_prefill(session, 0, other, 3, NULL, NULL));
    OK(tsr_session_rewind(session, 0, 5));
    OK(tsr_session_prefill(session, 0, text + 5, 3, got, NULL));
    alone(text, 8, want);
    expect_close(got, want, "after a cut");
    OK(tsr_session_rewind(session, 0, 0));
    OK(tsr_session_prefill(session, 0, text, 4, got, NULL));
    alone(text, 4, want);
    expect_close(got, want, "begun anew");
    tsr_session_destroy(&session);
}

/* One prompt with two continuations, one of which is forked again. */
Test(session, forks_go_on_by_themselves, .init = open_decoder) {
    static float want[MOST_V], got[MOST_V];
    const int32_t ways[3][3] = {{1, 2, 3}, {4, 5, 6}, {4, 8, 9}};
    int32_t whole[5 + 3];
    tsr_session *session = make(3);
    OK(tsr_session_prefill(session, 0, text, 5, NULL, NULL));
    OK(tsr_session_fork(session, 0, 1));
    cr_assert_eq(tsr_session_length(session, 1), 5);
    OK(tsr_session_prefill(session, 0, ways[0], 3, NULL, NULL));
    OK(tsr_session_prefill(session, 1, ways[1], 1, NULL, NULL));
    OK(tsr_session_fork(session, 1, 2));
    OK(tsr_session_prefill(session, 1, ways[1] + 1, 2, NULL, NULL));
    OK(tsr_session_prefill(session, 2, ways[2] + 1, 2, NULL, NULL));
    for (uint32_t i = 0; i < 3; i++) { /* each once more, alone and in a batch */
        memcpy(whole, text, 5 * sizeof *whole);
        memcpy(whole + 5, ways[i], sizeof ways[i]);
        alone(whole, 8, want);
        OK(tsr_session_rewind(session, i, 7));
        OK(tsr_session_prefill(session, i, ways[i] + 2, 1, got, NULL));
        expect_close(got, want, "a fork");
    }
    tsr_session_destroy(&session);
}

Test(session, what_a_fork_reads_is_not_overwritten, .init = open_decoder) {
    static float want[MOST_V], got[MOST_V];
    tsr_session *session = make(2);
    OK(tsr_session_prefill(session, 0, text, 6, NULL, NULL));
    OK(tsr_session_fork(session, 0, 1));
    OK(tsr_session_rewind(session, 0, 4));
    cr_assert_eq(tsr_session_prefill(session, 0, text, 1, NULL, NULL), TSR_E_STATE);
    cr_assert(strstr(tsr_error_last(), "sequence 1 was forked from sequence 0"), "%s",
              tsr_error_last());
    cr_assert_eq(tsr_session_length(session, 0), 4);
    OK(tsr_session_rewind(session, 1, 4));
    OK(tsr_session_prefill(session, 0, text + 1, 1, NULL, NULL));
    OK(tsr_session_prefill(session, 1, text + 4, 4, got, NULL));
    alone(text, 8, want);
    expect_close(got, want, "the fork");
    tsr_session_destroy(&session);
}

Test(session, wrong_calls_change_nothing, .init = open_decoder) {
    static const int32_t wrong[] = {1, -1}, past[] = {1 << 28};
    const tsr_session_options wide = {.struct_size = sizeof wide, .context = 1 << 30};
    int32_t many[CONTEXT + 1] = {0};
    tsr_session *session = NULL;
    cr_assert_eq(tsr_session_create(model, &wide, &session), TSR_E_ARGUMENT);
    cr_assert_null(session);
    session = make(2);
    OK(tsr_session_prefill(session, 0, text, 3, NULL, NULL));
    cr_expect_eq(tsr_session_prefill(session, 2, text, 1, NULL, NULL), TSR_E_ARGUMENT);
    cr_expect_eq(tsr_session_prefill(session, 0, text, 0, NULL, NULL), TSR_E_ARGUMENT);
    cr_expect_eq(tsr_session_prefill(session, 0, wrong, 2, NULL, NULL), TSR_E_ARGUMENT);
    cr_expect_eq(tsr_session_prefill(session, 0, past, 1, NULL, NULL), TSR_E_ARGUMENT);
    cr_expect_eq(tsr_session_prefill(session, 1, many, CONTEXT + 1, NULL, NULL), TSR_E_ARGUMENT);
    cr_expect_eq(tsr_session_prefill(session, 0, many, CONTEXT - 2, NULL, NULL), TSR_E_ARGUMENT);
    cr_expect_eq(tsr_session_fork(session, 0, 0), TSR_E_ARGUMENT);
    cr_expect_eq(tsr_session_fork(session, 0, 2), TSR_E_ARGUMENT);
    cr_expect_eq(tsr_session_rewind(session, 0, 4), TSR_E_ARGUMENT);
    cr_expect_eq(tsr_session_rewind(session, 0, -1), TSR_E_ARGUMENT);
    cr_expect_eq(tsr_session_encode(session, 0, text, 3), TSR_E_STATE);
    cr_expect(tsr_session_length(session, 0) == 3 && tsr_session_length(session, 1) == 0);
    cr_expect_eq(tsr_session_length(session, 2), 0);
    OK(tsr_session_prefill(session, 0, many, CONTEXT - 3, NULL, NULL));
    tsr_session_destroy(&session);
    tsr_session_destroy(&session);
}

static void open_translator(void) {
    open(TESSERA_SOURCE_DIR "/tests/golden/models/t5-tiny");
}

Test(session, an_encoder_decoder_attends_to_its_own_text, .init = open_translator) {
    static float one[MOST_V], other[MOST_V], got[2 * MOST_V];
    static const int32_t start[2] = {0, 0};
    tsr_session *session = make(2);
    OK(tsr_session_encode(session, 0, text, 6));
    OK(tsr_session_encode(session, 1, text + 6, 5));
    OK(tsr_session_step(session, start, 1, got, NULL));
    tsr_session_destroy(&session);
    session = make(1);
    OK(tsr_session_encode(session, 0, text, 6));
    OK(tsr_session_prefill(session, 0, start, 1, one, NULL));
    OK(tsr_session_encode(session, 0, text + 6, 5));
    cr_assert_eq(tsr_session_length(session, 0), 0);
    OK(tsr_session_prefill(session, 0, start, 1, other, NULL));
    expect_close(got, one, "the first text");
    expect_close(got + V, other, "the second text");
    cr_assert(memcmp(one, other, (size_t)V * sizeof *one) != 0);
    tsr_session_destroy(&session);

    session = make(3);
    OK(tsr_session_encode(session, 0, text, 6));
    OK(tsr_session_prefill(session, 0, start, 1, NULL, NULL));
    OK(tsr_session_fork(session, 0, 1));
    cr_assert_eq(tsr_session_encode(session, 0, text + 6, 5), TSR_E_STATE);
    OK(tsr_session_prefill(session, 1, text, 1, got, NULL));
    OK(tsr_session_prefill(session, 0, text, 1, one, NULL));
    expect_close(got, one, "a fork of a translation");
    tsr_session_destroy(&session);
}

/* A fork without tokens does not go on with the text that its origin has now. */
Test(session, an_empty_fork_does_not_read_another_text, .init = open_translator) {
    static float want[MOST_V], got[MOST_V];
    static const int32_t start[2] = {0, 0};
    tsr_session *session = make(2);
    OK(tsr_session_encode(session, 0, text, 6));
    OK(tsr_session_fork(session, 0, 1));
    OK(tsr_session_prefill(session, 1, start, 1, want, NULL));
    OK(tsr_session_rewind(session, 1, 0));
    OK(tsr_session_prefill(session, 1, start, 1, got, NULL));
    expect_close(got, want, "a fork that begins again");
    OK(tsr_session_rewind(session, 1, 0));
    OK(tsr_session_encode(session, 0, text + 6, 5));
    cr_expect_eq(tsr_session_prefill(session, 1, start, 1, got, NULL), TSR_E_STATE);
    cr_expect(strstr(tsr_error_last(), "sequence 1 was forked from one whose text"), "%s",
              tsr_error_last());
    cr_expect_eq(tsr_session_step(session, start, 1, NULL, NULL), TSR_E_STATE);
    cr_expect(tsr_session_length(session, 0) == 0 && tsr_session_length(session, 1) == 0);
    OK(tsr_session_prefill(session, 0, start, 1, want, NULL));
    OK(tsr_session_rewind(session, 0, 0));
    OK(tsr_session_fork(session, 0, 1));
    OK(tsr_session_prefill(session, 1, start, 1, got, NULL));
    expect_close(got, want, "forked again");
    OK(tsr_session_rewind(session, 1, 0));
    OK(tsr_session_encode(session, 0, text, 6));
    OK(tsr_session_encode(session, 1, text + 6, 5));
    OK(tsr_session_prefill(session, 1, start, 1, got, NULL));
    expect_close(got, want, "a text of its own");
    tsr_session_destroy(&session);
}

static void open_play(void) {
    open(TESSERA_SOURCE_DIR "/models/shakespeare");
}

Test(session, a_text_is_generated_whole, .init = open_play) {
    tsr_generate_options options = {.struct_size = sizeof options};
    OK(tsr_generate_defaults(model, &options));
    options.max_new_tokens = 20;
    options.seed = 7;
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .text = "ROMEO:\n"};
    const tsr_prompt *const prompts[] = {&prompt};
    collected got = {0};
    char *whole = NULL;
    size_t n = 0;
    OK(tsr_generate(model, prompts, 1, &options, collect, &got, NULL));
    OK(tsr_generate_text(model, "ROMEO:\n", 7, &options, &whole, &n));
    cr_assert(n == got.size && memcmp(whole, got.text, n) == 0 && !whole[n] && n > 10, "%s", whole);
    tsr_text_free(whole);
    options.num_beams = 3;
    options.n_best = 2;
    options.temperature = 0;
    OK(tsr_generate_text(model, "ROMEO:\n", 7, &options, &whole, NULL));
    cr_assert(strlen(whole) > 10);
    tsr_text_free(whole);
    options.top_p = 2;
    cr_assert_eq(tsr_generate_text(model, "ROMEO:\n", 7, &options, &whole, &n), TSR_E_ARGUMENT);
    cr_assert_null(whole);
}
