/* One op alone, as tuning runs it: on the reference. */
#include "tune/trial.h"
#include "tune/contender.h"

#include "base/error.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static tsri_backend_set *set;
static tsri_backend_device *device;

static tsri_run_options open_reference(void) {
    const tsri_backend_options none = {0};
    cr_assert_eq(tsri_backend_set_open(&none, &set), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_backend_reference_open(set, &device), TSR_OK);
    return (tsri_run_options){.devices = &device, .n_devices = 1, .set = set, .kernels = ""};
}

static void close_reference(void) {
    tsri_backend_device_close(&device);
    tsri_backend_set_close(&set);
}

Test(trial, results_and_how_they_compare) {
    tsri_tune_trial x, y;
    const tsri_run_options options = open_reference();
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
    close_reference();
}

/* --- attention with all operands that a model gives it, those that are missing too --- */

enum { LEN = 4, PAGES = 10, HEADS = 2, HEAD = 4, PAGE = 4, PAGES_IN_ALL = 6, PAGES_OF_ONE = 3 };

static tsr_tensor sized(tsr_dtype dtype, uint32_t rank, const tsr_dim *dim) {
    tsr_tensor t = {
        .struct_size = sizeof t, .dtype = (uint32_t)dtype, .rank = rank, .kind = TSR_KIND_INPUT};
    memcpy(t.dim, dim, rank * sizeof *dim);
    return t;
}

/* As an encoder's, whose keys are those of the run, or as a decoder's, whose keys are in pages. */
static tsri_tune_case make_attention(bool pages) {
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs, .causal = pages, .scale = 1};
    const tsr_dim B = tsri_tensor_symbol(TSR_SYM_B), T = tsri_tensor_symbol(TSR_SYM_T),
                  H = tsri_tensor_const(HEADS), D = tsri_tensor_const(HEAD);
    const tsr_tensor q = sized(TSR_F32, 4, (tsr_dim[]){B, T, H, D}),
                     k = pages ? sized(TSR_F32, 4,
                                       (tsr_dim[]){tsri_tensor_const(PAGES_IN_ALL),
                                                   tsri_tensor_const(PAGE), H, D})
                               : q,
                     of_each = sized(TSR_I32, 1, &B),
                     places = sized(TSR_I32, 2, (tsr_dim[]){B, tsri_tensor_const(PAGES_OF_ONE)});
    const tsr_tensor *in[PAGES + 1] = {&q, &k, &k, pages ? &of_each : NULL, &of_each},
                                 *out[] = {&q};
    const tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {1, ROWS, 1, 1, 1}};
    in[PAGES] = pages ? &places : NULL;
    const tsr_op op = {.struct_size = sizeof op,
                       .id = TSR_OP_ATTENTION,
                       .n_in = pages ? PAGES + 1 : PAGES,
                       .n_out = 1,
                       .in = in,
                       .out = out,
                       .attrs = &attrs,
                       .bounds = &bounds};
    tsri_tune_case c;
    cr_assert_eq(tsri_tune_case_make(&op, 1, &c), TSR_OK, "%s", tsr_error_last());
    return c;
}

Test(trial, an_attention_of_ten_operands_has_lengths_that_suit_its_sizes) {
    tsri_tune_trial x;
    const tsri_run_options options = open_reference();
    tsri_tune_case c = make_attention(false);
    const int32_t *len = c.in[LEN];
    cr_assert_eq(tsri_tune_trial_open(&c, &options, &x), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_tune_trial_results(&x, c.small), TSR_OK, "%s", tsr_error_last());
    cr_expect_eq(*len, 7, "%d keys of 7", *len);
    cr_expect_eq(x.out_bytes[0], sizeof(float) * 7 * HEADS * HEAD);
    cr_assert_eq(tsri_tune_trial_results(&x, c.sizes), TSR_OK);
    cr_expect_eq(*len, ROWS, "%d keys of %d", *len, ROWS);
    tsri_tune_trial_close(&x);
    tsri_tune_case_clear(&c);
    close_reference();
}

