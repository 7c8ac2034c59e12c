/* opencl/rig.c - opens the plugin as a host does, with one linear op. */
#include "opencl/rig.h"

#include "backend/host.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void report(void *data, tsr_status status, const char *sentence) {
    rig *r = data;
    (void)status;
    snprintf(r->sentence, sizeof r->sentence, "%s", sentence);
}

static void keep_log(void *data, tsr_log_level level, const char *line) {
    rig *r = data;
    const size_t n = strlen(r->log);
    (void)level;
    snprintf(r->log + n, sizeof r->log - n, "%s\n", line);
}

void rig_begin(rig *r, const char *name, const char *value) {
    const tsr_options options = {
        .struct_size = sizeof options, .count = name ? 1 : 0, .names = &name, .values = &value};
    *r = (rig){0};
    void *library = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(library, "%s", dlerror());
    tsr_backend_get_fn get = NULL;
    *(void **)&get = dlsym(library, "tsr_backend_get");
    cr_assert(get != NULL);
    r->backend = get(TSR_BACKEND_ABI);
    cr_assert(r->backend != NULL);
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    setenv("TESSERA_TRUST_DRIVERS", "1", 0); /* tests/cli/faults/crashing.py tests trying them */
    snprintf(r->cache, sizeof r->cache, "%s/tessera-opencl-XXXXXX", folder);
    cr_assert_not_null(mkdtemp(r->cache));
    r->host = (tsr_host){.struct_size = sizeof r->host,
                         .abi = TSR_BACKEND_ABI,
                         .data = r,
                         .report = report,
                         .log = keep_log,
                         .cache_folder = r->cache,
                         .version = "test",
                         .reference = tsri_backend_compute};
    cr_assert_eq(r->backend->open(&r->host, &options, &r->state), TSR_OK, "%s", r->sentence);
}

tsr_status rig_open_index(rig *r, uint32_t index, bool profile, tsr_dev **dev) {
    const tsr_device_options options = {.struct_size = sizeof options, .profile = profile};
    return r->backend->device_open(r->state, index, &options, dev);
}

void rig_open(rig *r, const char *platform, bool profile) {
    const char *lane = getenv("TESSERA_TEST_PLATFORM");
    uint32_t n = 0;
    if (lane && *lane)
        platform = lane;
    cr_assert_eq(r->backend->device_count(r->state, &n), TSR_OK);
    for (uint32_t i = 0; i < n; i++) {
        tsr_facts facts = {.struct_size = sizeof facts};
        cr_assert_eq(r->backend->device_facts(r->state, i, &facts), TSR_OK);
        if (facts.usable && strstr(facts.platform, platform)) {
            r->index = i;
            cr_assert_eq(rig_open_index(r, i, profile, &r->dev), TSR_OK, "%s", r->sentence);
            return;
        }
    }
    cr_skip_test("no usable device of %s", platform);
}

void rig_end(rig *r) {
    char command[256];
    r->backend->device_close(r->dev);
    r->backend->close(r->state);
    snprintf(command, sizeof command, "rm -rf '%s'", r->cache);
    cr_assert_eq(system(command), 0);
}

static float x_at(int i) {
    return (float)(i * 7 % 13 - 6) / 8.0f;
}

static float w_at(int i) {
    return (float)(i * 5 % 17 - 8) / 8.0f;
}

static float bias_at(int i) {
    return (float)(i % 3);
}

static tsr_tensor tensor(uint32_t rank, tsr_dim a, tsr_dim b, tsr_dim c) {
    tsr_tensor t = {.struct_size = sizeof t, .dtype = TSR_F32, .rank = rank, .dim = {a, b, c}};
    tsri_tensor_pack(&t);
    return t;
}

void rig_transfer(rig *r, tsr_transfer_kind kind, tsr_buf *buf, const void *host, uint64_t bytes) {
    tsr_event *done = NULL;
    const bool write = kind == TSR_TRANSFER_WRITE;
    const tsr_transfer all = {.struct_size = sizeof all,
                              .kind = kind,
                              .dst = write ? buf : NULL,
                              .src = write ? NULL : buf,
                              .bytes = bytes,
                              .host = (void *)(uintptr_t)host};
    cr_assert_eq(r->backend->transfer(r->dev, &all, NULL, &done), TSR_OK, "%s", r->sentence);
    cr_assert_eq(r->backend->event_wait(done, UINT64_MAX), TSR_OK, "%s", r->sentence);
    r->backend->event_destroy(done);
}

/* The source must stay valid until the write is complete, so this waits for it. */
static tsr_status write_floats(rig *r, tsr_dev *dev, tsr_buf *buf, float (*at)(int), int n) {
    float *values = malloc((size_t)n * sizeof *values);
    tsr_event *done = NULL;
    for (int i = 0; i < n; i++)
        values[i] = at(i);
    const tsr_transfer transfer = {.struct_size = sizeof transfer,
                                   .kind = TSR_TRANSFER_WRITE,
                                   .dst = buf,
                                   .bytes = (uint64_t)n * sizeof *values,
                                   .host = values};
    tsr_status status = r->backend->transfer(dev, &transfer, NULL, &done);
    if (status == TSR_OK)
        status = r->backend->event_wait(done, UINT64_MAX);
    r->backend->event_destroy(done);
    free(values);
    return status;
}

static tsr_status make_buffer(rig *r, tsr_dev *dev, uint64_t bytes, tsr_buf **out) {
    const tsr_buffer_spec spec = {.struct_size = sizeof spec, .bytes = bytes};
    return r->backend->buffer_create(dev, &spec, out);
}

