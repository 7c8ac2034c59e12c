/* With the counting layer below the plugin: which calls a run makes, and what happens when a call
 * fails. */
#include "backends/opencl/driver/cache.h"
#include "opencl/rig.h"
#include "support/cases.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long (*calls)(const char *);
static void (*fail)(const char *, long, int, bool);
static void (*hang)(bool);
static long (*alive)(void);
static long (*early)(void);
static bool (*unfinished)(void);
static rig r;

static void begin_with(const char *name, const char *value) {
    setenv("OPENCL_LAYERS", COUNT_LAYER, 1);
    rig_begin(&r, name, value);
    rig_open(&r, "Portable Computing Language", false);
    void *layer = dlopen(COUNT_LAYER, RTLD_NOW | RTLD_NOLOAD);
    cr_assert_not_null(layer, "the OpenCL loader ignores OPENCL_LAYERS");
    *(void **)&calls = dlsym(layer, "count_calls");
    *(void **)&fail = dlsym(layer, "count_fail");
    *(void **)&hang = dlsym(layer, "count_hang");
    *(void **)&alive = dlsym(layer, "count_alive");
    *(void **)&early = dlsym(layer, "count_early");
    *(void **)&unfinished = dlsym(layer, "count_unfinished");
    cr_assert(calls && fail && hang && alive && early && unfinished);
    cr_assert_eq(calls("clCreateContext"), 1, "the layer is below the plugin");
}

static void begin(void) {
    begin_with(NULL, NULL);
}

TestSuite(opencl_layer, .init = begin);

Test(opencl_limited, the_option_threads_takes_a_part_of_the_device) {
    rig_linear linear;
    setenv("POCL_MAX_PTHREAD_COUNT", "2", 1); /* the machine may have one core */
    begin_with("threads", "1");
    cr_expect_eq(calls("clCreateSubDevices"), 1);
    cr_assert_eq(rig_linear_make(&r, r.dev, NULL, &linear), TSR_OK, "%s", r.sentence);
    cr_assert_eq(rig_linear_run(&r, r.dev, &linear), TSR_OK, "%s", r.sentence);
    cr_expect_eq(rig_linear_error(&linear), 0.0);
    cr_expect_null(strstr(r.log, "can't be limited"), "%s", r.log);
    rig_linear_free(&r, &linear);
    rig_end(&r);
    cr_expect_eq(alive(), 0);
}

Test(opencl_layer, a_run_makes_and_sets_nothing) {
    static const char *const forbidden[] = {"clCreateBuffer", "clCreateKernel",
                                            "clSetKernelArg", "clCreateProgramWithSource",
                                            "clBuildProgram", "clFinish"};
    long before[6];
    rig_linear linear;
    cr_assert_eq(rig_linear_make(&r, r.dev, NULL, &linear), TSR_OK, "%s", r.sentence);
    cr_assert_eq(rig_linear_run(&r, r.dev, &linear), TSR_OK);
    for (int i = 0; i < 6; i++)
        before[i] = calls(forbidden[i]);
    const long launches = calls("clEnqueueNDRangeKernel"), flushes = calls("clFlush");
    for (int i = 0; i < 10; i++)
        cr_assert_eq(rig_linear_run(&r, r.dev, &linear), TSR_OK);
    for (int i = 0; i < 6; i++)
        cr_expect_eq(calls(forbidden[i]), before[i], "%s", forbidden[i]);
    cr_expect_eq(calls("clEnqueueNDRangeKernel"), launches + 10);
    cr_expect_eq(calls("clFlush"), flushes + 10, "one flush for each run");
    rig_linear_free(&r, &linear);
    rig_end(&r);
    cr_expect_eq(alive(), 0);
}

/* Opens, uses and closes the device with the nth call failing, for rising n, until no nth call is
 * made. After a failure no work may be in flight: the caller frees what it gave. */
