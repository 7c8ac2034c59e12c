/* Launches on GPUs stay below what a watchdog allows, on a device that a layer makes slow; on a fast
 * one they stay whole. */
#include "opencl/rig.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

enum { M = 128, K = 256, N = 256, MOST_NS = 100 * 1000 * 1000 };

static void (*reset)(void);
static uint64_t (*longest)(void);
static long (*launches)(void);
static long (*waits)(void);
static rig r;

static void begin(const char *ns) {
    setenv("OPENCL_LAYERS", SLOW_LAYER, 1);
    setenv("TSR_SLOW_NS", ns, 1);
    setenv("TESSERA_COMMAND_BUFFERS", "0", 1); /* launches are counted one by one */
    rig_begin(&r, NULL, NULL);
    rig_open(&r, "Portable Computing Language", false);
    void *layer = dlopen(SLOW_LAYER, RTLD_NOW | RTLD_NOLOAD);
    cr_assert_not_null(layer, "the OpenCL loader ignores OPENCL_LAYERS");
    *(void **)&reset = dlsym(layer, "slow_reset");
    *(void **)&longest = dlsym(layer, "slow_longest");
    *(void **)&launches = dlsym(layer, "slow_launches");
    *(void **)&waits = dlsym(layer, "slow_waits");
    cr_assert(reset && longest && launches && waits);
}

/* Sums of these are exact in f32. */
static float x_at(int i) {
    return (float)(i * 7 % 13 - 6) / 8.0f;
}

static float w_at(int i) {
    return (float)(i * 5 % 17 - 8) / 8.0f;
}

static tsr_buf *floats(int n, float (*at)(int)) {
    const tsr_buffer_spec spec = {.struct_size = sizeof spec, .bytes = (uint64_t)n * 4};
    tsr_buf *buf = NULL;
    cr_assert_eq(r.backend->buffer_create(r.dev, &spec, &buf), TSR_OK);
    float *values = malloc((size_t)n * sizeof *values);
    for (int i = 0; i < n; i++)
        values[i] = at(i);
    rig_transfer(&r, TSR_TRANSFER_WRITE, buf, values, spec.bytes);
    free(values);
    return buf;
}

static tsr_tensor matrix(int64_t rows, int64_t columns, tsr_buf *buf) {
    tsr_tensor t = {.struct_size = sizeof t, .dtype = TSR_F32, .rank = 2, .buf = buf};
    t.dim[0] = tsri_tensor_const(rows);
    t.dim[1] = tsri_tensor_const(columns);
    tsri_tensor_pack(&t);
    return t;
}

static void check(const float *y) {
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += x_at(m * K + k) * w_at(n * K + k);
            cr_assert_eq(sum, y[m * N + n], "%d, %d", m, n);
        }
}

/* Runs a product twice: the second time with what was learnt from the first. */
static void run_twice(long least, long most, long most_waits) {
    static const int64_t sizes[TSR_SYMBOLS] = {1, 1, 1, 1, 1};
    static const tsr_linear_attrs attrs = {.struct_size = sizeof attrs, .trans_w = 1};
    int32_t table[TSR_SYMBOL_SETS];
    const tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 1, 1, 1, 1}};
    const tsr_run run = {.struct_size = sizeof run, .sizes = {1, 1, 1, 1, 1}};
    tsr_buf *const buffers[] = {floats(M * K, x_at), floats(N * K, w_at), floats(M * N, x_at),
                                floats(TSR_SYMBOL_SETS, x_at)};
    const tsr_tensor x = matrix(M, K, buffers[0]), w = matrix(N, K, buffers[1]),
                     y = matrix(M, N, buffers[2]);
    const tsr_tensor *in[] = {&x, &w}, *out[] = {&y};
    const tsr_op op = rig_linear_op(2, in, out, &attrs, &bounds);
    const tsr_op *const ops[] = {&op};
    const tsr_plan_spec spec = {.struct_size = sizeof spec,
                                .n_ops = 1,
                                .ops = ops,
                                .bounds = &bounds,
                                .dims = buffers[3],
                                .kernels = "linear=plain"};
    tsr_plan *plan = NULL;
    float *result = malloc(sizeof(float) * M * N);
    tsri_tensor_dims_table(sizes, table);
    rig_transfer(&r, TSR_TRANSFER_WRITE, buffers[3], table, sizeof table);
    cr_assert_eq(r.backend->plan_create(r.dev, &spec, &plan), TSR_OK, "%s", r.sentence);
    for (int again = 0; again < 2; again++) {
        reset();
        cr_assert_eq(r.backend->plan_run(plan, &run, NULL, NULL), TSR_OK, "%s", r.sentence);
        cr_expect_leq(longest(), MOST_NS, "a launch of %.0f ms", (double)longest() / 1e6);
        if (again) {
            cr_expect(launches() >= least && launches() <= most, "%ld launches", launches());
            cr_expect_leq(waits(), most_waits, "%ld waits", waits());
        }
        rig_transfer(&r, TSR_TRANSFER_READ, buffers[2], result, sizeof(float) * M * N);
        check(result);
    }
    free(result);
    r.backend->plan_destroy(plan);
    for (int i = 0; i < 4; i++)
        r.backend->buffer_destroy(buffers[i]);
}

/* 17 million multiply-adds a second: half a second for all of them. */
Test(opencl_watchdog, launches_on_a_slow_gpu_are_short) {
    begin("240000");
    run_twice(5, 40, 50);
    rig_end(&r);
}

Test(opencl_watchdog, launches_on_a_fast_gpu_are_whole) {
    begin("0");
    run_twice(1, 1, 0);
    rig_end(&r);
}
