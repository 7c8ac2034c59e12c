/* Kernel variants for weights in blocks: all give the same bytes, and a probe's answer decides
 * which of them can be used. */
#include "opencl/rig.h"
#include "tensor/convert.h"
#include "tensor/quantize.h"
#include "tensor/sample.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char pocl[] = "Portable Computing Language";

enum { X, W, BIAS, RESIDUAL, Y, DIMS, BUFFERS };

typedef struct product {
    int64_t M, K, N;
    tsr_dtype dtype;
    uint32_t compute;
    tsr_buf *buffers[BUFFERS];
    tsr_plan *plan;
    char chosen[160];
    float *y;
} product;

static tsr_tensor matrix(int64_t rows, int64_t columns, tsr_dtype dtype, tsr_kind kind,
                         tsr_buf *buf) {
    tsr_tensor t = {.struct_size = sizeof t, .dtype = dtype, .kind = kind, .rank = rows ? 2 : 1};
    t.dim[0] = tsri_tensor_const(rows ? rows : columns);
    t.dim[1] = tsri_tensor_const(columns);
    tsri_tensor_pack(&t);
    t.buf = buf;
    return t;
}

/* A number in [-1, 1) that depends on i and a seed. */
static float value_at(int64_t i, uint32_t seed) {
    const uint32_t bits = ((uint32_t)i + seed * 7919u) * 2654435761u;
    return (float)(int32_t)(bits ^ bits >> 15) * 0x1p-31f;
}

static tsr_buf *floats(rig *r, int64_t n, uint32_t seed) {
    const tsr_buffer_spec spec = {.struct_size = sizeof spec, .bytes = (uint64_t)n * 4};
    tsr_buf *buf = NULL;
    float *values = malloc((size_t)n * sizeof *values);
    cr_assert_eq(r->backend->buffer_create(r->dev, &spec, &buf), TSR_OK);
    for (int64_t i = 0; i < n; i++)
        values[i] = value_at(i, seed);
    rig_transfer(r, TSR_TRANSFER_WRITE, buf, values, spec.bytes);
    free(values);
    return buf;
}

/* Stores the weight's rows in its layout and loads them: they are the same bytes. */
static void store(rig *r, product *p, const tsr_layout *layout) {
    const size_t n = (size_t)(p->N * p->K);
    uint64_t bytes = 0;
    cr_assert(tsri_tensor_bytes(p->dtype, n, &bytes));
    float *values = malloc(n * sizeof *values);
    void *plain = malloc(bytes), *back = malloc(bytes);
    for (size_t i = 0; i < n; i++)
        values[i] = value_at((int64_t)i, 3);
    if (tsri_tensor_is_written_blocks(p->dtype))
        tsri_tensor_quantize(p->dtype, values, plain, n);
    else
        tsri_tensor_sample_blocks(1, 0, n, p->dtype, plain);
    tsr_rows rows = {.struct_size = sizeof rows,
                     .dtype = p->dtype,
                     .count = p->N,
                     .columns = p->K,
                     .data = plain};
    const tsr_buffer_spec spec = {.struct_size = sizeof spec, .bytes = layout->bytes};
    cr_assert_eq(r->backend->buffer_create(r->dev, &spec, &p->buffers[W]), TSR_OK);
    cr_assert_eq(r->backend->weight_store(r->dev, layout, &rows, p->buffers[W]), TSR_OK);
    rows.data = back;
    cr_assert_eq(r->backend->weight_load(r->dev, layout, p->buffers[W], &rows), TSR_OK);
    cr_expect_arr_eq(plain, back, bytes);
    free(values);
    free(plain);
    free(back);
}

static void see(void *data, const tsr_variant *variant) {
    if (variant->chosen)
        snprintf(data, 160, "%s", variant->name);
}

