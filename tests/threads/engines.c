/* Engines in several threads, one engine in several threads, and engines destroyed in any order. */
#include "support/plugin.h"
#include "threads/threads.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int failures;

static void fail(const char *what) {
    cr_log_error("%s: %s", what, tsr_error_last());
    atomic_fetch_add(&failures, 1);
}

static void create_and_destroy(int thread, void *data) {
    size_t *counts = data;
    tsr_engine *engine = NULL;
    if (tsr_engine_create(NULL, &engine) != TSR_OK) {
        fail("tsr_engine_create");
        return;
    }
    counts[thread] = tsr_device_count(engine);
    tsr_engine_destroy(&engine);
}

/* The first engine of a process loads the drivers: here all are the first. With one driver they meet
 * in it; several, loaded one after the other, keep the threads apart. */
Test(threads, engines_are_created_at_once) {
    size_t counts[THREADS] = {0};
    need_pocl_alone();
    for (int again = 0; again < 3; again++) {
        together(THREADS, create_and_destroy, counts);
        for (int i = 0; i < THREADS; i++)
            cr_expect_eq(counts[i], counts[0], "thread %d finds %zu devices, the first %zu", i,
                         counts[i], counts[0]);
    }
    cr_expect_eq(atomic_load(&failures), 0);
}

static void create_with_plugin(int thread, void *data) {
    const char *plugin = data;
    const tsr_engine_options options = {
        .struct_size = sizeof options, .n_backends = 1, .backends = &plugin};
    tsr_engine *engine = NULL;
    (void)thread;
    if (tsr_engine_create(&options, &engine) != TSR_OK)
        fail("tsr_engine_create");
    tsr_engine_destroy(&engine);
}

/* Its plugin aborts when two start at once. */
Test(threads, one_backend_starts_at_a_time) {
    char folder[] = "/tmp/tessera-threads-XXXXXX", plugin[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(plugin, sizeof plugin, "%s/libalone.so", folder);
    build_plugin("tests/threads/plugins/alone.c", plugin);
    setenv("OCL_ICD_VENDORS", folder, 1);
    together(THREADS, create_with_plugin, plugin);
    cr_expect_eq(atomic_load(&failures), 0);
    cr_assert(unlink(plugin) == 0 && rmdir(folder) == 0);
}

/* Programs of many threads read the environment at any time. */
Test(threads, a_limit_leaves_the_environment_alone) {
    const tsr_engine_options options = {.struct_size = sizeof options, .threads = 1};
    tsr_engine *engine = NULL;
    tsr_device *device = NULL;
    int32_t ids[TOKENS];
    need_pocl_alone();
    unsetenv("POCL_MAX_PTHREAD_COUNT");
    unsetenv("CL_CONFIG_CPU_TBB_NUM_WORKERS");
    cr_assert_eq(tsr_engine_create(&options, &engine), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsr_device_open(engine, "pocl", NULL, &device), TSR_OK, "%s", tsr_error_last());
    cr_expect_eq(continue_nine(device, ids), TSR_OK, "%s", tsr_error_last());
    cr_expect_null(getenv("POCL_MAX_PTHREAD_COUNT"));
    cr_expect_null(getenv("CL_CONFIG_CPU_TBB_NUM_WORKERS"));
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
}

typedef struct shared {
    tsr_engine *engine; /* NULL: each thread has its own */
    const char *selector;
    int32_t ids[THREADS][TOKENS];
} shared;

static void run_on(tsr_engine *engine, const char *selector, int32_t ids[TOKENS]) {
    tsr_device *device = NULL;
    if (tsr_device_open(engine, selector, NULL, &device) != TSR_OK)
        fail("tsr_device_open");
    else if (continue_nine(device, ids) != TSR_OK)
        fail("tsr_generate");
    tsr_device_close(&device);
}

static void run_a_model(int thread, void *data) {
    shared *s = data;
    tsr_engine *engine = s->engine;
    if (!engine && tsr_engine_create(NULL, &engine) != TSR_OK)
        fail("tsr_engine_create");
    else
        run_on(engine, s->selector, s->ids[thread]);
    if (!s->engine)
        tsr_engine_destroy(&engine);
}

static void all_give_the_same(shared *s, int n) {
    int32_t alone[TOKENS];
    tsr_engine *engine = NULL;
    together(n, run_a_model, s);
    cr_assert_eq(tsr_engine_create(NULL, &engine), TSR_OK, "%s", tsr_error_last());
    run_on(engine, s->selector, alone);
    tsr_engine_destroy(&engine);
    cr_expect_neq(alone[0], 0);
    for (int i = 0; i < n; i++)
        cr_expect_arr_eq(s->ids[i], alone, sizeof alone, "thread %d", i);
    cr_expect_eq(atomic_load(&failures), 0);
}

Test(threads, each_engine_runs_a_model) {
    need_device();
    all_give_the_same(&(shared){.selector = test_device()}, THREADS);
}

Test(threads, each_engine_runs_a_model_on_the_reference) {
    all_give_the_same(&(shared){.selector = "reference"}, THREADS);
}

/* A device is used by one thread at a time; an engine's devices by different ones. */
Test(threads, devices_of_one_engine_run_in_different_threads) {
    shared s = {.selector = test_device()};
    need_device();
    cr_assert_eq(tsr_engine_create(NULL, &s.engine), TSR_OK, "%s", tsr_error_last());
    all_give_the_same(&s, THREADS);
    tsr_engine_destroy(&s.engine);
}

static bool refuses_a_row(tsr_device *device) {
    int32_t ids[TOKENS];
    return continue_nine(device, ids) != TSR_OK && strstr(tsr_error_last(), "no-such-row");
}

/* A device of one engine fails after another engine is gone: its sentence goes to its own host. */
Test(threads, engines_are_destroyed_in_any_order) {
    const tsr_device_open_options forced = {.struct_size = sizeof forced,
                                            .kernels = "linear=no-such-row"};
    need_device();
    for (int first = 0; first < 2; first++) {
        tsr_engine *engines[2] = {NULL};
        tsr_device *devices[2] = {NULL};
        for (int i = 0; i < 2; i++) {
            cr_assert_eq(tsr_engine_create(NULL, &engines[i]), TSR_OK, "%s", tsr_error_last());
            cr_assert_eq(tsr_device_open(engines[i], test_device(), &forced, &devices[i]), TSR_OK,
                         "%s", tsr_error_last());
        }
        tsr_device_close(&devices[first]);
        tsr_engine_destroy(&engines[first]);
        cr_expect(refuses_a_row(devices[!first]), "%s", tsr_error_last());
        tsr_device_close(&devices[!first]);
        tsr_engine_destroy(&engines[!first]);
    }
}
