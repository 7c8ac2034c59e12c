/* Drives a backend's plugin directly: finds its devices; stores, plans, runs and checks one op. */
#include "kernels.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_DEVICES = 16, MOST_RUNS = 512, MOST_REPEATS = 16, STORE_BYTES = 4 << 20 };

static char sentence[1024];
static void *library;
static const tsr_backend *backend;
static tsr_state *state;
static tsr_dev *opened[MOST_DEVICES];
static char names[MOST_DEVICES][256];

static void report(void *data, tsr_status status, const char *line) {
    (void)data, (void)status;
    snprintf(sentence, sizeof sentence, "%s", line);
}

static void log_line(void *data, tsr_log_level level, const char *line) {
    (void)data;
    if (level <= TSR_LOG_WARNING)
        fprintf(stderr, "%s\n", line);
}

const char *bench_open(const char *plugin) {
    static tsr_host host = {.struct_size = sizeof host,
                            .abi = TSR_BACKEND_ABI,
                            .report = report,
                            .log = log_line,
                            .version = "bench"};
    host.cache_folder = getenv("TESSERA_CACHE");
    library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dlerror();
    tsr_backend_get_fn get = NULL;
    void *symbol = dlsym(library, "tsr_backend_get");
    memcpy(&get, &symbol, sizeof get);
    backend = get ? get(TSR_BACKEND_ABI) : NULL;
    if (!backend)
        return "the plugin is of another version";
    return backend->open(&host, NULL, &state) == TSR_OK ? NULL : sentence;
}

void bench_close(void) {
    for (int i = 0; i < MOST_DEVICES; i++)
        if (opened[i])
            backend->device_close(opened[i]);
    if (state)
        backend->close(state);
}

const char *bench_device(const char *selector, tsr_dev **dev, const char **name) {
    uint32_t count = 0, found = UINT32_MAX;
    int32_t score = INT32_MIN;
    if (backend->device_count(state, &count) != TSR_OK)
        return sentence;
    for (uint32_t i = 0; i < count && i < MOST_DEVICES; i++) {
        tsr_facts facts = {.struct_size = sizeof facts};
        if (backend->device_facts(state, i, &facts) != TSR_OK || !facts.usable)
            continue;
        snprintf(names[i], sizeof names[i], "%s/%s", facts.platform, facts.name);
        if (strstr(names[i], selector) && facts.score > score) {
            score = facts.score;
            found = i;
        }
    }
    if (found == UINT32_MAX)
        return "no usable device has this name";
    const tsr_device_options options = {.struct_size = sizeof options};
    if (!opened[found] && backend->device_open(state, found, &options, &opened[found]) != TSR_OK)
        return sentence;
    *dev = opened[found];
    *name = names[found];
    return NULL;
}

const char *bench_peak(tsr_dev *dev, const char *what, int64_t repeats, double *rate) {
    const tsr_backend_peaks *peaks =
        backend->extension ? backend->extension(state, "tsr.peaks/1") : NULL;
    const bool reads = !strcmp(what, "read");
    double values[MOST_REPEATS];
    if (!reads && strcmp(what, "fma_f32") != 0)
        return "a peak is fma_f32 or read";
    if (repeats < 1 || repeats > MOST_REPEATS)
        return "a peak is measured 1 to 16 times";
    if (!peaks)
        return "the plugin measures no peaks";
    if (peaks->measure(dev, reads ? TSR_PEAK_READ : TSR_PEAK_FMA_F32, (uint32_t)repeats, values) !=
        TSR_OK)
        return sentence;
    *rate = 0;
    for (int64_t i = 0; i < repeats; i++)
        *rate = fmax(*rate, values[i] * 1e-9);
    return NULL;
}

/* What one request has on the device. */
typedef struct set {
    tsr_dev *dev;
    bench_case *c;
    tsr_op op;
    tsr_bounds bounds;
    const tsr_tensor *in[BENCH_OPERANDS], *out[BENCH_OUTPUTS];
    tsr_buf *dims;
    tsr_plan *plan;
    tsr_run run;
    size_t weight_bytes;
} set;

static int64_t value(tsr_dim dim, const int64_t sizes[TSR_SYMBOLS]) {
    int64_t n = dim.factor;
    for (int i = 0; i < TSR_SYMBOLS; i++)
        n *= dim.symbols >> i & 1 ? sizes[i] : 1;
    return n;
}

