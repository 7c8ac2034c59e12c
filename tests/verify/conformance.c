/* tests/verify/conformance.c - the suite itself: a backend that is right passes, one with a small
 * defect is caught, and what a backend lacks is listed and never passes. */
#include "backend/opened.h"
#include "run/run.h"
#include "support/plugin.h"
#include "tensor/shape.h"
#include "tessera/verify.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[PATH_MAX];

static void begin(void) {
    snprintf(folder, sizeof folder, "%s/tessera-conformance-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : P_tmpdir);
    cr_assert_not_null(mkdtemp(folder));
    setenv("OCL_ICD_VENDORS", folder, 1);
}

static void end(void) {
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(conformance, .init = begin, .fini = end);

typedef struct seen {
    char missed[64]; /* the op of the last miss */
    char missed_case[128];
    size_t rows_of_missing; /* results of ops that are not offered, other than NOT_OFFERED */
    tsr_verify_summary summary;
} seen;

static int look(void *data, const tsr_verify_result *r) {
    seen *s = data;
    const bool offered = strstr("linear add mul silu rms_norm", r->op) != NULL;
    if (r->status == TSR_VERIFY_MISS || r->status == TSR_VERIFY_ERROR) {
        snprintf(s->missed, sizeof s->missed, "%s", r->op);
        snprintf(s->missed_case, sizeof s->missed_case, "%s", r->name);
    }
    s->rows_of_missing += !offered && r->status != TSR_VERIFY_NOT_OFFERED;
    return 0;
}

static tsr_engine *engine;
static tsr_device *device;

/* Builds a source as a plugin and opens its device. */
static void open_plugin(const char *source) {
    char plugin[PATH_MAX + 32];
    const char *path = plugin;
    snprintf(plugin, sizeof plugin, "%s/libplugin.so", folder);
    build_plugin(source, plugin);
    const tsr_engine_options options = {
        .struct_size = sizeof options, .n_backends = 1, .backends = &path};
    cr_assert_eq(tsr_engine_create(&options, &engine), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsr_device_open(engine, "minimal", NULL, &device), TSR_OK, "%s", tsr_error_last());
}

static void close_plugin(void) {
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
}

static seen verify(const char *source, uint32_t level) {
    seen s = {.summary.struct_size = sizeof s.summary};
    const tsr_verify_options options = {.struct_size = sizeof options, .level = level};
    open_plugin(source);
    cr_assert_eq(tsr_verify(device, &options, look, &s, &s.summary), TSR_OK, "%s",
                 tsr_error_last());
    close_plugin();
    return s;
}

static void keep_line(void *data, tsr_log_level level, const char *line) {
    if (level == TSR_LOG_WARNING)
        snprintf(data, 512, "%s", line);
}

/* Prepares a graph for the plugin's device; the last warning goes to `said`, char[512]. */
static tsri_run_plan *prepare(const tsri_graph *graph, char *said, tsri_run_context **context) {
    const tsri_backend_opened_device *opened = tsri_backend_opened(device);
    const tsri_run_options options = {.devices = opened->devices,
                                      .n_devices = opened->n_devices,
                                      .set = opened->set,
                                      .log = keep_line,
                                      .log_data = said};
    const tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 4, 1, 1, 1}};
    const tsri_run_source source = {0};
    tsri_run_plan *plan = NULL;
    cr_assert_eq(tsri_graph_status(graph), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_run_create(&options, context), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_run_load(*context, graph, &bounds, &source), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_run_prepare(*context, graph, &bounds, &plan), TSR_OK, "%s", tsr_error_last());
    return plan;
}

static tsri_run_binding bind(uint32_t id, void *data, uint64_t bytes) {
    return (tsri_run_binding){.id = id, .data = data, .bytes = bytes};
}