/* Makes a plan of the product with this variant; TSR_E_ARGUMENT where it can't be forced. */
static tsr_status make(rig *r, product *p, const char *kernels) {
    const tsr_backend *b = r->backend;
    const tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 1, 1, 1, 1}};
    const tsr_linear_attrs attrs = {.struct_size = sizeof attrs,
                                    .trans_w = 1,
                                    .activation = TSR_ACT_SILU,
                                    .compute = p->compute};
    tsr_tensor x = matrix(p->M, p->K, TSR_F32, TSR_KIND_ACTIVATION, NULL),
               w = matrix(p->N, p->K, p->dtype, TSR_KIND_WEIGHT, NULL),
               bias = matrix(0, p->N, TSR_F32, TSR_KIND_WEIGHT, NULL),
               residual = matrix(p->M, p->N, TSR_F32, TSR_KIND_ACTIVATION, NULL),
               y = matrix(p->M, p->N, TSR_F32, TSR_KIND_ACTIVATION, NULL);
    const tsr_tensor *in[] = {&x, &w, &bias, &residual}, *out[] = {&y};
    const tsr_op op = rig_linear_op(4, in, out, &attrs, &bounds);
    const tsr_op *const ops[] = {&op};
    const tsr_weight_use use = {.struct_size = sizeof use, .operand = 1, .op = &op};
    const tsr_weight_use *const uses[] = {&use};
    tsr_layout layout = {.struct_size = sizeof layout};
    int32_t table[TSR_SYMBOL_SETS];
    const int64_t sizes[TSR_SYMBOLS] = {1, 1, 1, 1, 1};
    tsri_tensor_dims_table(sizes, table);
    cr_assert_eq(b->weight_layout(r->dev, uses, 1, kernels, &layout), TSR_OK, "%s", r->sentence);
    store(r, p, &layout);
    p->buffers[X] = floats(r, p->M * p->K, 1);
    p->buffers[BIAS] = floats(r, p->N, 2);
    p->buffers[RESIDUAL] = floats(r, p->M * p->N, 4);
    p->buffers[Y] = floats(r, p->M * p->N, 5);
    p->buffers[DIMS] = floats(r, TSR_SYMBOL_SETS, 0);
    rig_transfer(r, TSR_TRANSFER_WRITE, p->buffers[DIMS], table, sizeof table);
    x.buf = p->buffers[X];
    w.buf = p->buffers[W];
    w.layout = layout.id;
    bias.buf = p->buffers[BIAS];
    residual.buf = p->buffers[RESIDUAL];
    y.buf = p->buffers[Y];
    const tsr_plan_spec spec = {.struct_size = sizeof spec,
                                .n_ops = 1,
                                .ops = ops,
                                .bounds = &bounds,
                                .dims = p->buffers[DIMS],
                                .kernels = kernels};
    const tsr_status status = b->plan_create(r->dev, &spec, &p->plan);
    if (status == TSR_OK)
        b->plan_explain(p->plan, 0, see, p->chosen);
    return status;
}

static void run(rig *r, product *p) {
    const uint64_t bytes = (uint64_t)(p->M * p->N) * sizeof *p->y;
    const tsr_run once = {.struct_size = sizeof once, .sizes = {1, 1, 1, 1, 1}};
    p->y = malloc(bytes);
    cr_assert_eq(r->backend->plan_run(p->plan, &once, NULL, NULL), TSR_OK, "%s", r->sentence);
    rig_transfer(r, TSR_TRANSFER_READ, p->buffers[Y], p->y, bytes);
}

static void release(rig *r, product *p) {
    r->backend->plan_destroy(p->plan);
    for (int i = 0; i < BUFFERS; i++) {
        r->backend->buffer_destroy(p->buffers[i]);
        p->buffers[i] = NULL;
    }
    free(p->y);
    p->plan = NULL;
    p->y = NULL;
}

/* Checks that every variant that can be forced gives the plain variant's bytes; gives the number of
 * them. */
static int compare(rig *r, const product *shape) {
    static const char *const rows[] = {"blocks",   "blocks_one", "vnni",     "vnni_few",
                                       "vnni_one", "wide",       "wide_one", "wide_vnni"};
    product plain = *shape;
    int compared = 0;
    cr_assert_eq(make(r, &plain, "linear=plain"), TSR_OK, "%s", r->sentence);
    run(r, &plain);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char kernels[64];
        product p = *shape;
        snprintf(kernels, sizeof kernels, "linear=%s", rows[i]);
        const tsr_status status = make(r, &p, kernels);
        cr_assert(status == TSR_OK || status == TSR_E_ARGUMENT, "%s: %s", rows[i], r->sentence);
        if (status == TSR_OK) {
            run(r, &p);
            cr_expect_arr_eq(p.y, plain.y, sizeof *p.y * (size_t)(p.M * p.N),
                             "%s, M=%d K=%d N=%d %s compute %u", rows[i], (int)p.M, (int)p.K,
                             (int)p.N, tsri_tensor_dtype_name(p.dtype), p.compute);
            compared++;
        }
        release(r, &p);
    }
    release(r, &plain);
    return compared;
}