static int64_t count(const bench_case *c, const bench_operand *o) {
    int64_t n = 1;
    for (uint32_t i = 0; i < o->tensor.rank; i++)
        n *= value(o->tensor.dim[i], c->sizes);
    return n;
}

static tsr_status wait(tsr_event *event) {
    const tsr_status status = backend->event_wait(event, UINT64_MAX);
    backend->event_destroy(event);
    return status;
}

static tsr_status transfer(tsr_dev *dev, tsr_transfer_kind kind, tsr_buf *buf, size_t bytes,
                           void *host) {
    tsr_event *done = NULL;
    const tsr_transfer t = {.struct_size = sizeof t,
                            .kind = kind,
                            .dst = kind == TSR_TRANSFER_WRITE ? buf : NULL,
                            .src = kind == TSR_TRANSFER_READ ? buf : NULL,
                            .bytes = bytes,
                            .host = host};
    const tsr_status status = backend->transfer(dev, &t, NULL, &done);
    return status == TSR_OK ? wait(done) : status;
}

static tsr_status buffer(tsr_dev *dev, uint32_t kind, uint64_t bytes, tsr_buf **out) {
    const tsr_buffer_spec spec = {.struct_size = sizeof spec, .kind = kind, .bytes = bytes};
    return backend->buffer_create(dev, &spec, out);
}

static tsr_status store_weight(set *s, uint32_t i, const char *kernels) {
    bench_operand *o = &s->c->operands[i];
    const tsr_weight_use use = {.struct_size = sizeof use, .operand = i, .op = &s->op};
    const tsr_weight_use *uses[] = {&use};
    const int64_t columns = o->tensor.dim[1].factor, rows = o->tensor.dim[0].factor;
    tsr_layout layout = {.struct_size = sizeof layout,
                         .dtype = o->tensor.dtype,
                         .row_block = 1,
                         .rows = rows,
                         .columns = columns,
                         .bytes = bench_bytes(o->tensor.dtype, rows * columns)};
    tsr_status status = backend->weight_layout(s->dev, uses, 1, kernels, &layout);
    if (status == TSR_OK)
        status = buffer(s->dev, TSR_KIND_WEIGHT, layout.bytes, &o->tensor.buf);
    o->tensor.layout = layout.id;
    s->weight_bytes += layout.bytes;
    int64_t block = STORE_BYTES / (int64_t)bench_bytes(TSR_F32, columns);
    block =
        block < layout.row_block ? layout.row_block : block / layout.row_block * layout.row_block;
    void *data = malloc(bench_bytes(TSR_F32, block * columns));
    for (int64_t first = 0; first < rows && status == TSR_OK; first += block) {
        const int64_t n = rows - first < block ? rows - first : block;
        const tsr_rows given = {.struct_size = sizeof given,
                                .dtype = o->tensor.dtype,
                                .first = first,
                                .count = n,
                                .columns = columns,
                                .data = data};
        bench_fill(o, i, first * columns, columns, (size_t)(n * columns), data);
        status = backend->weight_store(s->dev, &layout, &given, o->tensor.buf);
    }
    free(data);
    return status;
}

static tsr_status store_operand(set *s, uint32_t i) {
    bench_operand *o = &s->c->operands[i];
    const int64_t n = count(s->c, o),
                  columns = value(o->tensor.dim[o->tensor.rank - 1], s->c->sizes);
    const size_t bytes = bench_bytes(o->tensor.dtype, n);
    void *data = malloc(bytes);
    bench_fill(o, i, 0, columns, (size_t)n, data);
    tsr_status status = buffer(s->dev, o->tensor.kind, bytes, &o->tensor.buf);
    if (status == TSR_OK)
        status = transfer(s->dev, TSR_TRANSFER_WRITE, o->tensor.buf, bytes, data);
    free(data);
    return status;
}

