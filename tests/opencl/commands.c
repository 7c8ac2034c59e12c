/* Runs by recorded command buffers: one call in place of many, with the bytes of single launches,
 * and single launches again wherever recording is not possible. */
#include "opencl/rig.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static long (*calls)(const char *);
static void (*fail)(const char *, long, int, bool);
static long (*alive)(void);
static rig r;

static void begin_with(const char *layers, const char *value) {
    setenv("OPENCL_LAYERS", layers, 1);
    setenv("TESSERA_CHAIN", "0", 1);
    rig_begin(&r, "commands", value);
    void *layer = dlopen(COUNT_LAYER, RTLD_NOW | RTLD_NOLOAD);
    cr_assert_not_null(layer, "the OpenCL loader ignores OPENCL_LAYERS");
    *(void **)&calls = dlsym(layer, "count_calls");
    *(void **)&fail = dlsym(layer, "count_fail");
    *(void **)&alive = dlsym(layer, "count_alive");
    cr_assert(calls && fail && alive);
}

static void begin_below(const char *layers) {
    begin_with(layers, "2");
    rig_open(&r, "Portable Computing Language", false);
    if (!calls("clGetExtensionFunctionAddressForPlatform"))
        cr_skip_test("the driver has no command buffers");
}

static void begin(void) {
    begin_below(COUNT_LAYER);
}

static void end(void) {
    rig_end(&r);
    cr_expect_eq(alive(), 0);
}

TestSuite(opencl_commands, .init = begin, .fini = end);

static void run(rig_linear *linear) {
    memset(linear->result, 0, sizeof linear->result);
    cr_assert_eq(rig_linear_run(&r, r.dev, linear), TSR_OK, "%s", r.sentence);
    cr_expect_eq(rig_linear_error(linear), 0.0);
}

static void make(rig_linear *linear, const char *kernels) {
    cr_assert_eq(rig_linear_make(&r, r.dev, kernels, linear), TSR_OK, "%s", r.sentence);
}

/* The second is timed, and the third is the first by a recording. */
Test(opencl_commands, equal_runs_are_recorded) {
    rig_linear linear;
    make(&linear, NULL);
    run(&linear);
    run(&linear);
    const long launches = calls("clEnqueueNDRangeKernel");
    for (int i = 0; i < 5; i++)
        run(&linear);
    cr_expect_eq(calls("clEnqueueNDRangeKernel"), launches);
    cr_expect_eq(calls("clCreateCommandBufferKHR"), 1);
    cr_expect_eq(calls("clEnqueueCommandBufferKHR"), 5);
    rig_linear_free(&r, &linear);
}

/* A run that took too long is launched by itself, as the next ones are until one is short enough: what
 * kept it waiting may have been another process. */
Test(opencl_commands_slow, one_long_run_does_not_end_recording) {
    rig_linear linear;
    begin_below(SLOW_LAYER ":" COUNT_LAYER);
    make(&linear, NULL);
    run(&linear);
    setenv("TSR_SLOW_NS", "1000000", 1);
    run(&linear);
    run(&linear);
    cr_expect_eq(calls("clCreateCommandBufferKHR"), 0);
    setenv("TSR_SLOW_NS", "0", 1);
    run(&linear);
    run(&linear);
    cr_expect_eq(calls("clCreateCommandBufferKHR"), 1);
    cr_expect_eq(calls("clEnqueueCommandBufferKHR"), 1);
    rig_linear_free(&r, &linear);
    end();
}

static void start(rig_linear *linear) {
    const tsr_run sizes = {.struct_size = sizeof sizes, .sizes = {1, RIG_T, 1, 1, 1}};
    cr_assert_eq(r.backend->plan_run(linear->plan, &sizes, NULL, NULL), TSR_OK, "%s", r.sentence);
}

/* A recording that is under way can't be enqueued again: a second one takes turns with it, and where
 * both are under way, the run goes launch by launch. */
