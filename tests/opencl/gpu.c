/* What a GPU gets, on a device that a layer makes look like a small GPU (32 KiB of local memory,
 * work-groups of 64, no extensions), and what happens when it has even less. */
#include "opencl/rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char pocl[] = "Portable Computing Language";
static rig r;

static void begin(const char *name, const char *value) {
    setenv("OPENCL_LAYERS", GPU_LAYER, 1);
    if (name)
        setenv(name, value, 1);
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    tsr_facts facts = {.struct_size = sizeof facts};
    cr_assert_eq(r.backend->device_facts(r.state, 0, &facts), TSR_OK);
    cr_assert_eq(facts.type, TSR_DEVICE_GPU, "the OpenCL loader ignores OPENCL_LAYERS");
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