static void fail_each(const char *name, int code, bool after) {
    const char *when = after ? "after it is made" : "before it is made";
    const long step = cases_wanted() == TEST_ALL ? 1 : 4;
    bool reached = true;
    for (long n = 1; reached && n < 200; n += n < 4 ? 1 : step) {
        rig_linear linear = {0};
        tsr_dev *dev = NULL;
        r.sentence[0] = 0;
        const long before = calls(name);
        fail(name, n, code, after);
        tsr_status status = rig_open_index(&r, 0, false, &dev);
        if (status == TSR_OK)
            status = rig_linear_make(&r, dev, NULL, &linear);
        if (status == TSR_OK)
            status = rig_linear_run(&r, dev, &linear);
        reached = calls(name) - before >= n;
        fail(name, 0, 0, false);
        if (status != TSR_OK) {
            cr_expect_neq(r.sentence[0], 0, "%s %ld %s: status %d without a message", name, n, when,
                          status);
            cr_expect_neq(status, TSR_E_INTERNAL,
                          "%s %ld %s is reported as an internal error: \"%s\"", name, n, when,
                          r.sentence);
            cr_expect_not(unfinished(), "%s %ld %s: \"%s\", and work is still in flight", name, n,
                          when, r.sentence);
        } else
            cr_expect_eq(rig_linear_error(&linear), 0.0,
                         "%s %ld %s: a wrong result without a failure", name, n, when);
        rig_linear_free(&r, &linear);
        r.backend->device_close(dev);
    }
    cr_expect_not(reached, "%s is called more often than any run should", name);
    cr_expect_eq(early(), 0, "%s: %ld buffers were released with work in flight", name, early());
}

static const char *const fallible[] = {"clCreateContext",
                                       "clCreateCommandQueue",
                                       "clCreateBuffer",
                                       "clRetainMemObject",
                                       "clCreateKernel",
                                       "clSetKernelArg",
                                       "clGetKernelInfo",
                                       "clGetKernelWorkGroupInfo",
                                       "clEnqueueNDRangeKernel",
                                       "clEnqueueWriteBuffer",
                                       "clEnqueueReadBuffer",
                                       "clCreateProgramWithSource",
                                       "clBuildProgram",
                                       "clFlush",
                                       "clFinish",
                                       "clWaitForEvents"};

/* Tries codes that lose the device (-5, -14), codes that a creator may answer (-4, -6), and
 * others. */
static void fail_all(void) {
    static const int codes[] = {-4, -5, -6, -14, -59};
    for (size_t i = 0; i < sizeof fallible / sizeof *fallible; i++)
        for (int after = 0; after < 2; after++)
            fail_each(fallible[i], codes[(2 * i + (size_t)after) % 5], after);
    rig_end(&r);
    cr_expect_eq(alive(), 0, "%ld objects are left", alive());
}

Test(opencl_layer, every_failing_call_is_a_sentence_and_no_leak) {
    fail_all();
}

/* A chain's kernel gets no buffers as arguments, so no driver keeps them alive for it. */
Test(opencl_chained, every_failing_call_is_a_sentence_and_no_leak) {
    begin_with("chain", "1");
    fail_all();
}

Test(opencl_layer, a_lost_device_is_not_asked_again) {
    rig_linear linear;
    cr_assert_eq(rig_linear_make(&r, r.dev, NULL, &linear), TSR_OK, "%s", r.sentence);
    fail("clEnqueueNDRangeKernel", 1, -5, false);
    cr_expect_eq(rig_linear_run(&r, r.dev, &linear), TSR_E_DEVICE);
    cr_expect(strstr(r.sentence, "CL_OUT_OF_RESOURCES"), "%s", r.sentence);
    cr_expect(strstr(r.sentence, "; the device was lost: open it again"), "%s", r.sentence);
    const long launches = calls("clEnqueueNDRangeKernel"), writes = calls("clEnqueueWriteBuffer");
    cr_expect_eq(rig_linear_run(&r, r.dev, &linear), TSR_E_DEVICE);
    cr_expect(strstr(r.sentence, "was lost"), "%s", r.sentence);
    cr_expect_eq(calls("clEnqueueNDRangeKernel"), launches);
    cr_expect_eq(calls("clEnqueueWriteBuffer"), writes);
    rig_linear_free(&r, &linear);
    rig_end(&r);
    cr_expect_eq(alive(), 0);
}