Test(trial, an_attention_over_pages_has_pages_that_are_there) {
    tsri_tune_trial x;
    const tsri_run_options options = open_reference();
    tsri_tune_case c = make_attention(true);
    const int32_t *places = c.in[PAGES], *len = c.in[LEN];
    cr_assert_eq(tsri_tune_trial_open(&c, &options, &x), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_tune_trial_results(&x, c.sizes), TSR_OK, "%s", tsr_error_last());
    cr_expect_eq(*len, PAGES_OF_ONE * PAGE, "%d", *len);
    for (int i = 0; i < PAGES_OF_ONE; i++)
        cr_expect(places[i] >= 0 && places[i] < PAGES_IN_ALL, "page %d is %d", i, places[i]);
    tsri_tune_trial_close(&x);
    tsri_tune_case_clear(&c);
    close_reference();
}

/* --- the search --- */

enum { MOST_NAMES = 8 };

/* Visits a variant with these tunables. */
static void visit_tiled(const char *op, const char *const *names, uint32_t n,
                        tsr_tunable_visitor visit, void *data) {
    tsr_tunable tunables[MOST_NAMES];
    const tsr_tunable *pointers[MOST_NAMES];
    for (uint32_t i = 0; i < n; i++) {
        tunables[i] =
            (tsr_tunable){.struct_size = sizeof *tunables, .highest = 1, .name = names[i]};
        pointers[i] = &tunables[i];
    }
    visit(data, &(tsr_tunable_variant){.struct_size = sizeof(tsr_tunable_variant),
                                       .n_tunables = n,
                                       .tunables = pointers,
                                       .op = op,
                                       .variant = "tiled",
                                       .condition = "rows=1"});
}

/* As many tunables as a tile of a matrix product has. */
static tsr_status visit_tile(tsr_dev *dev, const tsr_op *op, tsr_tunable_visitor visit,
                             void *data) {
    (void)dev;
    (void)op;
    static const char *const names[] = {"GN", "GM", "TM", "TN", "BK", "VW", "BLOCKS", "SUB"};
    visit_tiled("linear", names, MOST_NAMES, visit, data);
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
    tsri_backend_device none = {0}, *only = &none;
    tsri_tune_case c = make(ROWS, 1);
    tsri_tune tune = {.options = {.devices = &only, .n_devices = 1},
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

/* The variants of an op that the reference device doesn't force, because it has another one. */
static tsr_status visit_other(tsr_dev *dev, const tsr_op *op, tsr_tunable_visitor visit,
                              void *data) {
    (void)dev;
    (void)op;
    visit_tiled("other", (const char *const[]){"N"}, 1, visit, data);
    return TSR_OK;
}

static void count(void *data, const tsri_tune_tuned *found) {
    (void)found;
    ++*(int *)data;
}

Test(tune, a_device_that_measures_nothing_is_refused) {
    static const tsr_backend_tune backend = {sizeof backend, visit_other, keep_nothing};
    double once = 1;
    int visited = 0;
    tsri_tune_case c = make(ROWS, 1);
    tsri_tune tune = {.options = open_reference(), /* without profile */
                      .backend = &backend,
                      .n_cases = 1,
                      .cases = &c,
                      .counts = &once};
    cr_expect_eq(tsri_tune_search(
                     &tune, &(tsri_tune_options){.seconds = 60, .visit = count, .data = &visited}),
                 TSR_E_UNSUPPORTED);
    cr_expect(strstr(tsr_error_last(), "does not measure launches"), "%s", tsr_error_last());
    cr_expect_eq(visited, 0, "a row without a time was told");
    cr_expect_eq(tune.n_groups, 1);
    free(tune.groups);
    tsri_tune_case_clear(&c);
    close_reference();
}

static void hear(void *data, tsr_log_level level, const char *line) {
    if (level == TSR_LOG_WARNING)
        snprintf(data, 256, "%s", line);
}

Test(tune, an_op_that_is_left_out_is_told) {
    char told[256] = "";
    tsri_tune tune = {.options = {.log = hear, .log_data = told}};
    const tsr_bounds bounds = {.struct_size = sizeof bounds};
    const tsr_op unknown = {.struct_size = sizeof unknown, .id = TSR_OP_COUNT, .bounds = &bounds},
                 writes = {.struct_size = sizeof writes, .id = TSR_OP_KV_APPEND, .bounds = &bounds};
    cr_expect_eq(tsri_tune_add_op(&tune, &writes), TSR_OK);
    cr_expect_str_empty(told, "%s", told);
    cr_expect_eq(tsri_tune_add_op(&tune, &unknown), TSR_OK);
    cr_expect(strstr(told, "an op isn't tuned: "), "%s", told);
    cr_expect_eq(tune.n_cases, 0);
}
