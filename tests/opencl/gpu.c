/* What a GPU gets, on a device that a layer makes look like a small GPU (32 KiB of local memory,
 * work-groups of 64, no extensions), and what happens when it has even less. */
#include "opencl/rig.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char pocl[] = "Portable Computing Language";
static rig r;

static void begin_with(const char *option, const char *chosen) {
    setenv("OPENCL_LAYERS", GPU_LAYER, 1);
    rig_begin(&r, option, chosen);
    rig_open(&r, pocl, false);
    tsr_facts facts = {.struct_size = sizeof facts};
    cr_assert_eq(r.backend->device_facts(r.state, 0, &facts), TSR_OK);
    cr_assert_eq(facts.type, TSR_DEVICE_GPU, "the OpenCL loader ignores OPENCL_LAYERS");
}

static void begin(const char *name, const char *value) {
    if (name)
        setenv(name, value, 1);
    begin_with(NULL, NULL);
}

typedef struct seen {
    char chosen[128], tiled[512]; /* why the tiled variant is not chosen */
} seen;

static void see(void *data, const tsr_variant *variant) {
    seen *s = data;
    if (variant->chosen)
        strncpy(s->chosen, variant->name, sizeof s->chosen - 1);
    if (!strncmp(variant->name, "linear/tiled", 12) && strcspn(variant->name, ":") == 12 &&
        !variant->fits)
        strncpy(s->tiled, variant->why, sizeof s->tiled - 1);
}

/* The variant that the device gets, and its result. */
static void make(const char *kernels, seen *s, float result[RIG_T * RIG_N]) {
    rig_linear linear;
    *s = (seen){0};
    cr_assert_eq(rig_linear_make(&r, r.dev, kernels, &linear), TSR_OK, "%s", r.sentence);
    cr_assert_eq(rig_linear_run(&r, r.dev, &linear), TSR_OK, "%s", r.sentence);
    cr_expect_eq(rig_linear_error(&linear), 0.0);
    cr_assert_eq(r.backend->plan_explain(linear.plan, 0, see, s), TSR_OK);
    memcpy(result, linear.result, sizeof linear.result);
    rig_linear_free(&r, &linear);
}

Test(opencl_gpu, gets_a_work_group_row_with_the_plain_rows_bytes) {
    float result[RIG_T * RIG_N], plain[RIG_T * RIG_N];
    seen s;
    begin(NULL, NULL);
    make(NULL, &s, result);
    cr_expect(strstr(s.chosen, "linear/tiled:"), "%s", s.chosen);
    make("linear=plain", &s, plain);
    cr_expect(strstr(s.chosen, "linear/plain:"), "%s", s.chosen);
    cr_expect_eq(memcmp(result, plain, sizeof plain), 0);
    rig_end(&r);
}

/* Each limit refuses the tiled variant with a message, and the plain variant serves. */
static void refused(const char *name, const char *value, const char *fragment) {
    float result[RIG_T * RIG_N];
    seen s;
    begin(name, value);
    make(NULL, &s, result);
    cr_expect(strstr(s.chosen, "linear/plain:"), "%s=%s: %s", name, value, s.chosen);
    cr_expect(strstr(s.tiled, fragment), "%s=%s: \"%s\"", name, value, s.tiled);
    rig_end(&r);
}

Test(opencl_gpu, little_local_memory) {
    refused("TSR_GPU_LOCAL", "4096", "of local memory; the device has 64 and 4096");
}

Test(opencl_gpu, small_work_groups) {
    refused("TSR_GPU_GROUP", "32", "needs work-groups of 64 and ");
}

Test(opencl_gpu, a_kernel_that_the_compiler_gives_smaller_groups) {
    refused("TSR_GPU_KERNEL_GROUP", "48", "the device allows 48 for this kernel");
}

/* ---- many work-groups ---- */

/* A tensor with a buffer of its own, which holds these values. */
static tsr_tensor holding(uint32_t rank, int64_t rows, int64_t columns, const float *values) {
    const uint64_t bytes = (uint64_t)(rows * columns) * sizeof *values;
    const tsr_buffer_spec spec = {.struct_size = sizeof spec, .bytes = bytes};
    tsr_tensor t = {.struct_size = sizeof t, .dtype = TSR_F32, .rank = rank};
    t.dim[0] = tsri_tensor_const(rank > 1 ? rows : columns);
    t.dim[1] = tsri_tensor_const(rank > 1 ? columns : 0);
    tsri_tensor_pack(&t);
    cr_assert_eq(r.backend->buffer_create(r.dev, &spec, &t.buf), TSR_OK, "%s", r.sentence);
    rig_transfer(&r, TSR_TRANSFER_WRITE, t.buf, values, bytes);
    return t;
}

/* A norm has a work-group for each row, along the second axis. The layer refuses more than 65,535 there,
 * and the option says that as much work as this is one launch. */