static void see_chosen(void *data, const tsr_variant *variant) {
    if (variant->chosen)
        strncpy(data, variant->name, 127);
}

/* The variant that a newly opened device chooses where the next call of this name fails with the code. */
static void choose_with(const char *call, int code, char chosen[128]) {
    rig_linear linear;
    tsr_dev *dev = NULL;
    memset(chosen, 0, 128);
    cr_assert_eq(rig_open_index(&r, r.index, false, &dev), TSR_OK, "%s", r.sentence);
    if (call)
        fail(call, 1, code, false);
    const tsr_status status = rig_linear_make(&r, dev, NULL, &linear);
    if (status == TSR_E_BUILD)
        cr_skip_test("this device has only one variant: %s", r.sentence);
    cr_assert_eq(status, TSR_OK, "%s: %s", call, r.sentence);
    cr_assert_eq(rig_linear_run(&r, dev, &linear), TSR_OK, "%s: %s", call, r.sentence);
    cr_expect_eq(rig_linear_error(&linear), 0.0);
    cr_expect_eq(r.backend->plan_explain(linear.plan, 0, see_chosen, chosen), TSR_OK);
    rig_linear_free(&r, &linear);
    r.backend->device_close(dev);
}

/* Drivers answer with this code where a kernel is too much for the device. The verdict is not kept, so
 * the last device, where no call fails, has the best variant. */
Test(opencl_layer, a_kernel_that_is_too_much_gives_way_to_another) {
    static const char *const named[] = {"clBuildProgram", "clCreateKernel",
                                        "clEnqueueNDRangeKernel", NULL};
    char chosen[4][128];
    for (int i = 0; i < 4; i++)
        choose_with(named[i], -5, chosen[i]);
    for (int i = 0; i < 3; i++)
        cr_expect_str_neq(chosen[i], chosen[3], "%s", named[i]);
    rig_end(&r);
    cr_expect_eq(alive(), 0);
}

/* What the compiler refuses is not built anew: the second device, where no call fails, has the same
 * variant, and makes its program alone. */
Test(opencl_layer, a_build_that_failed_is_remembered) {
    enum { BUILD_FAILURE = -11 };
    char chosen[2][128];
    long builds[3] = {calls("clBuildProgram")};
    for (int start = 0; start < 2; start++) {
        choose_with(start ? NULL : "clBuildProgram", BUILD_FAILURE, chosen[start]);
        builds[start + 1] = calls("clBuildProgram");
    }
    cr_expect_str_eq(chosen[0], chosen[1]);
    cr_expect_eq(builds[2] - builds[1], builds[1] - builds[0] - 1, "%ld, then %ld",
                 builds[1] - builds[0], builds[2] - builds[1]);
    cr_expect(strstr(r.log, "does not build"), "%s", r.log);
    rig_end(&r);
    cr_expect_eq(alive(), 0);
}

/* Opens a device on which the first self-test fails when it is waited for; `lost` gets the name of
 * its kernel. */
static void lose_in_self_test(int code, char lost[128]) {
    rig_linear linear;
    tsr_dev *dev = NULL;
    cr_assert_eq(rig_open_index(&r, r.index, false, &dev), TSR_OK, "%s", r.sentence);
    fail("clFinish", 1, code, true);
    cr_expect_eq(rig_linear_make(&r, dev, NULL, &linear), TSR_E_DEVICE, "%s", r.sentence);
    const char *named = strstr(r.sentence, "the self-test of linear/");
    cr_assert(named && sscanf(named, "the self-test of %127[^ ]", lost) == 1, "%s", r.sentence);
    lost[strlen(lost) - 1] = 0; /* the colon behind the name */
    rig_linear_free(&r, &linear);
    r.backend->device_close(dev);
}

