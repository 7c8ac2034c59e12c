/* Plans through the backend's table: forced variants, two devices, splitting, bad arguments. */
#include "opencl/rig.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char pocl[] = "Portable Computing Language";

Test(opencl_plans, forced_rows_that_cannot_be) {
    static const struct {
        const char *kernels, *fragment;
        tsr_status status;
    } table[] = {
        {"linear", "\"linear\" is not of the form op=variant", TSR_E_ARGUMENT},
        {"linear=", "is not of the form op=variant", TSR_E_ARGUMENT},
        {"=plain", "is not of the form op=variant", TSR_E_ARGUMENT},
        {"lineal=plain", "lineal is not an op; kernel variants can be forced for matmul, linear",
         TSR_E_ARGUMENT},
        {"linear=fastest", "linear has no kernel variant fastest; it has", TSR_E_ARGUMENT},
        {"linear=plain,linear=packed", "linear is forced twice", TSR_E_ARGUMENT},
        {"linear=packed_one",
         "the forced kernel variant can't be used (packed_one: ", TSR_E_ARGUMENT},
    };
    rig r;
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rig_linear linear;
        cr_expect_eq(rig_linear_make(&r, r.dev, table[i].kernels, &linear), table[i].status, "%s",
                     table[i].kernels);
        cr_expect(strstr(r.sentence, table[i].fragment), "%s: \"%s\"", table[i].kernels,
                  r.sentence);
        rig_linear_free(&r, &linear);
    }
    rig_end(&r);
}

typedef struct seen {
    int chosen;
    char name[128];
} seen;

static void see(void *data, const tsr_variant *variant) {
    seen *s = data;
    s->chosen += variant->chosen != 0;
    if (variant->chosen)
        strncpy(s->name, variant->name, sizeof s->name - 1);
    cr_expect(variant->fits || variant->why[0], "%s says why not", variant->name);
}

Test(opencl_plans, forced_rows_run_and_agree) {
    static const char *const kernels[] = {NULL, "linear=plain", "matmul=plain", "linear=packed"};
    float first[RIG_T * RIG_N];
    rig r;
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        rig_linear linear;
        seen s = {0};
        const tsr_status status = rig_linear_make(&r, r.dev, kernels[i], &linear);
        if (status == TSR_E_ARGUMENT && kernels[i] && strstr(kernels[i], "packed")) {
            rig_linear_free(&r, &linear); /* the variant is made for CPUs */
            continue;
        }
        cr_assert_eq(status, TSR_OK, "%s", r.sentence);
        cr_assert_eq(rig_linear_run(&r, r.dev, &linear), TSR_OK, "%s", r.sentence);
        cr_expect_eq(rig_linear_error(&linear), 0.0);
        cr_expect_eq(r.backend->plan_explain(linear.plan, 0, see, &s), TSR_OK);
        cr_expect_eq(s.chosen, 1);
        cr_expect(!kernels[i] || strstr(s.name, strchr(kernels[i], '=') + 1), "%s for %s", s.name,
                  kernels[i]);
        if (i)
            cr_expect_arr_eq(first, linear.result, sizeof first);
        memcpy(first, linear.result, sizeof first);
        rig_linear_free(&r, &linear);
    }
    rig_end(&r);
}

static void count_launches(void *data, const tsr_profile_entry *entry) {
    *(uint64_t *)data += entry->launches;
}

