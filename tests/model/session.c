/* What a session promises besides numbers: bytes that do not depend on other sequences, on chunks
 * or on later tokens; and its refusals. */
#include "model/fixture.h"

#include "base/random.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())
enum { V = 61, C = 24, L = 2, H = 4, LENGTH = 20 };

static fixture fix;

static void open_model(const char *name, const char *selector) {
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/models/%s", TESSERA_SOURCE_DIR, name);
    fixture_device(&fix, selector);
    fixture_model(&fix, path, NULL);
}

static void some_ids(int32_t *ids, int64_t n, uint64_t seed) {
    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)(tsri_base_uniform(seed, 0, (uint64_t)i) * V);
}

/* The logits of all tokens, in a separate session with `slots`. */
static void run_all(int32_t slots, const tsri_model_sequence *sequences, int32_t n, float *logits) {
    tsri_session *session = NULL;
    const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .logits = logits};
    OK(tsri_session_create(fix.model, slots, 0, &session));
    OK(tsri_session_forward(session, sequences, n, &results));
    tsri_session_destroy(&session);
}

static void later_tokens(const char *selector) {
    static float a[LENGTH * V], b[LENGTH * V];
    int32_t ids[LENGTH];
    const tsri_model_sequence sequence = {.ids = ids, .n = LENGTH};
    open_model("llama-tiny", selector);
    some_ids(ids, LENGTH, 1);
    run_all(1, &sequence, 1, a);
    for (int64_t t = 11; t < LENGTH; t++)
        ids[t] = (ids[t] + 7) % V;
    run_all(1, &sequence, 1, b);
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
    open_model(name, selector);
    cr_assert_leq(vocab, V);
    for (int32_t i = 0; i < 3; i++) {
        some_ids(ids[i], LENGTH, 10 + (uint64_t)i);
        for (int64_t t = 0; t < LENGTH; t++)
            ids[i][t] %= vocab;
        sequences[i] = (tsri_model_sequence){.ids = ids[i], .n = lengths[i], .slot = 2 - i};
    }
    run_all(3, sequences, 3, together);
    const float *at = together;
    for (int32_t i = 0; i < 3; i++) {
        sequences[i].slot = 0;
        run_all(1, &sequences[i], 1, alone);
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

/* The logits of n tokens in a session's slot 0, one token a run. */
static void run_steps(tsri_session *session, const int32_t *ids, int64_t n, int64_t words,
                      float *logits) {
    for (int64_t t = 0; t < n; t++) {
        const tsri_model_results results = {.logits = logits + t * words};
        const tsri_model_sequence step = {.ids = ids + t, .n = 1, .past = t};
        OK(tsri_session_forward(session, &step, 1, &results));
    }
}

/* By how much n numbers differ from others at most; *largest is the largest of these. */
static double distance(const float *a, const float *b, int n, double *largest) {
    double difference = 0;
    *largest = 0;
    for (int i = 0; i < n; i++) {
        *largest = fmax(*largest, fabs((double)b[i]));
        difference = fmax(difference, fabs((double)b[i] - (double)a[i]));
    }
    return difference;
}

/* One token a run gives the same bytes as the whole text in one run. */
static void expect_same_by_steps(const int32_t *ids, const float *whole) {
    static float steps[LENGTH * V];
    tsri_session *session = NULL;
    OK(tsri_session_create(fix.model, 1, 0, &session));
    run_steps(session, ids, LENGTH, V, steps);
    cr_expect(memcmp(whole, steps, sizeof steps) == 0, "token by token gives other logits");
    tsri_session_destroy(&session);
}

/* At once, token by token, and in chunks (a session of many slots takes fewer tokens of each at a
 * time). */
static void in_pieces(const char *selector) {
    static float whole[LENGTH * V], pieces[LENGTH * V];
    int32_t ids[40];
    tsri_model_sequence sequence = {.ids = ids, .n = LENGTH};
    open_model("gpt2-tiny", selector);
    some_ids(ids, LENGTH, 3);
    run_all(1, &sequence, 1, whole);
    run_all(300, &sequence, 1, pieces);
    cr_expect(memcmp(whole, pieces, sizeof whole) == 0, "pieces give other logits");
    expect_same_by_steps(ids, whole);
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
    open_model("llama-tiny", selector);
    some_ids(ids, LENGTH, 6);
    some_ids(others, LENGTH, 7);
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
    run_all(1, &all, 1, whole);
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

/* Keys and values kept as f16 are each off by 2^-11, relative, so scores of a few units and their
 * means are off by a few times that; the promises about bytes hold as for f32. */
static void halves(const char *selector) {
    static float single[LENGTH * V], whole[LENGTH * V];
    const tsri_model_options options = {.kv_dtype = TSR_F16};
    int32_t ids[LENGTH];
    const tsri_model_sequence sequence = {.ids = ids, .n = LENGTH};
    char path[1024];
    double largest;
    some_ids(ids, LENGTH, 3);
    open_model("llama-tiny", selector);
    run_all(1, &sequence, 1, single);
    fixture_close(&fix);
    snprintf(path, sizeof path, "%s/tests/golden/models/llama-tiny", TESSERA_SOURCE_DIR);
    fixture_device(&fix, selector);
    fixture_model(&fix, path, &options);
    run_all(1, &sequence, 1, whole);
    const double difference = distance(whole, single, LENGTH * V, &largest);
    cr_expect(difference > 0 && difference <= 8 * 0x1p-11 * largest, "logits up to %g differ by %g",
              largest, difference);
    expect_same_by_steps(ids, whole);
    fixture_close(&fix);
}

Test(session, keys_and_values_as_halves_reference) {
    halves("reference");
}

Test(session, keys_and_values_as_halves_device) {
    halves(NULL);
}

/* Keys and values kept in blocks of 32 bytes with one scale are each off by half a step at most, the
 * largest of its block over 254. The bytes are the same alone, by steps, while the states grow (at 32
 * tokens) and behind a copied beginning. */
static void bytes(const char *selector) {
    enum { WORDS = 1024, LAYERS = 6, HEADS = 6, ALL = 40, KEPT = 35 };
    static float single[ALL * WORDS], whole[ALL * WORDS], some[ALL * WORDS],
        attention[LAYERS][HEADS * ALL * ALL];
    static const uint32_t dtypes[] = {TSR_F32, TSR_GGML_Q8_0};
    int32_t ids[ALL];
    const tsri_model_sequence all = {.ids = ids, .n = ALL};
    tsri_session *session = NULL;
    float *to[LAYERS];
    char path[1024];
    double largest;
    snprintf(path, sizeof path, "%s/models/shakespeare", TESSERA_SOURCE_DIR);
    for (int i = 0; i < ALL; i++)
        ids[i] = (int32_t)(tsri_base_uniform(5, 0, (uint64_t)i) * WORDS);
    for (int i = 0; i < LAYERS; i++)
        to[i] = attention[i];
    for (int i = 0; i < 2; i++) {
        const tsri_model_options options = {.kv_dtype = dtypes[i]};
        fixture_device(&fix, selector);
        fixture_model(&fix, path, &options);
        run_all(1, &all, 1, i ? whole : single);
        if (i == 0)
            fixture_close(&fix);
    }
    const double difference = distance(whole, single, ALL * WORDS, &largest);
    cr_expect(difference > 1e-4 * largest && difference < 0.03 * largest,
              "logits up to %g differ by %g", largest, difference);
    OK(tsri_session_create(fix.model, 2, 0, &session));
    run_steps(session, ids, ALL, WORDS, some);
    cr_expect(memcmp(whole, some, sizeof some) == 0, "token by token gives other logits");
    const tsri_model_sequence rest = {.ids = ids + KEPT, .n = ALL - KEPT, .past = KEPT, .slot = 1};
    const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .logits = some},
                             weights = {.rows = TSRI_ROWS_ALL, .attention = to};
    OK(tsri_session_copy(session, 0, 1, KEPT));
    OK(tsri_session_forward(session, &rest, 1, &results));
    cr_expect(memcmp(whole + KEPT * WORDS, some, (ALL - KEPT) * WORDS * sizeof *some) == 0,
              "a copied beginning gives other logits");
    OK(tsri_session_forward(session, &all, 1, &weights));
    for (int row = 0; row < HEADS * ALL; row++) {
        double sum = 0;
        for (int s = 0; s < ALL; s++)
            sum += (double)attention[LAYERS - 1][row * ALL + s];
        cr_expect(fabs(sum - 1) < 1e-5, "row %d of the probabilities has the sum %g", row, sum);
    }
    tsri_session_destroy(&session);
    fixture_close(&fix);
}

Test(session, keys_and_values_as_bytes_reference) {
    bytes("reference");
}

Test(session, keys_and_values_as_bytes_device) {
    bytes(NULL);
}

/* Results that are collected from chunks: hidden states and probabilities of two sequences, at once
 * and in chunks of 6. */
Test(session, pieces_of_everything) {
    static float hidden[2][L + 1][2 * LENGTH * C], attention[2][L][2 * H * LENGTH * LENGTH];
    int32_t ids[2][LENGTH];
    open_model("llama-tiny", "reference");
    some_ids(ids[0], LENGTH, 20);
    some_ids(ids[1], LENGTH, 21);
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

/* Capacity grows by half, or to what is needed, in the middle of a text: keys and values stay. */
Test(session, capacity_grows) {
    enum { FIRST = 60, MORE = 20 };
    int32_t ids[FIRST + MORE], grown = 0, roomy = 0;
    tsri_session *session = NULL;
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/models/bloom", TESSERA_SOURCE_DIR);
    fixture_device(&fix, "reference");
    fixture_model(&fix, path, NULL);
    some_ids(ids, FIRST + MORE, 5);
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
    open_model("bloom", "reference");
    some_ids(ids, TOKENS, 5);
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

/* Masked keys have weight 0 to the bit, whatever the scores are: the mask is minus infinity. */
Test(session, masked_keys_weigh_nothing) {
    static float attention[L][H * LENGTH * LENGTH];
    float *const to[L] = {attention[0], attention[1]};
    int32_t ids[LENGTH];
    const tsri_model_sequence sequence = {.ids = ids, .n = LENGTH};
    const tsri_model_results results = {.attention = to};
    tsri_session *session = NULL;
    open_model("phi3", "reference"); /* a window of 6 */
    some_ids(ids, LENGTH, 6);
    OK(tsri_session_create(fix.model, 1, 0, &session));
    OK(tsri_session_forward(session, &sequence, 1, &results));
    for (int row = 0; row < L * H * LENGTH; row++) {
        const int t = row % LENGTH;
        const float *p = attention[row / (H * LENGTH)] + row % (H * LENGTH) * LENGTH;
        double sum = 0;
        for (int s = 0; s < LENGTH; s++) {
            sum += p[s];
            cr_assert((p[s] == 0) == (s > t || t - s >= 6), "row %d, key %d: %g", row, s,
                      (double)p[s]);
        }
        cr_assert(fabs(sum - 1) < 1e-5);
    }
    tsri_session_destroy(&session);
    fixture_close(&fix);
}

/* Attention knows order only through positions and masks. */
Test(session, without_positions_a_permutation_permutes) {
    static float a[LENGTH * C], b[LENGTH * C], other[L][LENGTH * C];
    float *const to_a[L + 1] = {other[0], other[1], a}, *const to_b[L + 1] = {other[0], other[1],
                                                                              b};
    int32_t ids[LENGTH], turned[LENGTH];
    const tsri_model_options options = {0};
    tsri_session *session = NULL;
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/models/llama-tiny", TESSERA_SOURCE_DIR);
    fixture_device(&fix, "reference");
    OK(tsri_model_open(path, &options, &fix.model));
    fix.model->spec.decoder.positions = TSRI_POSITIONS_NONE;
    fix.model->spec.decoder.causal = false;
    OK(tsri_model_store(fix.model, fix.run, &options));
    some_ids(ids, LENGTH, 7);
    for (int t = 0; t < LENGTH; t++)
        turned[t] = ids[(t * 7 + 3) % LENGTH];
    const tsri_model_sequence straight = {.ids = ids, .n = LENGTH},
                              permuted = {.ids = turned, .n = LENGTH};
    const tsri_model_results results_a = {.hidden = to_a}, results_b = {.hidden = to_b};
    OK(tsri_session_create(fix.model, 1, 0, &session));
    OK(tsri_session_forward(session, &straight, 1, &results_a));
    OK(tsri_session_forward(session, &permuted, 1, &results_b));
    for (int t = 0; t < LENGTH; t++)
        for (int c = 0; c < C; c++)
            cr_assert(fabsf(b[t * C + c] - a[(t * 7 + 3) % LENGTH * C + c]) < 1e-5f,
                      "token %d, column %d", t, c);
    tsri_session_destroy(&session);
    fixture_close(&fix);
}

/* With q and k of unit variance, q·k has variance D, and 1 after the scaling by 1/sqrt D. The
 * variance of 65536 products is within 5 %. */
Test(session, scores_have_unit_variance_after_scaling) {
    enum { N = 256, D = 64 };
    static float q[N * D], k[N * D], scores[N * N];
    for (int scaled = 0; scaled < 2; scaled++) {
        const tsr_matmul_attrs attrs = {
            .struct_size = sizeof attrs, .trans_b = 1, .alpha = scaled ? 0.125f : 1.0f};
        const tsr_dim dims[] = {{.factor = N}, {.factor = D}};
        const tsr_bounds bounds = {
            .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 1, 1, 1, 1}};
        const int64_t sizes[TSR_SYMBOLS] = {1, 1, 1, 1, 1};
        tsri_graph *graph = NULL;
        tsri_run_plan *plan = NULL;
        for (uint64_t i = 0; i < N * D; i++) {
            q[i] = tsri_base_normal(1, 0, i);
            k[i] = tsri_base_normal(2, 0, i);
        }
        fixture_device(&fix, "reference");
        OK(tsri_graph_create(&graph));
        const tsri_value in[] = {tsri_graph_leaf(graph, TSR_KIND_INPUT, 0, "q", TSR_F32, 2, dims),
                                 tsri_graph_leaf(graph, TSR_KIND_INPUT, 1, "k", TSR_F32, 2, dims)};
        tsri_graph_output(graph, 0, "scores", tsri_graph_op1(graph, TSR_OP_MATMUL, &attrs, in, 2));
        OK(tsri_graph_status(graph));
        OK(tsri_run_prepare(fix.run, graph, &bounds, &plan));
        const tsri_run_binding inputs[] = {{.id = 0, .data = q, .bytes = sizeof q},
                                           {.id = 1, .data = k, .bytes = sizeof k}};
        const tsri_run_binding output = {.id = 0, .data = scores, .bytes = sizeof scores};
        OK(tsri_run_execute(plan, sizes, inputs, 2, &output, 1));
        double sum = 0, squares = 0;
        for (int i = 0; i < N * N; i++) {
            sum += scores[i];
            squares += (double)scores[i] * scores[i];
        }
        const double variance = squares / (N * N) - sum * sum / ((double)N * N * N * N),
                     wanted = scaled ? 1 : D;
        cr_expect(fabs(variance / wanted - 1) < 0.05, "variance %g, wanted %g", variance, wanted);
        tsri_run_forget(fix.run, graph);
        tsri_graph_destroy(&graph);
        fixture_close(&fix);
    }
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
    open_model("llama-tiny", selector);
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
            some_ids(ids[i], lengths[i], 30 + (uint64_t)i);
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
    open_model("gpt2-tiny", "reference");
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
    open_model("opt", "reference");
    some_ids(ids[0], 8, 8);
    some_ids(ids[1], 8, 9);
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

/* Matrices kept in half precision give nearly the same logits in half the memory; stored halves are
 * kept as they are. */
Test(session, dtypes) {
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16};
    static const float near[] = {
        0, 0.02f, 0.15f}; /* 2^-11 and 2^-8 of weights, over two layers of width 24 */
    static float logits[3][LENGTH * V];
    uint64_t bytes[3];
    int32_t ids[LENGTH];
    char path[1024];
    const tsri_model_sequence sequence = {.ids = ids, .n = LENGTH};
    some_ids(ids, LENGTH, 12);
    snprintf(path, sizeof path, "%s/tests/golden/models/llama-tiny", TESSERA_SOURCE_DIR);
    for (int i = 0; i < 3; i++) {
        const tsri_model_options options = {.dtype = dtypes[i]};
        fixture_device(&fix, "reference");
        fixture_model(&fix, path, &options);
        run_all(1, &sequence, 1, logits[i]);
        bytes[i] = tsri_model_weights_bytes(fix.model->weights);
        for (int j = 0; j < LENGTH * V; j++)
            cr_assert(fabsf(logits[i][j] - logits[0][j]) <= near[i], "%d: %g, f32 %g", j,
                      (double)logits[i][j], (double)logits[0][j]);
        cr_expect(i == 0 || memcmp(logits[i], logits[0], sizeof *logits) != 0);
        fixture_close(&fix);
    }
    cr_expect(bytes[1] == bytes[2] && bytes[1] < bytes[0] * 6 / 10);
}