Test(opencl_gpu, more_rows_than_a_launch_may_have_groups) {
    enum { ROWS = 70000, C = 4 };
    static const tsr_norm_attrs attrs = {.struct_size = sizeof attrs, .eps = 1e-6f};
    static const tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 1, 1, 1, 1}};
    static const tsr_run once = {.struct_size = sizeof once, .sizes = {1, 1, 1, 1, 1}};
    static float given[ROWS][C], result[ROWS][C];
    const float ones[C] = {1, 1, 1, 1};
    int32_t sizes[TSR_SYMBOL_SETS];
    tsr_plan *plan = NULL;
    begin_with("launch_limit", "1000000000000");
    for (int i = 0; i < ROWS; i++)
        given[i][i % C] = i % 2 ? -3 : 3; /* normed: 2 of its sign, as the mean square is 9/4 */
    const tsr_tensor x = holding(2, ROWS, C, &given[0][0]), y = holding(2, ROWS, C, &result[0][0]),
                     weight = holding(1, 1, C, ones);
    const tsr_tensor *in[] = {&x, &weight}, *out[] = {&y};
    const tsr_op op = {.struct_size = sizeof op,
                       .id = TSR_OP_RMS_NORM,
                       .n_in = 2,
                       .n_out = 1,
                       .in = in,
                       .out = out,
                       .attrs = &attrs,
                       .bounds = &bounds};
    const tsr_op *const ops[] = {&op};
    const tsr_buffer_spec table = {.struct_size = sizeof table, .bytes = sizeof sizes};
    tsr_plan_spec spec = {.struct_size = sizeof spec, .n_ops = 1, .ops = ops, .bounds = &bounds};
    seen s = {0};
    cr_assert_eq(r.backend->buffer_create(r.dev, &table, &spec.dims), TSR_OK, "%s", r.sentence);
    tsri_tensor_dims_table(once.sizes, sizes);
    rig_transfer(&r, TSR_TRANSFER_WRITE, spec.dims, sizes, sizeof sizes);
    cr_assert_eq(r.backend->plan_create(r.dev, &spec, &plan), TSR_OK, "%s", r.sentence);
    cr_assert_eq(r.backend->plan_explain(plan, 0, see, &s), TSR_OK);
    cr_expect(strstr(s.chosen, "group"), "%s has no work-group for each row", s.chosen);
    cr_assert_eq(r.backend->plan_run(plan, &once, NULL, NULL), TSR_OK, "%s", r.sentence);
    rig_transfer(&r, TSR_TRANSFER_READ, y.buf, result, sizeof result);
    for (int i = 0; i < ROWS; i++)
        for (int c = 0; c < C; c++)
            cr_assert_float_eq(result[i][c], given[i][c] * 2 / 3, 1e-5f, "row %d", i);
    r.backend->plan_destroy(plan);
    tsr_buf *const buffers[] = {x.buf, y.buf, weight.buf, spec.dims};
    for (int i = 0; i < 4; i++)
        r.backend->buffer_destroy(buffers[i]);
    rig_end(&r);
}

/* ---- peaks ---- */

static tsr_status measure(uint32_t peak, double *value) {
    const tsr_backend_peaks *peaks = r.backend->extension(r.state, "tsr.peaks/1");
    cr_assert(peaks);
    return peaks->measure(r.dev, peak, 1, value);
}

/* It is emulated, so only that there is a rate can be checked. */
Test(opencl_gpu, the_peak_of_a_matrix_unit) {
    static const uint32_t all[] = {TSR_PEAK_MATRIX_F16, TSR_PEAK_MATRIX_BF16, TSR_PEAK_MATRIX_INT8};
    double value = 0;
    begin("TSR_GPU_UNIT", "mma");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        cr_expect_eq(measure(all[i], &value), TSR_OK, "%s", r.sentence);
        cr_expect(value > 1e6, "peak %u: %g", all[i], value);
    }
    cr_expect(strstr(r.log, "probe/mma.cl") && !strstr(r.log, "without those that read operands"),
              "its own reads are wrong: %s", r.log);
    rig_end(&r);
}

Test(opencl_gpu, no_matrix_unit_is_told) {
    double value = 0;
    begin(NULL, NULL);
    cr_expect_eq(measure(TSR_PEAK_MATRIX_F16, &value), TSR_E_UNSUPPORTED);
    cr_expect(strstr(r.sentence, "has none of the matrix units"), "%s", r.sentence);
    rig_end(&r);
}

/* The launches of a kernel in what the layer has written so far. */
static int launches_of(const char *path, const char *kernel) {
    char line[256];
    int n = 0;
    fflush(NULL);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    while (fgets(line, sizeof line, file))
        n += !strncmp(line, kernel, strlen(kernel)) && line[strlen(kernel)] == ' ';
    fclose(file);
    return n;
}

/* 1 MiB is read or written in less than what a launch and the wait for it cost, so that one launch says
 * little: more of them run in a row. */
Test(opencl_gpu, the_peak_of_memory_is_that_of_many_launches) {
    static const struct {
        uint32_t peak;
        const char *kernel;
    } all[] = {{TSR_PEAK_READ, "peak_read"}, {TSR_PEAK_WRITE, "peak_write"}};
    static const char profile[] = "units 2\nlargest_buffer_mib 1\n"
                                  "extensions cl_khr_byte_addressable_store\n";
    char said[] = "/tmp/tessera-profile-XXXXXX", noted[] = "/tmp/tessera-launches-XXXXXX";
    const int file = mkstemp(said), lines = mkstemp(noted);
    double value = 0;
    cr_assert(file >= 0 && lines >= 0);
    cr_assert_eq(write(file, profile, sizeof profile - 1), (ssize_t)sizeof profile - 1);
    close(file);
    close(lines);
    setenv("TSR_GPU_PROFILE", said, 1);
    begin("TSR_GPU_LAUNCHES", noted);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        cr_expect_eq(measure(all[i].peak, &value), TSR_OK, "%s", r.sentence);
        cr_expect(value > 1e6, "%s: %g", all[i].kernel, value);
        cr_expect_gt(launches_of(noted, all[i].kernel), 8, "%s: %d launches", all[i].kernel,
                     launches_of(noted, all[i].kernel));
    }
    rig_end(&r);
    unlink(said);
    unlink(noted);
}