/* tanh(x + x): the backend has add and lacks tanh. */
Test(conformance, an_op_that_the_backend_lacks_runs_on_the_reference_and_the_run_says_so) {
    char said[512] = "";
    tsri_graph *graph = NULL;
    tsri_run_context *context = NULL;
    open_plugin("examples/backend_minimal/minimal.c");
    const tsr_dim dims[] = {tsri_tensor_symbol(TSR_SYM_T), tsri_tensor_const(2)};
    cr_assert_eq(tsri_graph_create(&graph), TSR_OK);
    const tsri_value x = tsri_graph_leaf(graph, TSR_KIND_INPUT, 0, "x", TSR_F32, 2, dims);
    const tsri_value sum = tsri_graph_op1(graph, TSR_OP_ADD, NULL, (tsri_value[]){x, x}, 2);
    tsri_graph_output(graph, 0, "y", tsri_graph_op1(graph, TSR_OP_TANH, NULL, &sum, 1));

    const int64_t sizes[] = {1, 2, 1, 1, 1};
    float in[] = {0, 0.25f, -0.5f, 4}, out[4] = {0};
    tsri_run_plan *plan = prepare(graph, said, &context);
    const tsri_run_binding from = bind(0, in, sizeof in), to = bind(0, out, sizeof out);
    cr_assert_eq(tsri_run_execute(plan, sizes, &from, 1, &to, 1), TSR_OK, "%s", tsr_error_last());
    for (int i = 0; i < 4; i++)
        cr_expect_float_eq(out[i], tanhf(2 * in[i]), 1e-6);
    cr_expect(strstr(said, "Example/minimal: tanh runs on the reference backend"), "\"%s\"", said);
    tsri_run_destroy(&context);
    tsri_graph_destroy(&graph);
    close_plugin();
}

/* Two states, of which the backend lacks what appends to the first; sum = first + second puts the second
 * on the reference too, and with it second * second, which the backend has. */
Test(conformance, states_that_an_op_uses_together_are_in_one_memory) {
    enum { CAPACITY = 4, NUMBERS = 2, SIZE = CAPACITY * NUMBERS };
    enum { FIRST, SECOND };
    char said[512] = "";
    tsri_graph *graph = NULL;
    tsri_run_context *context = NULL;
    open_plugin("examples/backend_minimal/minimal.c");
    const tsr_dim one = tsri_tensor_const(1),
                  shape[] = {one, one, tsri_tensor_const(CAPACITY), tsri_tensor_const(NUMBERS)},
                  token[] = {one, tsri_tensor_symbol(TSR_SYM_T), one, tsri_tensor_const(NUMBERS)};
    cr_assert_eq(tsri_graph_create(&graph), TSR_OK);
    tsri_value state[2];
    for (uint32_t i = 0; i < 2; i++)
        state[i] =
            tsri_graph_leaf(graph, TSR_KIND_STATE, i, i ? "second" : "first", TSR_F32, 4, shape);
    const tsri_value x = tsri_graph_leaf(graph, TSR_KIND_INPUT, 0, "x", TSR_F32, 4, token),
                     past = tsri_graph_leaf(graph, TSR_KIND_INPUT, 1, "past", TSR_I32, 1, &one),
                     len = tsri_graph_leaf(graph, TSR_KIND_INPUT, 2, "len", TSR_I32, 1, &one),
                     square = tsri_graph_op1(graph, TSR_OP_MUL, NULL,
                                             (tsri_value[]){state[SECOND], state[SECOND]}, 2);
    tsri_graph_op(graph, TSR_OP_KV_APPEND, NULL, (tsri_value[]){state[FIRST], x, past, len}, 4, 0,
                  NULL);
    tsri_graph_output(graph, 0, "square", square);
    tsri_graph_output(graph, 1, "sum", tsri_graph_op1(graph, TSR_OP_ADD, NULL, state, 2));

    const int64_t sizes[] = {1, 1, 1, 1, 1};
    int32_t at = 0, tokens = 1;
    float in[NUMBERS] = {5, 7}, second[SIZE], squares[SIZE] = {0}, sums[SIZE] = {0};
    for (int i = 0; i < SIZE; i++)
        second[i] = (float)(i + 1);
    tsri_run_plan *plan = prepare(graph, said, &context);
    cr_assert_eq(tsri_run_write_state(context, SECOND, second, sizeof second), TSR_OK, "%s",
                 tsr_error_last());
    const tsri_run_binding from[] = {bind(0, in, sizeof in), bind(1, &at, sizeof at),
                                     bind(2, &tokens, sizeof tokens)},
                           to[] = {bind(0, squares, sizeof squares), bind(1, sums, sizeof sums)};
    cr_assert_eq(tsri_run_execute(plan, sizes, from, 3, to, 2), TSR_OK, "%s", tsr_error_last());
    for (int i = 0; i < SIZE; i++) {
        cr_expect_eq(squares[i], second[i] * second[i]);
        cr_expect_eq(sums[i], second[i] + (i < NUMBERS ? in[i] : 0));
    }
    cr_expect(strstr(said, "because its state is used there"), "\"%s\"", said);
    tsri_run_destroy(&context);
    tsri_graph_destroy(&graph);
    close_plugin();
}