/* Ends the time for which verdicts in the cache hold; returns how many there were. */
static int end_verdicts(void) {
    const tsr_state state = {.host = &r.host};
    char folder[160];
    int n = 0;
    snprintf(folder, sizeof folder, "%s/opencl", r.cache);
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        tsri_opencl_key key;
        tsri_bytes text = {0};
        bool found = false;
        if (!strstr(entry->d_name, ".test"))
            continue;
        for (int i = 0; i < 32; i++)
            cr_assert_eq(sscanf(entry->d_name + 2 * i, "%2hhx", &key.digest[i]), 1);
        cr_assert_eq(tsri_opencl_cache_load(&state, &key, "test", &text, &found), TSR_OK);
        char *until = found && text.data ? strstr(text.data, " until ") : NULL;
        if (until && until[7] != '0') {
            memset(until + 7, '0', strspn(until + 7, "0123456789"));
            tsri_opencl_cache_save(&state, &key, "test", text.data, text.size);
            n++;
        }
        tsri_base_bytes_clear(&text);
    }
    if (dir)
        closedir(dir);
    return n;
}

/* Drivers of GPUs report a kernel's failure when they are waited for. The second start does without
 * the kernel; the last one, after the verdict's day, tests it anew. */
Test(opencl_layer, a_kernel_that_loses_the_device_in_its_self_test_gives_way_for_a_day) {
    char lost[128], chosen[128];
    lose_in_self_test(-5, lost);
    choose_with(NULL, 0, chosen);
    cr_expect_str_neq(chosen, lost);
    cr_expect(
        strstr(r.log, "lost the device in an earlier run (clFinish: CL_OUT_OF_RESOURCES (-5))"),
        "%s", r.log);
    cr_expect_eq(end_verdicts(), 1);
    choose_with(NULL, 0, chosen);
    cr_expect_str_eq(chosen, lost);
    rig_end(&r);
    cr_expect_eq(alive(), 0);
}

/* A plan of sums of rows, whose partial sums lie in scratch memory. */
static tsr_status plan_sums(tsr_dev *dev, tsr_buf *room, tsr_plan **plan) {
    static const tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 1, 1, 1, 1}};
    tsr_tensor x = {.struct_size = sizeof x, .dtype = TSR_F32, .rank = 2, .buf = room}, y = x;
    x.dim[0] = tsri_tensor_const(100);
    x.dim[1] = y.dim[0] = tsri_tensor_const(16);
    y.rank = 1;
    tsri_tensor_pack(&x);
    tsri_tensor_pack(&y);
    const tsr_tensor *in[] = {&x}, *out[] = {&y};
    const tsr_op op = {.struct_size = sizeof op,
                       .id = TSR_OP_SUM_ROWS,
                       .n_in = 1,
                       .n_out = 1,
                       .in = in,
                       .out = out,
                       .bounds = &bounds};
    const tsr_op *const ops[] = {&op};
    const tsr_plan_spec spec = {
        .struct_size = sizeof spec, .n_ops = 1, .ops = ops, .bounds = &bounds, .dims = room};
    return r.backend->plan_create(dev, &spec, plan);
}

/* Drivers that allocate at first use. The first device tests the kernels; the second one only makes
 * the plan, and its scratch. */
Test(opencl_layer, scratch_that_can_not_be_had_is_told_when_a_plan_is_made) {
    const tsr_buffer_spec spec = {.struct_size = sizeof spec, .bytes = sizeof(float) * 100 * 16};
    for (int start = 0; start < 2; start++) {
        tsr_dev *dev = NULL;
        tsr_buf *room = NULL;
        tsr_plan *plan = NULL;
        cr_assert_eq(rig_open_index(&r, r.index, false, &dev), TSR_OK, "%s", r.sentence);
        cr_assert_eq(r.backend->buffer_create(dev, &spec, &room), TSR_OK, "%s", r.sentence);
        if (start) {
            fail("clEnqueueWriteBuffer", 1, -4, false);
            cr_expect_eq(plan_sums(dev, room, &plan), TSR_E_DEVICE_MEMORY, "%s", r.sentence);
            cr_expect(strstr(r.sentence, "the first use of scratch memory: CL_MEM_OBJECT"), "%s",
                      r.sentence);
        }
        cr_expect_eq(plan_sums(dev, room, &plan), TSR_OK, "%s", r.sentence);
        r.backend->plan_destroy(plan);
        r.backend->buffer_destroy(room);
        r.backend->device_close(dev);
    }
    rig_end(&r);
    cr_expect_eq(alive(), 0);
}