static void compare_all(int threads) {
    static const int64_t shapes[][3] = {
        {1, 32, 1},     {1, 96, 63},  {1, 4096, 65},  {1, 8224, 64}, {2, 64, 64},
        {3, 4096, 130}, {4, 96, 65},  {5, 32, 64},    {6, 128, 63},  {7, 96, 129},
        {8, 64, 65},    {9, 352, 64}, {10, 96, 128},  {25, 64, 65},  {63, 128, 130},
        {64, 96, 64},   {65, 64, 63}, {3, 4096, 1030}}; /* the last weight is packed by several threads */
    static const int64_t wide[][3] = {                  /* 32 inputs more where blocks are of 32 */
                                      {1, 512, 65},
                                      {2, 256, 64},
                                      {3, 768, 130},
                                      {4, 256, 63},
                                      {29, 256, 64}};
    static const tsr_dtype small[] = {TSR_GGML_Q8_0, TSR_GGML_Q4_0, TSR_GGML_MXFP4};
    char text[16];
    rig r;
    int compared = 0;
    snprintf(text, sizeof text, "%d", threads);
    rig_begin(&r, "threads", text);
    rig_open(&r, pocl, false);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int d = 0; d < 3; d++)
            for (int whole = 0; whole < 2; whole++)
                compared +=
                    compare(&r, &(product){.M = shapes[i][0],
                                           .K = shapes[i][1],
                                           .N = shapes[i][2],
                                           .dtype = small[d],
                                           .compute = whole ? TSR_COMPUTE_INT8 : TSR_COMPUTE_F32});
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        for (int dtype = TSR_GGML_Q4_0; dtype < TSRI_TENSOR_DTYPES; dtype++)
            for (int whole = 0; whole < 2 && tsri_tensor_is_wide_blocks((tsr_dtype)dtype); whole++)
                compared += compare(
                    &r, &(product){.M = wide[i][0],
                                   .K = wide[i][1] +
                                        tsri_tensor_dtype_info((tsr_dtype)dtype)->block % 256,
                                   .N = wide[i][2],
                                   .dtype = (tsr_dtype)dtype,
                                   .compute = whole ? TSR_COMPUTE_INT8 : TSR_COMPUTE_F32});
    cr_expect(!compared || compared >= 68, "only %d comparisons on a CPU", compared);
    rig_end(&r);
}

Test(opencl_blocks, same_bytes_from_every_row) {
    compare_all(0);
}

Test(opencl_blocks, same_bytes_from_one_thread) {
    compare_all(1);
}

/* Replaces the helper by one that says or does something else. */
static void plant(const char *script) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/tessera-probe-%d", (int)getpid());
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fprintf(file, "#!/bin/sh\ncat > /dev/null\n%s\n", script);
    fclose(file);
    chmod(path, 0700);
    setenv("TESSERA_PROBE", path, 1);
}

static void expect_refused(const char *sentence) {
    product p = {.M = 1, .K = 64, .N = 64, .dtype = TSR_GGML_Q8_0, .compute = TSR_COMPUTE_INT8};
    rig r;
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    cr_expect_eq(make(&r, &p, "linear=vnni_one"), TSR_E_ARGUMENT);
    cr_expect(strstr(r.sentence, sentence) || strstr(r.sentence, "the CPU "), "\"%s\": \"%s\"",
              sentence, r.sentence);
    release(&r, &p);
    cr_expect_eq(make(&r, &p, NULL), TSR_OK, "%s", r.sentence);
    cr_expect(strstr(p.chosen, "linear/blocks_one"), "%s", p.chosen);
    release(&r, &p);
    rig_end(&r);
}

static int stop(void *data, const tsr_progress *now) {
    (void)data, (void)now;
    return 1;
}

Test(opencl_blocks, a_trial_that_is_stopped_did_not_take_too_long) {
    product p = {.M = 1, .K = 64, .N = 64, .dtype = TSR_GGML_Q8_0, .compute = TSR_COMPUTE_INT8};
    rig r;
    plant("exec sleep 30");
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    r.host.progress = stop;
    (void)make(&r, &p, "linear=vnni_one");
    cr_expect(strstr(r.log, "this run was stopped while its instructions were tried") ||
                  strstr(r.log, "the CPU "),
              "%s", r.log);
    cr_expect_null(strstr(r.log, "without an answer"), "%s", r.log);
    release(&r, &p);
    unlink(getenv("TESSERA_PROBE"));
    rig_end(&r);
}

Test(opencl_blocks, a_probe_that_does_not_pass_refuses_the_row) {
    plant("echo the instructions give wrong results");
    expect_refused("the instructions give wrong results");
    plant("kill -SEGV $$");
    expect_refused("tried in a process of their own, which crashed");
    plant("exit 3");
    expect_refused("which gave no answer");
    unlink(getenv("TESSERA_PROBE"));
    expect_refused("libexec/tessera/probe, is missing");
}