static tsr_status prepare(set *s, const bench_op *op, const char *kernels) {
    bench_case *c = s->c;
    int32_t table[TSR_SYMBOL_SETS];
    for (int i = 0; i < TSR_SYMBOLS; i++)
        c->sizes[i] = c->sizes[i] ? c->sizes[i] : 1;
    s->bounds = (tsr_bounds){.struct_size = sizeof s->bounds};
    memcpy(s->bounds.highest, c->sizes, sizeof c->sizes);
    for (int i = 0; i < TSR_SYMBOLS; i++)
        s->bounds.lowest[i] = 1;
    for (uint32_t i = 0; i < c->n_in; i++)
        s->in[i] = c->operands[i].tensor.struct_size ? &c->operands[i].tensor : NULL;
    const uint32_t n_out = c->n_out ? c->n_out : c->result == c->n_in;
    for (uint32_t i = 0; i < n_out; i++)
        s->out[i] = &c->operands[c->n_in + i].tensor;
    s->op = (tsr_op){.struct_size = sizeof s->op,
                     .id = op->id,
                     .n_in = c->n_in,
                     .n_out = n_out,
                     .in = s->in,
                     .out = s->out,
                     .attrs = &c->attrs,
                     .bounds = &s->bounds};
    s->run = (tsr_run){.struct_size = sizeof s->run};
    memcpy(s->run.sizes, c->sizes, sizeof c->sizes);
    tsr_status status = buffer(s->dev, TSR_KIND_INPUT, sizeof table, &s->dims);
    for (int set = 0; set < TSR_SYMBOL_SETS; set++)
        table[set] = (int32_t)value((tsr_dim){.factor = 1, .symbols = (uint32_t)set}, c->sizes);
    if (status == TSR_OK)
        status = transfer(s->dev, TSR_TRANSFER_WRITE, s->dims, sizeof table, table);
    for (uint32_t i = 0; i < c->n_in + s->op.n_out && status == TSR_OK; i++) {
        const tsr_tensor *t = &c->operands[i].tensor;
        if (t->struct_size)
            status = t->kind == TSR_KIND_WEIGHT && t->rank == 2 ? store_weight(s, i, kernels)
                                                                : store_operand(s, i);
    }
    const tsr_op *ops[] = {&s->op};
    const tsr_plan_spec spec = {.struct_size = sizeof spec,
                                .n_ops = 1,
                                .ops = ops,
                                .bounds = &s->bounds,
                                .dims = s->dims,
                                .kernels = kernels};
    return status == TSR_OK ? backend->plan_create(s->dev, &spec, &s->plan) : status;
}

