/* What is known about attention whatever the numbers are. */
#include "model/session_runs.h"

#include "base/random.h"

#include <math.h>
#include <stdio.h>

static fixture fix;

/* Masked keys have weight 0 to the bit, whatever the scores are: the mask is minus infinity. */
Test(attention_facts, masked_keys_weigh_nothing) {
    static float attention[L][H * LENGTH * LENGTH];
    float *const to[L] = {attention[0], attention[1]};
    int32_t ids[LENGTH];
    const tsri_model_sequence sequence = {.ids = ids, .n = LENGTH};
    const tsri_model_results results = {.attention = to};
    tsri_session *session = NULL;
    session_open(&fix, "phi3", "reference"); /* a window of 6 */
    session_some_ids(ids, LENGTH, 6);
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
Test(attention_facts, without_positions_a_permutation_permutes) {
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
    session_some_ids(ids, LENGTH, 7);
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
Test(attention_facts, scores_have_unit_variance_after_scaling) {
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
