/* One op alone, as tuning runs it: on the reference. */
#include "tune/trial.h"
#include "tune/contender.h"

#include "base/error.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { K = 32, N = 5, ROWS = 9 };

static tsr_tensor matrix(tsr_kind kind, tsr_dim rows, int64_t columns) {
    return (tsr_tensor){.struct_size = sizeof(tsr_tensor),
                        .dtype = TSR_F32,
                        .rank = 2,
                        .kind = (uint32_t)kind,
                        .dim = {rows, tsri_tensor_const(columns)}};
}

static tsri_tune_case make(int64_t rows, double count) {
    static const tsr_linear_attrs attrs = {.struct_size = sizeof attrs, .trans_w = 1};
    const tsr_tensor x = matrix(TSR_KIND_INPUT, tsri_tensor_symbol(TSR_SYM_N), K),
                     w = matrix(TSR_KIND_WEIGHT, tsri_tensor_const(N), K),
                     y = matrix(TSR_KIND_ACTIVATION, tsri_tensor_symbol(TSR_SYM_N), N);
    const tsr_tensor *in[] = {&x, &w}, *out[] = {&y};
    const tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 1, 1, 1, rows}};
    const tsr_op op = {.struct_size = sizeof op,
                       .id = TSR_OP_LINEAR,
                       .n_in = 2,
                       .n_out = 1,
                       .in = in,
                       .out = out,
                       .attrs = &attrs,
                       .bounds = &bounds};
    tsri_tune_case c;
    cr_assert_eq(tsri_tune_case_make(&op, count, &c), TSR_OK, "%s", tsr_error_last());
    return c;
}

Test(trial, cases_are_the_same_by_op_and_sizes) {
    tsri_tune_case a = make(ROWS, 1), b = make(ROWS, 3), c = make(ROWS + 1, 1);
    cr_expect(tsri_tune_case_same(&a, &b));
    cr_expect_not(tsri_tune_case_same(&a, &c));
    cr_expect_float_eq(b.work, 3 * a.work, 1e-9);
    cr_expect_eq(a.small[4], 7);
    tsri_tune_case_clear(&a);
    tsri_tune_case_clear(&b);
    tsri_tune_case_clear(&c);
}

Test(trial, results_and_how_they_compare) {
    tsri_backend_set *set;
    tsri_backend_device *device;
    const tsri_backend_options none = {0};
    tsri_tune_trial x, y;
    cr_assert_eq(tsri_backend_set_open(&none, &set), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_backend_reference_open(set, &device), TSR_OK);
    const tsri_run_options options = {
        .devices = &device, .n_devices = 1, .set = set, .kernels = ""};
    tsri_tune_case c = make(ROWS, 1);
    cr_assert_eq(tsri_tune_trial_open(&c, &options, &x), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_tune_trial_open(&c, &options, &y), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_tune_trial_results(&x, c.sizes), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_tune_trial_results(&y, c.sizes), TSR_OK);
    cr_expect_eq(x.n_out, 1);
    cr_expect_eq(x.out_bytes[0], sizeof(float) * ROWS * N);
    cr_expect(tsri_tune_trial_same(&x, &y) && tsri_tune_trial_near(&x, &y));
    float *values = y.out[0];
    values[7] = nextafterf(values[7], 9);
    cr_expect(!tsri_tune_trial_same(&x, &y) && tsri_tune_trial_near(&x, &y));
    values[7] += 0.5f;
    cr_expect_not(tsri_tune_trial_near(&x, &y));
    values[7] = NAN;
    cr_expect_not(tsri_tune_trial_near(&x, &y));
    cr_assert_eq(tsri_tune_trial_results(&y, c.small), TSR_OK);
    cr_expect_eq(y.out_bytes[0], sizeof(float) * 7 * N);
    cr_expect_not(tsri_tune_trial_near(&x, &y), "other sizes");
    tsri_tune_trial_close(&x);
    tsri_tune_trial_close(&y);
    tsri_tune_case_clear(&c);
    tsri_backend_device_close(&device);
    tsri_backend_set_close(&set);
}

/* As many tunables as a tile of a matrix product has. */
static tsr_status visit_tile(tsr_dev *dev, const tsr_op *op, tsr_tunable_visitor visit,
                             void *data) {
    (void)dev;
    (void)op;
    static const char *const names[] = {"GN", "GM", "TM", "TN", "BK", "VW", "BLOCKS", "SUB"};
    tsr_tunable tunables[8];
    const tsr_tunable *pointers[8];
    for (int i = 0; i < 8; i++) {
        tunables[i] =
            (tsr_tunable){.struct_size = sizeof *tunables, .highest = 1, .name = names[i]};
        pointers[i] = &tunables[i];
    }
    visit(data, &(tsr_tunable_variant){.struct_size = sizeof(tsr_tunable_variant),
                                       .n_tunables = 8,
                                       .tunables = pointers,
                                       .op = "linear",
                                       .variant = "tiled",
                                       .condition = "rows=1"});
    return TSR_OK;
}

static tsr_status keep_nothing(tsr_dev *dev, const char *path, const tsr_tuned *const *found,
                               size_t n) {
    (void)dev;
    (void)path;
    (void)found;
    return n ? TSR_E_INTERNAL : TSR_OK;
}

Test(tune, all_tunables_of_a_tile_are_searched) {
    static const tsr_backend_tune backend = {sizeof backend, visit_tile, keep_nothing};
    tsri_backend_device none = {0}, *device = &none;
    tsri_tune_case c = make(ROWS, 1);
    tsri_tune tune = {.options = {.devices = &device, .n_devices = 1},
                      .backend = &backend,
                      .n_cases = 1,
                      .cases = &c};
    cr_assert_eq(tsri_tune_search(&tune, &(tsri_tune_options){.seconds = 0}), TSR_OK, "%s",
                 tsr_error_last());
    cr_assert_eq(tune.n_groups, 1);
    cr_expect_eq(tune.groups[0].n_tunables, 8);
    cr_expect_str_eq(tune.groups[0].name[7], "SUB");
    free(tune.groups);
    tsri_tune_case_clear(&c);
}