static void drop(set *s) {
    backend->plan_destroy(s->plan);
    for (int i = 0; i < BENCH_OPERANDS; i++)
        backend->buffer_destroy(s->c->operands[i].tensor.buf);
    backend->buffer_destroy(s->dims);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The nanoseconds of one run, measured over n runs that are enqueued one after the other. */
static tsr_status sample(const set *s, int n, double *ns) {
    tsr_event *done = NULL;
    tsr_status status = TSR_OK;
    const double begun = now();
    for (int i = 0; i < n && status == TSR_OK; i++)
        status = backend->plan_run(s->plan, &s->run, NULL, i + 1 == n ? &done : NULL);
    if (status == TSR_OK)
        status = wait(done);
    *ns = (now() - begun) / n;
    return status;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct samples {
    double runs[MOST_RUNS], beside[MOST_RUNS];
    int n;
} samples;

/* Takes samples of at least 2 ms each, for this many seconds and at least "repeat" times. */
static const char *take_samples(const set *s, const json_t *request, samples *out) {
    const json_t *wanted = json_object_get(request, "seconds");
    const double seconds = wanted ? json_number_value(wanted) : 0.5;
    const int64_t repeat = bench_int(request, "repeat", 5);
    const char *beside = bench_text(request, "beside", NULL), *failed = NULL;
    double ns = 0;
    tsr_status status = sample(s, 1, &ns);
    if (status == TSR_OK)
        status = sample(s, 1, &ns);
    const int inner = ns < 2e6 ? (int)(2e6 / ns) + 1 : 1;
    const double begun = now();
    for (out->n = 0; status == TSR_OK && !failed && out->n < MOST_RUNS &&
                     (out->n < repeat || now() - begun < seconds * 1e9);
         out->n++) {
        status = sample(s, inner, &out->runs[out->n]);
        if (beside && status == TSR_OK)
            failed = bench_peak(s->dev, beside, 1, &out->beside[out->n]);
    }
    return status == TSR_OK ? failed : sentence;
}

static const char *measure(const set *s, const json_t *request, json_t *answer) {
    const char *beside = bench_text(request, "beside", NULL);
    samples taken = {0};
    const char *failed = take_samples(s, request, &taken);
    if (failed)
        return failed;
    json_t *list = json_array();
    for (int i = 0; i < taken.n && i < 16; i++)
        json_array_append_new(list, json_real(taken.runs[i]));
    qsort(taken.runs, (size_t)taken.n, sizeof *taken.runs, by_size);
    qsort(taken.beside, (size_t)taken.n, sizeof *taken.beside, by_size);
    const double best = taken.runs[0], median = taken.runs[taken.n / 2],
                 peak = taken.beside[taken.n / 2];
    json_object_set_new(answer, "best_ns", json_real(best));
    json_object_set_new(answer, "median_ns", json_real(median));
    json_object_set_new(answer, "samples", json_integer(taken.n));
    json_object_set_new(answer, "runs", list);
    json_object_set_new(answer, "gflops", json_real(s->c->flops / best));
    json_object_set_new(answer, "gbytes", json_real((double)s->weight_bytes / best));
    if (beside) {
        const double done = !strcmp(beside, "read") ? (double)s->weight_bytes : s->c->flops;
        json_object_set_new(answer, "peak_median", json_real(peak));
        json_object_set_new(answer, "share", json_real(done / median / peak));
    }
    return NULL;
}

static tsr_status read_result(const set *s, float *out, size_t bytes) {
    return transfer(s->dev, TSR_TRANSFER_READ, s->c->operands[s->c->result].tensor.buf, bytes, out);
}

static void compare(const float *got, const float *want, int64_t n, json_t *answer) {
    double worst = 0, largest = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double error = fabs((double)got[i] - (double)want[i]);
        worst = error > worst || isnan(error) ? error : worst;
        largest = fmax(largest, fabs((double)want[i]));
        sum += got[i];
    }
    json_object_set_new(answer, "checksum", json_real(sum));
    json_object_set_new(answer, "max_error",
                        isnan(worst) ? json_string("nan")
                                     : json_real(worst / (largest > 0 ? largest : 1)));
}

/* Compares the result with that of the variant `plain`, which runs the same op once. */
static tsr_status check(const set *s, const bench_op *op, bench_case *again, json_t *answer) {
    const int64_t n = count(s->c, &s->c->operands[s->c->result]);
    const size_t bytes = (size_t)n * sizeof(float);
    float *got = malloc(bytes), *want = malloc(bytes);
    set plain = {.dev = s->dev, .c = again};
    char kernels[64];
    double ns;
    snprintf(kernels, sizeof kernels, "%s=plain", op->name);
    tsr_status status = read_result(s, got, bytes);
    if (status == TSR_OK)
        status = prepare(&plain, op, kernels);
    if (status == TSR_OK)
        status = sample(&plain, 1, &ns);
    if (status == TSR_OK)
        status = read_result(&plain, want, bytes);
    if (status == TSR_OK)
        compare(got, want, n, answer);
    drop(&plain);
    free(got);
    free(want);
    return status;
}

static void keep_chosen(void *data, const tsr_variant *variant) {
    if (!variant->chosen)
        return;
    json_object_set_new(data, "row", json_string(variant->name));
    json_object_set_new(data, "tunables", json_string(variant->tunables));
}

const char *bench_time(tsr_dev *dev, const bench_op *op, bench_case *c, const json_t *request,
                       json_t *answer) {
    set s = {.dev = dev, .c = c};
    bench_case again = *c; /* without buffers yet */
    tsr_status status = prepare(&s, op, bench_text(request, "kernels", NULL));
    const char *failed = status == TSR_OK ? measure(&s, request, answer) : NULL;
    if (failed) {
        drop(&s);
        return failed;
    }
    if (status == TSR_OK && bench_int(request, "check", 1))
        status = check(&s, op, &again, answer);
    if (status == TSR_OK)
        status = backend->plan_explain(s.plan, 0, keep_chosen, answer);
    json_object_set_new(answer, "bytes", json_integer((json_int_t)s.weight_bytes));
    drop(&s);
    return status == TSR_OK ? NULL : sentence;
}