static tsr_status store_weight(rig *r, tsr_dev *dev, rig_linear *l) {
    float *plain = malloc(sizeof(float) * RIG_N * RIG_K);
    for (int i = 0; i < RIG_N * RIG_K; i++)
        plain[i] = w_at(i);
    const tsr_rows rows = {.struct_size = sizeof rows,
                           .dtype = TSR_F32,
                           .count = RIG_N,
                           .columns = RIG_K,
                           .data = plain};
    const tsr_status status = r->backend->weight_store(dev, &l->layout, &rows, l->w);
    free(plain);
    return status;
}

tsr_op rig_linear_op(uint32_t n_in, const tsr_tensor *const *in, const tsr_tensor *const *out,
                     const tsr_linear_attrs *attrs, const tsr_bounds *bounds) {
    return (tsr_op){.struct_size = sizeof(tsr_op),
                    .id = TSR_OP_LINEAR,
                    .n_in = n_in,
                    .n_out = 1,
                    .in = in,
                    .out = out,
                    .attrs = attrs,
                    .bounds = bounds};
}

#define STEP(call)        \
    if (status == TSR_OK) \
    status = (call)

tsr_status rig_linear_make(rig *r, tsr_dev *dev, const char *kernels, rig_linear *l) {
    const tsr_backend *b = r->backend;
    const tsr_bounds bounds = {.struct_size = sizeof bounds,
                               .lowest = {1, 1, 1, 1, 1},
                               .highest = {1, RIG_T, 16, 1, RIG_T}};
    const tsr_dim K = tsri_tensor_const(RIG_K), N = tsri_tensor_const(RIG_N), none = {0};
    const tsr_dim B = tsri_tensor_symbol(TSR_SYM_B), T = tsri_tensor_symbol(TSR_SYM_T);
    tsr_tensor x = tensor(3, B, T, K), w = tensor(2, N, K, none), bias = tensor(1, N, none, none),
               y = tensor(3, B, T, N);
    const tsr_tensor *in[] = {&x, &w, &bias}, *out[] = {&y};
    const tsr_linear_attrs attrs = {
        .struct_size = sizeof attrs, .trans_w = 1, .activation = TSR_ACT_RELU};
    const tsr_op op = rig_linear_op(3, in, out, &attrs, &bounds);
    const tsr_op *const ops[] = {&op};
    const tsr_weight_use use = {.struct_size = sizeof use, .operand = 1, .op = &op}, *const uses[] =
                                                                                         {&use};
    const int64_t sizes[TSR_SYMBOLS] = {1, RIG_T, 1, 1, 1};
    *l = (rig_linear){.layout = {.struct_size = sizeof l->layout}};
    tsri_tensor_dims_table(sizes, l->table);
    w.kind = TSR_KIND_WEIGHT;
    tsr_status status = b->weight_layout(dev, uses, 1, kernels, &l->layout);
    STEP(make_buffer(r, dev, sizeof(float) * RIG_T * RIG_K, &l->x));
    STEP(make_buffer(r, dev, l->layout.bytes, &l->w));
    STEP(make_buffer(r, dev, sizeof(float) * RIG_N, &l->bias));
    STEP(make_buffer(r, dev, sizeof(float) * RIG_T * RIG_N, &l->y));
    STEP(make_buffer(r, dev, sizeof l->table, &l->dims));
    STEP(write_floats(r, dev, l->x, x_at, RIG_T * RIG_K));
    STEP(write_floats(r, dev, l->bias, bias_at, RIG_N));
    STEP(store_weight(r, dev, l));
    x.buf = l->x;
    w.buf = l->w;
    w.layout = l->layout.id;
    bias.buf = l->bias;
    y.buf = l->y;
    const tsr_plan_spec spec = {.struct_size = sizeof spec,
                                .n_ops = 1,
                                .ops = ops,
                                .bounds = &bounds,
                                .dims = l->dims,
                                .kernels = kernels};
    STEP(b->plan_create(dev, &spec, &l->plan));
    return status;
}

tsr_status rig_linear_run(rig *r, tsr_dev *dev, rig_linear *l) {
    const tsr_backend *b = r->backend;
    const tsr_run run = {.struct_size = sizeof run, .sizes = {1, RIG_T, 1, 1, 1}};
    const tsr_transfer write = {.struct_size = sizeof write,
                                .kind = TSR_TRANSFER_WRITE,
                                .dst = l->dims,
                                .bytes = sizeof l->table,
                                .host = l->table};
    const tsr_transfer read = {.struct_size = sizeof read,
                               .kind = TSR_TRANSFER_READ,
                               .src = l->y,
                               .bytes = sizeof l->result,
                               .host = l->result};
    tsr_event *done = NULL;
    tsr_status status = b->transfer(dev, &write, NULL, NULL);
    STEP(b->plan_run(l->plan, &run, NULL, NULL));
    STEP(b->transfer(dev, &read, NULL, &done));
    STEP(b->event_wait(done, UINT64_MAX));
    b->event_destroy(done);
    return status;
}

void rig_linear_free(rig *r, rig_linear *l) {
    tsr_buf *const buffers[] = {l->x, l->w, l->bias, l->y, l->dims};
    r->backend->plan_destroy(l->plan);
    for (int i = 0; i < 5; i++)
        r->backend->buffer_destroy(buffers[i]);
}

double rig_linear_error(const rig_linear *l) {
    double worst = 0;
    for (int t = 0; t < RIG_T; t++)
        for (int n = 0; n < RIG_N; n++) {
            double sum = (double)bias_at(n);
            for (int k = 0; k < RIG_K; k++)
                sum += (double)x_at(t * RIG_K + k) * (double)w_at(n * RIG_K + k);
            worst = fmax(worst, fabs(fmax(sum, 0) - (double)l->result[t * RIG_N + n]));
        }
    return worst;
}