Test(conformance, the_example_backend_passes_and_what_it_lacks_is_listed) {
    const seen s = verify("examples/backend_minimal/minimal.c", 0);
    cr_expect_eq(s.summary.misses + s.summary.errors, 0, "%s, %s", s.missed, s.missed_case);
    cr_expect_gt(s.summary.ok, 50);
    cr_expect_gt(s.summary.not_offered, 10);
    cr_expect_eq(s.rows_of_missing, 0);
}

static void list(void *data, const char *variant, uint32_t fits) {
    char *all = data;
    snprintf(all + strlen(all), 64 - strlen(all), "%s%s ", variant, fits ? "" : "?");
}

Test(conformance, the_kernel_variants_of_an_op_are_listed) {
    char all[64] = "", none[64] = "";
    open_plugin("examples/backend_minimal/minimal.c");
    cr_assert_eq(tsr_verify_variants(device, "linear", list, all), TSR_OK, "%s", tsr_error_last());
    cr_expect_str_eq(all, "minimal ");
    cr_expect_eq(tsr_verify_variants(device, "attention", list, none), TSR_OK);
    cr_expect_str_eq(none, "");
    cr_expect_eq(tsr_verify_variants(device, "lineal", list, none), TSR_E_ARGUMENT);
    cr_expect_not_null(strstr(tsr_error_last(), "no op is called \"lineal\""), "%s",
                       tsr_error_last());
    close_plugin();
}

Test(conformance, an_eps_that_is_slightly_wrong_is_a_miss) {
    const seen s = verify("tests/verify/plugins/wrong_eps.c", 0);
    cr_expect_gt(s.summary.misses, 0);
    cr_expect_str_eq(s.missed, "rms_norm");
}

Test(conformance, an_element_that_is_not_written_is_a_miss) {
    const seen s = verify("tests/verify/plugins/unwritten.c", 1);
    cr_expect_gt(s.summary.misses, 0);
    cr_expect_str_eq(s.missed, "silu");
}

typedef struct not_run {
    char variant[64], message[256]; /* of the last result that belongs to no case */
    tsr_verify_summary summary;
} not_run;

static int look_at_rest(void *data, const tsr_verify_result *r) {
    not_run *n = data;
    if (!*r->name) {
        snprintf(n->variant, sizeof n->variant, "%s", r->variant);
        snprintf(n->message, sizeof n->message, "%s", r->message);
    }
    return 0;
}

/* Verifies an op of which the device refuses some cases. */
static void expect_some_refused(const char *op, const char *variants, const char *variant) {
    not_run n = {.summary.struct_size = sizeof n.summary};
    const tsr_verify_options options = {
        .struct_size = sizeof options, .op = op, .variants = variants};
    const uint32_t reported = 1, none = 0;
    cr_assert_eq(tsr_verify(device, &options, look_at_rest, &n, &n.summary), TSR_OK, "%s",
                 tsr_error_last());
    cr_expect_gt(n.summary.ok, 1);
    cr_expect_eq(n.summary.misses, 0);
    cr_expect_eq(n.summary.skipped, variants ? none : reported);
    cr_expect_eq(n.summary.errors, variants ? reported : none);
    cr_expect_str_eq(n.variant, variant);
    cr_expect(strstr(n.message, "1 of ") == n.message &&
                  strstr(n.message, " cases were not run: ") &&
                  strstr(n.message, "no rows of so many numbers"),
              "%s: \"%s\"", op, n.message);
}

Test(conformance, cases_that_the_device_refuses_are_reported) {
    open_plugin("tests/verify/plugins/refusing.c");
    expect_some_refused("silu", NULL, "silu/minimal");
    expect_some_refused("silu", "minimal", "silu/minimal"); /* what was asked for was not done */
    expect_some_refused("linear", NULL, "decomposed");
    close_plugin();
}

static int stop(void *data, const tsr_verify_result *r) {
    (void)r;
    return ++*(int *)data == 3;
}

Test(conformance, a_callback_can_stop_it_and_an_unknown_op_is_refused) {
    const tsr_engine_options engine_options = {.struct_size = sizeof engine_options};
    int results = 0;
    cr_assert_eq(tsr_engine_create(&engine_options, &engine), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsr_device_open(engine, "reference", NULL, &device), TSR_OK, "%s",
                 tsr_error_last());
    cr_expect_eq(tsr_verify(device, NULL, stop, &results, NULL), TSR_E_CANCELLED);
    cr_expect_eq(results, 3);
    const tsr_verify_options options = {.struct_size = sizeof options, .op = "toast"};
    cr_expect_eq(tsr_verify(device, &options, stop, &results, NULL), TSR_E_ARGUMENT);
    cr_expect_str_eq(tsr_error_last(), "no op is called \"toast\"");
    close_plugin();
}
