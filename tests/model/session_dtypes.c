/* Sessions of models whose keys and values, or whose matrices, are kept in fewer bits: how near their
 * results are, and that the promises about bytes hold as for f32. */
#include "model/session_runs.h"

#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static fixture fix;

/* Keys and values kept as f16 are each off by 2^-11, relative, so scores of a few units and their
 * means are off by a few times that; the promises about bytes hold as for f32. */
static void halves(const char *selector) {
    static float single[LENGTH * V], whole[LENGTH * V];
    const tsri_model_options options = {.kv_dtype = TSR_F16};
    int32_t ids[LENGTH];
    const tsri_model_sequence sequence = {.ids = ids, .n = LENGTH};
    double largest;
    session_some_ids(ids, LENGTH, 3);
    session_open(&fix, "llama-tiny", selector);
    session_run_all(&fix, 1, &sequence, 1, single);
    fixture_close(&fix);
    session_open_as(&fix, "llama-tiny", selector, &options);
    session_run_all(&fix, 1, &sequence, 1, whole);
    const double difference = session_distance(whole, single, LENGTH * V, &largest);
    cr_expect(difference > 0 && difference <= 8 * 0x1p-11 * largest, "logits up to %g differ by %g",
              largest, difference);
    session_expect_same_by_steps(&fix, ids, whole);
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
        session_run_all(&fix, 1, &all, 1, i ? whole : single);
        if (i == 0)
            fixture_close(&fix);
    }
    const double difference = session_distance(whole, single, ALL * WORDS, &largest);
    cr_expect(difference > 1e-4 * largest && difference < 0.03 * largest,
              "logits up to %g differ by %g", largest, difference);
    OK(tsri_session_create(fix.model, 2, 0, &session));
    session_run_steps(session, ids, ALL, WORDS, some);
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

/* Matrices kept in half precision give nearly the same logits in half the memory; stored halves are
 * kept as they are. */
Test(session, dtypes) {
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16};
    static const float near[] = {
        0, 0.02f, 0.15f}; /* 2^-11 and 2^-8 of weights, over two layers of width 24 */
    static float logits[3][LENGTH * V];
    uint64_t bytes[3];
    int32_t ids[LENGTH];
    const tsri_model_sequence sequence = {.ids = ids, .n = LENGTH};
    session_some_ids(ids, LENGTH, 12);
    for (int i = 0; i < 3; i++) {
        const tsri_model_options options = {.dtype = dtypes[i]};
        session_open_as(&fix, "llama-tiny", "reference", &options);
        session_run_all(&fix, 1, &sequence, 1, logits[i]);
        bytes[i] = tsri_model_weights_bytes(fix.model->weights);
        for (int j = 0; j < LENGTH * V; j++)
            cr_assert(fabsf(logits[i][j] - logits[0][j]) <= near[i], "%d: %g, f32 %g", j,
                      (double)logits[i][j], (double)logits[0][j]);
        cr_expect(i == 0 || memcmp(logits[i], logits[0], sizeof *logits) != 0);
        fixture_close(&fix);
    }
    cr_expect(bytes[1] == bytes[2] && bytes[1] < bytes[0] * 6 / 10);
}