Test(opencl_plans, long_launches_are_split) {
    rig whole, split;
    rig_linear a, b;
    uint64_t launches = 0;
    rig_begin(&whole, NULL, NULL);
    rig_open(&whole, pocl, false);
    rig_begin(&split, "launch_limit", "5000");
    rig_open(&split, pocl, true);
    for (int i = 0; i < 2; i++) {
        const char *kernels = i ? "linear=plain" : NULL;
        cr_assert_eq(rig_linear_make(&whole, whole.dev, kernels, &a), TSR_OK, "%s", split.sentence);
        cr_assert_eq(rig_linear_make(&split, split.dev, kernels, &b), TSR_OK, "%s", split.sentence);
        cr_assert_eq(rig_linear_run(&whole, whole.dev, &a), TSR_OK);
        cr_assert_eq(rig_linear_run(&split, split.dev, &b), TSR_OK);
        cr_expect_arr_eq(a.result, b.result, sizeof a.result);
        cr_expect_eq(rig_linear_error(&b), 0.0);
        launches = 0;
        cr_expect_eq(split.backend->plan_profile(b.plan, count_launches, &launches), TSR_OK);
        cr_expect_gt(launches, 1);
        rig_linear_free(&whole, &a);
        rig_linear_free(&split, &b);
    }
    rig_end(&split);
    rig_end(&whole);
}

/* A chain of one op gives the same bytes as a launch, too, run after run. */
Test(opencl_plans, a_chain_gives_what_launches_give) {
    static const char *const kernels[] = {NULL, "linear=plain", "linear=packed"};
    rig apart, chained;
    rig_linear a, b;
    rig_begin(&apart, "chain", "0");
    rig_open(&apart, pocl, false);
    rig_begin(&chained, "chain", "1");
    rig_open(&chained, pocl, false);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (rig_linear_make(&apart, apart.dev, kernels[i], &a) != TSR_OK) {
            rig_linear_free(&apart, &a); /* the variant is made for CPUs */
            continue;
        }
        cr_assert_eq(rig_linear_make(&chained, chained.dev, kernels[i], &b), TSR_OK, "%s",
                     chained.sentence);
        cr_assert_eq(rig_linear_run(&apart, apart.dev, &a), TSR_OK);
        for (int run = 0; run < 200; run++) {
            cr_assert_eq(rig_linear_run(&chained, chained.dev, &b), TSR_OK);
            cr_assert_arr_eq(a.result, b.result, sizeof a.result, "run %d", run);
        }
        rig_linear_free(&apart, &a);
        rig_linear_free(&chained, &b);
    }
    rig_end(&chained);
    rig_end(&apart);
}

Test(opencl_plans, two_devices_at_once) {
    rig r;
    rig_linear a, b;
    tsr_dev *second = NULL;
    uint32_t n = 0;
    setenv("POCL_DEVICES", "basic pthread", 1);
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    cr_assert_eq(r.backend->device_count(r.state, &n), TSR_OK);
    cr_assert_geq(n, 2);
    cr_assert_eq(rig_open_index(&r, 1, false, &second), TSR_OK, "%s", r.sentence);
    cr_assert_eq(rig_linear_make(&r, r.dev, NULL, &a), TSR_OK, "%s", r.sentence);
    cr_assert_eq(rig_linear_make(&r, second, NULL, &b), TSR_OK, "%s", r.sentence);
    cr_assert_eq(rig_linear_run(&r, r.dev, &a), TSR_OK);
    cr_assert_eq(rig_linear_run(&r, second, &b), TSR_OK);
    cr_expect_arr_eq(a.result, b.result, sizeof a.result);
    rig_linear_free(&r, &a);
    rig_linear_free(&r, &b);
    r.backend->device_close(second);
    rig_end(&r);
}

/* Kernels count elements from the start of a buffer, in 32 bits, and activations lie behind each other in
 * one: this operand begins at an element that an int counts, and ends at one that it does not. */