Test(opencl_layer, a_buffer_is_released_when_its_writes_have_ended) {
    static const char zeros[256];
    const tsr_buffer_spec spec = {.struct_size = sizeof spec, .bytes = sizeof zeros};
    tsr_buf *buf = NULL;
    cr_assert_eq(r.backend->buffer_create(r.dev, &spec, &buf), TSR_OK, "%s", r.sentence);
    const tsr_transfer write = {.struct_size = sizeof write,
                                .kind = TSR_TRANSFER_WRITE,
                                .dst = buf,
                                .bytes = sizeof zeros,
                                .host = (void *)zeros};
    cr_assert_eq(r.backend->transfer(r.dev, &write, NULL, NULL), TSR_OK, "%s", r.sentence);
    cr_expect(unfinished());
    r.backend->buffer_destroy(buf);
    cr_expect_eq(early(), 0);
    rig_end(&r);
}

/* A server continues with another device, or with the same one opened anew. */
Test(opencl_layer, another_device_works_after_a_loss) {
    rig_linear linear, other;
    tsr_dev *dev = NULL;
    cr_assert_eq(rig_linear_make(&r, r.dev, NULL, &linear), TSR_OK, "%s", r.sentence);
    fail("clEnqueueReadBuffer", 1, -5, false);
    cr_expect_eq(rig_linear_run(&r, r.dev, &linear), TSR_E_DEVICE);
    cr_assert_eq(rig_open_index(&r, 0, false, &dev), TSR_OK, "%s", r.sentence);
    cr_assert_eq(rig_linear_make(&r, dev, NULL, &other), TSR_OK, "%s", r.sentence);
    for (int again = 0; again < 2; again++) {
        cr_expect_eq(rig_linear_run(&r, dev, &other), TSR_OK, "%s", r.sentence);
        cr_expect_eq(rig_linear_error(&other), 0.0);
        if (again)
            break;
        rig_linear_free(&r, &linear);
        r.backend->device_close(r.dev);
    }
    rig_linear_free(&r, &other);
    r.dev = dev;
    rig_end(&r);
    cr_expect_eq(alive(), 0);
    cr_expect_eq(early(), 0);
}

/* Memory that a driver may still write to is not released; the caller does not wait any longer. */
Test(opencl_stuck, a_device_that_never_rests_is_left_alone) {
    rig_linear linear, other;
    tsr_dev *dev = NULL;
    begin_with("rest_ms", "300");
    cr_assert_eq(rig_linear_make(&r, r.dev, NULL, &linear), TSR_OK, "%s", r.sentence);
    cr_assert_eq(rig_open_index(&r, 0, false, &dev), TSR_OK, "%s", r.sentence);
    cr_assert_eq(rig_linear_make(&r, dev, NULL, &other), TSR_OK, "%s", r.sentence);
    fail("clEnqueueReadBuffer", 1, -5, false);
    hang(true);
    cr_expect_eq(rig_linear_run(&r, r.dev, &linear), TSR_E_DEVICE);
    cr_expect(strstr(r.sentence, "did not end within 0.3 s"), "%s", r.sentence);
    cr_expect_eq(rig_linear_run(&r, r.dev, &linear), TSR_E_DEVICE);
    const long left = alive();
    rig_linear_free(&r, &linear);
    r.backend->device_close(r.dev);
    cr_expect_eq(alive(), left, "its objects are left to the driver");
    hang(false);
    cr_expect_eq(rig_linear_run(&r, dev, &other), TSR_OK, "%s", r.sentence);
    cr_expect_eq(rig_linear_error(&other), 0.0);
    rig_linear_free(&r, &other);
    r.dev = dev;
    rig_end(&r);
}
