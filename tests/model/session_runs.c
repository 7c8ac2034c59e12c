/* tests/model/session_runs.c - runs of small golden models. */
#include "model/session_runs.h"

#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void session_open(fixture *fix, const char *name, const char *selector) {
    session_open_as(fix, name, selector, NULL);
}

void session_open_as(fixture *fix, const char *name, const char *selector,
                     const tsri_model_options *options) {
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/models/%s", TESSERA_SOURCE_DIR, name);
    fixture_device(fix, selector);
    fixture_model(fix, path, options);
}

void session_some_ids(int32_t *ids, int64_t n, uint64_t seed) {
    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)(tsri_base_uniform(seed, 0, (uint64_t)i) * V);
}

void session_run_all(const fixture *fix, int32_t slots, const tsri_model_sequence *sequences,
                     int32_t n, float *logits) {
    tsri_session *session = NULL;
    const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .logits = logits};
    OK(tsri_session_create(fix->model, slots, 0, &session));
    OK(tsri_session_forward(session, sequences, n, &results));
    tsri_session_destroy(&session);
}

void session_run_steps(tsri_session *session, const int32_t *ids, int64_t n, int64_t words,
                       float *logits) {
    for (int64_t t = 0; t < n; t++) {
        const tsri_model_results results = {.logits = logits + t * words};
        const tsri_model_sequence step = {.ids = ids + t, .n = 1, .past = t};
        OK(tsri_session_forward(session, &step, 1, &results));
    }
}

double session_distance(const float *a, const float *b, int n, double *largest) {
    double difference = 0;
    *largest = 0;
    for (int i = 0; i < n; i++) {
        *largest = fmax(*largest, fabs((double)b[i]));
        difference = fmax(difference, fabs((double)b[i] - (double)a[i]));
    }
    return difference;
}

void session_expect_same_by_steps(const fixture *fix, const int32_t *ids, const float *whole) {
    static float steps[LENGTH * V];
    tsri_session *session = NULL;
    OK(tsri_session_create(fix->model, 1, 0, &session));
    session_run_steps(session, ids, LENGTH, V, steps);
    cr_expect(memcmp(whole, steps, sizeof steps) == 0, "token by token gives other logits");
    tsri_session_destroy(&session);
}
