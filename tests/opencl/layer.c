/* With the counting layer below the plugin: what a run calls, and what happens when a call fails.
 */
#include "opencl/rig.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static long (*calls)(const char *);
static void (*fail)(const char *, long, int);
static long (*alive)(void);
static rig r;

static void begin_with(const char *name, const char *value) {
    setenv("OPENCL_LAYERS", COUNT_LAYER, 1);
    rig_begin(&r, name, value);
    rig_open(&r, "Portable Computing Language", false);
    void *layer = dlopen(COUNT_LAYER, RTLD_NOW | RTLD_NOLOAD);
    cr_assert_not_null(layer, "the OpenCL loader ignores OPENCL_LAYERS");
    *(void **)&calls = dlsym(layer, "count_calls");
    *(void **)&fail = dlsym(layer, "count_fail");
    *(void **)&alive = dlsym(layer, "count_alive");
    cr_assert(calls && fail && alive);
    cr_assert_eq(calls("clCreateContext"), 1, "the layer is below the plugin");
}

static void begin(void) {
    begin_with(NULL, NULL);
}

TestSuite(opencl_layer, .init = begin);

Test(opencl_limited, the_option_threads_takes_a_part_of_the_device) {
    rig_linear linear;
    setenv("POCL_MAX_PTHREAD_COUNT", "2", 1); /* a machine may have one core */
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
    cr_expect_eq(calls("clFlush"), flushes + 10, "one flush a run");
    rig_linear_free(&r, &linear);
    rig_end(&r);
    cr_expect_eq(alive(), 0);
}

/* The device is opened, used and closed with the nth call failing, until no nth call is made. */
static void fail_each(const char *name, int code) {
    bool reached = true;
    for (long n = 1; reached && n < 200; n++) {
        rig_linear linear = {0};
        tsr_dev *dev = NULL;
        r.sentence[0] = 0;
        const long before = calls(name);
        fail(name, n, code);
        tsr_status status = rig_open_index(&r, 0, false, &dev);
        if (status == TSR_OK)
            status = rig_linear_make(&r, dev, NULL, &linear);
        if (status == TSR_OK)
            status = rig_linear_run(&r, dev, &linear);
        reached = calls(name) - before >= n;
        fail(name, 0, 0);
        if (status != TSR_OK)
            cr_expect_neq(r.sentence[0], 0, "%s %ld: status %d with no sentence", name, n, status);
        else
            cr_expect_eq(rig_linear_error(&linear), 0.0, "%s %ld: a wrong result, and no failure",
                         name, n);
        rig_linear_free(&r, &linear);
        r.backend->device_close(dev);
    }
    cr_expect_not(reached, "%s is called without end", name);
}

Test(opencl_layer, every_failing_call_is_a_sentence_and_no_leak) {
    static const char *const names[] = {"clCreateContext",
                                        "clCreateCommandQueue",
                                        "clCreateBuffer",
                                        "clCreateKernel",
                                        "clSetKernelArg",
                                        "clEnqueueNDRangeKernel",
                                        "clEnqueueWriteBuffer",
                                        "clEnqueueReadBuffer",
                                        "clCreateProgramWithSource",
                                        "clBuildProgram",
                                        "clFlush",
                                        "clWaitForEvents"};
    static const int codes[] = {-4, -5, -6};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fail_each(names[i], codes[i % 3]);
    rig_end(&r);
    cr_expect_eq(alive(), 0, "%ld objects are left", alive());
}

Test(opencl_layer, a_lost_device_is_not_asked_again) {
    rig_linear linear;
    cr_assert_eq(rig_linear_make(&r, r.dev, NULL, &linear), TSR_OK, "%s", r.sentence);
    fail("clEnqueueNDRangeKernel", 1, -5);
    cr_expect_eq(rig_linear_run(&r, r.dev, &linear), TSR_E_DEVICE);
    cr_expect(strstr(r.sentence, "CL_OUT_OF_RESOURCES"), "%s", r.sentence);
    const long launches = calls("clEnqueueNDRangeKernel"), writes = calls("clEnqueueWriteBuffer");
    cr_expect_eq(rig_linear_run(&r, r.dev, &linear), TSR_E_DEVICE);
    cr_expect(strstr(r.sentence, "was lost"), "%s", r.sentence);
    cr_expect_eq(calls("clEnqueueNDRangeKernel"), launches);
    cr_expect_eq(calls("clEnqueueWriteBuffer"), writes);
    rig_linear_free(&r, &linear);
    rig_end(&r);
    cr_expect_eq(alive(), 0);
}
