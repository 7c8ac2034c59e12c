/* tests/verify/rows.c - every kernel variant of every op, on the devices of TESSERA_TEST_DEVICES
 * (selectors separated by commas; "pocl" if unset) and on the reference, which shows the
 * decompositions. One test for each op and device. Ops whose turn it isn't have the fewest cases, and kernels that
 * pocl does not optimise; the variants of an eighth of the ops are compared with their plain one (bytes.c). */
#include "support/cases.h"
#include "tessera/verify.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct subject {
    char op[32], device[96];
} subject;

ParameterizedTestParameters(verify, rows) {
    static subject subjects[512];
    size_t n = 0;
    char devices[1024];
    const char *chosen = getenv("TESSERA_TEST_DEVICES");
    snprintf(devices, sizeof devices, "reference,%s", chosen && *chosen ? chosen : "pocl");
    for (const char *device = strtok(devices, ","); device; device = strtok(NULL, ","))
        for (size_t i = 0; tsr_verify_op_name(i) && n < sizeof subjects / sizeof *subjects;
             i++, n++) {
            snprintf(subjects[n].op, sizeof subjects[n].op, "%s", tsr_verify_op_name(i));
            snprintf(subjects[n].device, sizeof subjects[n].device, "%s", device);
        }
    return cr_make_param_array(subject, subjects, n);
}

static int report(void *data, const tsr_verify_result *r) {
    (void)data;
    if (r->status == TSR_VERIFY_MISS || r->status == TSR_VERIFY_ERROR)
        cr_expect(false, "%s, %s, %s: error %.3g, bound %.3g (%s): %s", r->op, r->variant, r->name,
                  r->error, r->bound, r->reason, r->message);
    return 0;
}

ParameterizedTest(subject *s, verify, rows) {
    const tsr_engine_options engine_options = {.struct_size = sizeof engine_options};
    const tsr_device_open_options device_options = {.struct_size = sizeof device_options,
                                                    .no_self_test = 1};
    const test_cases cases = cases_wanted();
    const bool due = strcmp(s->device, "reference") == 0 || cases_due(s->op);
    const tsr_verify_options options = {.struct_size = sizeof options,
                                        .op = s->op,
                                        .level = cases == TEST_SMOKE || !due ? 1 : 2,
                                        .every = cases == TEST_ALL ? 24 : 0,
                                        .first = cases_turn()};
    tsr_verify_summary summary = {.struct_size = sizeof summary};
    tsr_engine *engine = NULL;
    tsr_device *device = NULL;
    if (!due) {
        if (cases == TEST_SMOKE)
            cr_skip_test("not this op's turn");
        cases_build_unoptimised();
    }
    cr_assert_eq(tsr_engine_create(&engine_options, &engine), TSR_OK, "%s", tsr_error_last());
    const tsr_status status = tsr_device_open(engine, s->device, &device_options, &device);
    if (status == TSR_E_ARGUMENT) {
        char why[512];
        snprintf(why, sizeof why, "%s", tsr_error_last());
        tsr_engine_destroy(&engine);
        cr_skip_test("no device \"%s\": %s", s->device, why);
    }
    cr_assert_eq(status, TSR_OK, "%s", tsr_error_last());
    cr_expect_eq(tsr_verify(device, &options, report, NULL, &summary), TSR_OK, "%s: %s", s->op,
                 tsr_error_last());
    if (summary.not_offered)
        cr_log_info("%s: not offered by %s", s->op, s->device);
    else
        cr_expect_gt(summary.ok, 0, "%s: no case was checked", s->op);
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
}