Test(opencl_commands_one_use, a_run_that_starts_before_the_last_one_ends) {
    rig_linear linear;
    setenv("COUNT_LAYER_NO_SIMULTANEOUS_USE", "1", 1);
    begin();
    make(&linear, NULL);
    for (int i = 0; i < 3; i++)
        run(&linear);
    cr_expect_eq(calls("clCreateCommandBufferKHR"), 1);
    for (int round = 0; round < 3; round++) {
        const long launches = calls("clEnqueueNDRangeKernel");
        start(&linear);
        run(&linear);
        cr_expect_eq(calls("clCreateCommandBufferKHR"), 2);
        cr_expect_eq(calls("clEnqueueNDRangeKernel"), launches);
        start(&linear);
        start(&linear);
        run(&linear);
        cr_expect_eq(calls("clCreateCommandBufferKHR"), 2);
        cr_expect_gt(calls("clEnqueueNDRangeKernel"), launches);
    }
    rig_linear_free(&r, &linear);
    end();
}

/* A recording has the arguments of its time, and scratch is one of them. */
Test(opencl_commands, more_scratch_ends_a_recording) {
    rig_linear linear, second;
    make(&linear, NULL);
    for (int i = 0; i < 3; i++)
        run(&linear);
    cr_expect_eq(calls("clCreateCommandBufferKHR"), 1);
    if (rig_linear_make(&r, r.dev, "linear=clblast", &second) != TSR_OK)
        cr_skip_test("%s", r.sentence);
    run(&linear);
    cr_expect_eq(calls("clCreateCommandBufferKHR"), 2);
    for (int i = 0; i < 3; i++) {
        run(&linear);
        run(&second); /* CLBlast enqueues by itself, so this plan is never recorded */
    }
    cr_expect_eq(calls("clCreateCommandBufferKHR"), 2);
    rig_linear_free(&r, &second);
    rig_linear_free(&r, &linear);
}

/* Whatever fails while a run is recorded, the run goes launch by launch; and if the recording can't
 * be enqueued, it is a sentence. */
Test(opencl_commands, a_failure_while_recording_is_no_failure_of_the_run) {
    static const char *const recording[] = {"clCreateCommandBufferKHR", "clCommandNDRangeKernelKHR",
                                            "clFinalizeCommandBufferKHR"};
    rig_linear linear;
    for (int i = 0; i < 3; i++) {
        tsr_dev *dev = NULL;
        cr_assert_eq(rig_open_index(&r, r.index, false, &dev), TSR_OK);
        cr_assert_eq(rig_linear_make(&r, dev, NULL, &linear), TSR_OK, "%s", r.sentence);
        fail(recording[i], 1, -59, i == 1);
        const long launches = calls("clEnqueueNDRangeKernel");
        for (int run = 0; run < 5; run++) {
            cr_assert_eq(rig_linear_run(&r, dev, &linear), TSR_OK, "%s: %s", recording[i],
                         r.sentence);
            cr_expect_eq(rig_linear_error(&linear), 0.0);
        }
        cr_expect_geq(calls("clEnqueueNDRangeKernel"), launches + 5, "%s", recording[i]);
        cr_expect(strstr(r.log, "enqueued by itself"), "%s", r.log);
        rig_linear_free(&r, &linear);
        r.backend->device_close(dev);
    }
}

Test(opencl_commands, a_recording_that_loses_the_device_is_a_sentence) {
    rig_linear linear;
    make(&linear, NULL);
    for (int i = 0; i < 3; i++)
        run(&linear);
    fail("clEnqueueCommandBufferKHR", 1, -5, false);
    cr_expect_eq(rig_linear_run(&r, r.dev, &linear), TSR_E_DEVICE);
    cr_expect(strstr(r.sentence, "a command buffer: CL_OUT_OF_RESOURCES"), "%s", r.sentence);
    rig_linear_free(&r, &linear);
}

Test(opencl_commands_not_asked_for, a_cpu_gets_single_launches) {
    rig_linear linear;
    begin_with(COUNT_LAYER, "1");
    rig_open(&r, "Portable Computing Language", false);
    make(&linear, NULL);
    for (int i = 0; i < 4; i++)
        run(&linear);
    cr_expect_eq(calls("clEnqueueCommandBufferKHR"), 0);
    rig_linear_free(&r, &linear);
    end();
}
