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

/* tanh(x + x): the backend has add and lacks tanh. */
Test(conformance, an_op_that_the_backend_lacks_runs_on_the_reference_and_the_run_says_so) {
    char said[512] = "";
    tsri_graph *graph = NULL;
    tsri_run_context *context = NULL;
    tsri_run_plan *plan = NULL;
    open_plugin("examples/backend_minimal/minimal.c");
    const tsri_backend_opened_device *opened = tsri_backend_opened(device);
    const tsr_dim dims[] = {tsri_tensor_symbol(TSR_SYM_T), tsri_tensor_const(2)};
    cr_assert_eq(tsri_graph_create(&graph), TSR_OK);
    const tsri_value x = tsri_graph_leaf(graph, TSR_KIND_INPUT, 0, "x", TSR_F32, 2, dims);
    const tsri_value sum = tsri_graph_op1(graph, TSR_OP_ADD, NULL, (tsri_value[]){x, x}, 2);
    tsri_graph_output(graph, 0, "y", tsri_graph_op1(graph, TSR_OP_TANH, NULL, &sum, 1));
    cr_assert_eq(tsri_graph_status(graph), TSR_OK, "%s", tsr_error_last());

    const tsri_run_options options = {.devices = opened->devices,
                                      .n_devices = opened->n_devices,
                                      .set = opened->set,
                                      .log = keep_line,
                                      .log_data = said};
    const tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 4, 1, 1, 1}};
    const int64_t sizes[] = {1, 2, 1, 1, 1};
    const float in[] = {0, 0.25f, -0.5f, 4};
    float out[4] = {0};
    const tsri_run_source source = {0};
    cr_assert_eq(tsri_run_create(&options, &context), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_run_load(context, graph, &bounds, &source), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_run_prepare(context, graph, &bounds, &plan), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(
        tsri_run_execute(
            plan, sizes,
            &(tsri_run_binding){.id = 0, .data = (void *)(uintptr_t)in, .bytes = sizeof in}, 1,
            &(tsri_run_binding){.id = 0, .data = out, .bytes = sizeof out}, 1),
        TSR_OK, "%s", tsr_error_last());
    for (int i = 0; i < 4; i++)
        cr_expect_float_eq(out[i], tanhf(2 * in[i]), 1e-6);
    cr_expect(strstr(said, "Example/minimal: tanh runs on the reference backend"), "\"%s\"", said);
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