Test(opencl_plans, an_operand_that_ends_too_far_into_its_buffer_is_refused) {
    enum { N = 4096 };
    static const tsr_scale_attrs twice = {.struct_size = sizeof twice, .alpha = 2};
    static const tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 1, 1, 1, 1}};
    const tsr_buffer_spec room = {.struct_size = sizeof room, .bytes = N * sizeof(float)};
    tsr_tensor near = {.struct_size = sizeof near, .dtype = TSR_F32, .rank = 1}, far;
    rig r;
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    cr_assert_eq(r.backend->buffer_create(r.dev, &room, &near.buf), TSR_OK, "%s", r.sentence);
    near.dim[0] = tsri_tensor_const(N);
    tsri_tensor_pack(&near);
    far = near;
    far.origin = sizeof(float) * (uint64_t)(INT32_MAX - 100);
    for (int which = 0; which < 3; which++) { /* neither operand is far, x is, y is */
        const tsr_tensor *in[] = {which == 1 ? &far : &near}, *out[] = {which == 2 ? &far : &near};
        const tsr_op op = {.struct_size = sizeof op,
                           .id = TSR_OP_SCALE,
                           .n_in = 1,
                           .n_out = 1,
                           .in = in,
                           .out = out,
                           .attrs = &twice,
                           .bounds = &bounds};
        const tsr_op *const ops[] = {&op};
        const tsr_plan_spec spec = {.struct_size = sizeof spec,
                                    .n_ops = 1,
                                    .ops = ops,
                                    .bounds = &bounds,
                                    .dims = near.buf};
        tsr_plan *plan = NULL;
        r.sentence[0] = 0;
        cr_expect_eq(r.backend->plan_create(r.dev, &spec, &plan),
                     which ? TSR_E_UNSUPPORTED : TSR_OK, "operand %d: %s", which, r.sentence);
        cr_expect(!which || strstr(r.sentence, "the kernel counts in 32 bits"), "%s", r.sentence);
        r.backend->plan_destroy(plan);
    }
    r.backend->buffer_destroy(near.buf);
    rig_end(&r);
}

Test(opencl_plans, bad_ranges_and_sizes_are_refused) {
    rig r;
    rig_linear linear;
    tsr_buf *buf = NULL;
    char bytes[64];
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    cr_assert_eq(rig_linear_make(&r, r.dev, NULL, &linear), TSR_OK, "%s", r.sentence);

    tsr_transfer transfer = {.struct_size = sizeof transfer,
                             .kind = TSR_TRANSFER_READ,
                             .src = linear.bias,
                             .src_offset = sizeof(float) * RIG_N - 8,
                             .bytes = 16,
                             .host = bytes};
    cr_expect_eq(r.backend->transfer(r.dev, &transfer, NULL, NULL), TSR_E_ARGUMENT);
    cr_expect(strstr(r.sentence, "leaves its buffer of 280 bytes"), "%s", r.sentence);
    transfer.src_offset = UINT64_MAX - 3;
    cr_expect_eq(r.backend->transfer(r.dev, &transfer, NULL, NULL), TSR_E_ARGUMENT);

    tsr_buffer_spec spec = {.struct_size = sizeof spec};
    cr_expect_eq(r.backend->buffer_create(r.dev, &spec, &buf), TSR_E_ARGUMENT);
    spec.bytes = UINT64_MAX / 2;
    cr_expect_eq(r.backend->buffer_create(r.dev, &spec, &buf), TSR_E_DEVICE_MEMORY);
    cr_expect(strstr(r.sentence, "in one buffer"), "%s", r.sentence);

    const tsr_run run = {.struct_size = sizeof run, .sizes = {1, RIG_T + 1, 1, 1, 1}};
    cr_expect_eq(r.backend->plan_run(linear.plan, &run, NULL, NULL), TSR_E_ARGUMENT);
    cr_expect(strstr(r.sentence, "T = 10; the plan serves 0 to 9"), "%s", r.sentence);

    struct {
        tsr_buffer_spec spec;
        uint64_t newer;
    } future = {{.struct_size = sizeof future, .bytes = 64}, 1};
    cr_expect_eq(r.backend->buffer_create(r.dev, &future.spec, &buf), TSR_E_UNSUPPORTED);
    cr_expect(strstr(r.sentence, "newer field"), "%s", r.sentence);
    rig_linear_free(&r, &linear);
    rig_end(&r);
}
