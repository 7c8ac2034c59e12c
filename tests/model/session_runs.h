/* tests/model/session_runs.h - what the tests of sessions share: small golden models, and runs of them. */
#ifndef TESTS_MODEL_SESSION_RUNS_H
#define TESTS_MODEL_SESSION_RUNS_H

#include "model/fixture.h"

#include <criterion/criterion.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())
enum { V = 61, C = 24, L = 2, H = 4, LENGTH = 20 }; /* vocabulary, width, layers, heads; tokens */

/* Opens a golden model on a device; with options. */
void session_open(fixture *fix, const char *name, const char *selector);
void session_open_as(fixture *fix, const char *name, const char *selector,
                     const tsri_model_options *options);
void session_some_ids(int32_t *ids, int64_t n, uint64_t seed);
/* The logits of all tokens, in a separate session with `slots`. */
void session_run_all(const fixture *fix, int32_t slots, const tsri_model_sequence *sequences,
                     int32_t n, float *logits);
/* The logits of n tokens in a session's slot 0, one token a run. */
void session_run_steps(tsri_session *session, const int32_t *ids, int64_t n, int64_t words,
                       float *logits);
/* By how much n numbers differ from others at most; *largest is the largest of these. */
double session_distance(const float *a, const float *b, int n, double *largest);
/* One token a run gives the same bytes as the whole text of LENGTH tokens in one run. */
void session_expect_same_by_steps(const fixture *fix, const int32_t *ids, const float *whole);

#endif
