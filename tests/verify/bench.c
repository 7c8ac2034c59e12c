/* tests/verify/bench.c - tsr_verify with bench_seconds: what is timed, and what is refused. */
#include "cases/cases.h"
#include "tessera/verify.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static tsr_engine *engine;
static tsr_device *device;

static void open_device(uint32_t profile) {
    const tsr_engine_options engine_options = {.struct_size = sizeof engine_options};
    const tsr_device_open_options options = {
        .struct_size = sizeof options, .no_self_test = 1, .profile = profile};
    cr_assert_eq(tsr_engine_create(&engine_options, &engine), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsr_device_open(engine, "reference", &options, &device), TSR_OK, "%s",
                 tsr_error_last());
}

static void close_device(void) {
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
}

TestSuite(bench, .fini = close_device);

static int count(void *data, const tsr_verify_result *r) {
    cr_expect_eq(r->status, TSR_VERIFY_TIMED, "%s", r->message);
    cr_expect(r->runs >= 1 && r->best_seconds > 0 && r->median_seconds >= r->best_seconds &&
                  r->flops >= 0 && r->bytes > 0,
              "%s: %u runs, %g s, %g s", r->name, r->runs, r->best_seconds, r->median_seconds);
    ++*(int *)data;
    return 0;
}

static tsr_status bench(const char *op, double seconds, int *results, tsr_verify_summary *summary) {
    const tsr_verify_options options = {
        .struct_size = sizeof options, .op = op, .bench_seconds = seconds};
    *summary = (tsr_verify_summary){.struct_size = sizeof *summary};
    return tsr_verify(device, &options, count, results, summary);
}

/* accumulate writes a state, argmax reads no weight, gather has no timed case and runs its
 * largest. */
Test(bench, every_timed_case_gives_a_result) {
    static const char *const ops[] = {"accumulate", "argmax", "gather"};
    static const tsr_op_id ids[] = {TSR_OP_ACCUMULATE, TSR_OP_ARGMAX, TSR_OP_GATHER};
    open_device(1);
    for (int i = 0; i < 3; i++) {
        tsri_case_list list = {0};
        tsr_verify_summary summary;
        int results = 0;
        cr_assert_eq(tsri_cases_timed(ids[i], &list), TSR_OK);
        cr_assert_eq(bench(ops[i], 1e-4, &results, &summary), TSR_OK, "%s", tsr_error_last());
        cr_expect(results > 0 && (size_t)results == list.n && summary.timed == list.n &&
                      summary.ok == 0 && summary.ops_done == 1,
                  "%s: %d results of %zu cases", ops[i], results, list.n);
        free(list.cases);
    }
}

Test(bench, cases_of_verify_are_not_timed_and_those_of_the_benchmark_are) {
    static const tsr_op_id ids[] = {TSR_OP_LINEAR, TSR_OP_RMS_NORM, TSR_OP_GATHER};
    for (int i = 0; i < 3; i++)
        for (int timed = 0; timed < 2; timed++) {
            tsri_case_list list = {0};
            cr_assert_eq(timed ? tsri_cases_timed(ids[i], &list) : tsri_cases_of(ids[i], &list),
                         TSR_OK);
            cr_expect_gt(list.n, 0);
            for (size_t k = 0; k < list.n; k++)
                cr_expect_eq(list.cases[k].timed, timed, "%s", list.cases[k].name);
            free(list.cases);
        }
}

Test(bench, what_makes_no_sense_is_refused) {
    tsr_verify_summary summary;
    int results = 0;
    open_device(0);
    cr_expect_eq(bench("add", 0.1, &results, &summary), TSR_E_STATE);
    cr_expect_str_eq(tsr_error_last(),
                     "the device was opened without profile, so it measures no launch");
    cr_expect_eq(bench("add", -1, &results, &summary), TSR_E_ARGUMENT);
    cr_expect_eq(bench("add", NAN, &results, &summary), TSR_E_ARGUMENT);
    cr_expect_eq(results, 0);
}

static int stop(void *data, const tsr_verify_result *r) {
    (void)r;
    return ++*(int *)data == 2;
}

Test(bench, a_callback_can_stop_it) {
    const tsr_verify_options options = {.struct_size = sizeof options, .bench_seconds = 1e-4};
    int results = 0;
    open_device(1);
    cr_expect_eq(tsr_verify(device, &options, stop, &results, NULL), TSR_E_CANCELLED);
    cr_expect_eq(results, 2);
}
