/* task/bench/bench.c - tsr_bench: measures the peaks, then every prompt, generation and training
 * step, then compares results with the reference's: the gate that rows must pass. */
#include "task/bench/bench.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "tessera/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row of results and the texts that it owns. */
typedef struct kept {
    tsr_bench_row row;
    char test[48];
    char *kernels, *reason;
} kept;

typedef struct bench {
    const tsr_bench_options *options;
    const tsri_task_sink *sink;
    const tsr_device *device;
    tsri_run_peaks best, now; /* the device's peaks: the best so far, and the latest */
    uint64_t host_bytes;      /* the largest resident set so far, not counting that of the peaks */
    kept *rows;
    size_t n;
    double *values;
} bench;

/* ---- rows ---- */

/* Removes the row's figures, except those of the gate. */
static tsr_status void_row(kept *k, uint32_t status, const char *why) {
    free(k->reason);
    k->reason = tsri_base_copy_text(why, strlen(why));
    k->row.status = status;
    k->row.median = k->row.lowest = k->row.highest = 0;
    k->row.roofline = k->row.predicted = 0;
    k->row.runs = 0;
    return k->reason ? TSR_OK : TSR_E_HOST_MEMORY;
}

static tsr_status void_all(bench *b, tsr_status status) {
    char why[1024];
    snprintf(why, sizeof why, "%s", tsr_error_last());
    for (size_t i = 0; i < b->n; i++)
        if (b->rows[i].row.status == TSR_BENCH_OK && b->rows[i].row.kind != TSR_BENCH_TRAIN)
            TRY(void_row(&b->rows[i], tsri_task_bench_failed(status), why));
    return TSR_OK;
}

static void add_row(bench *b, tsr_bench_kind kind, int64_t tokens, int64_t depth, int64_t batch) {
    kept *k = &b->rows[b->n++];
    static const char *const names[] = {
        [TSR_BENCH_PROMPT] = "pp", [TSR_BENCH_GENERATE] = "tg", [TSR_BENCH_TRAIN] = "train"};
    size_t n = (size_t)snprintf(k->test, sizeof k->test, "%s%" PRId64, names[kind], tokens);
    if (depth)
        snprintf(k->test + n, sizeof k->test - n, "@%" PRId64, depth);
    k->row = (tsr_bench_row){.struct_size = sizeof k->row,
                             .kind = kind,
                             .unit = "tokens/s",
                             .tokens = tokens,
                             .depth = depth,
                             .batch = batch};
}

static tsr_status list_rows(bench *b) {
    static const int64_t none[] = {0}, one[] = {1};
    const tsr_bench_options *o = b->options;
    const int64_t *depths = o->depths ? o->depths : none, *batches = o->batches ? o->batches : one;
    const uint32_t n_depths = o->depths ? o->n_depths : 1,
                   n_batches = o->batches ? o->n_batches : 1;
    TRY(tsri_base_new((size_t)(o->n_prompts + o->n_generates + o->n_trains) * n_depths * n_batches +
                          1,
                      sizeof *b->rows, &b->rows));
    for (int kind = TSR_BENCH_PROMPT; kind <= TSR_BENCH_GENERATE; kind++) {
        const bool prompt = kind == TSR_BENCH_PROMPT;
        for (uint32_t i = 0; i < (prompt ? o->n_prompts : o->n_generates); i++)
            for (uint32_t d = 0; d < n_depths; d++)
                for (uint32_t s = 0; s < n_batches; s++)
                    add_row(b, (tsr_bench_kind)kind, prompt ? o->prompts[i] : o->generates[i],
                            depths[d], batches[s]);
    }
    for (uint32_t i = 0; i < o->n_trains; i++)
        for (uint32_t s = 0; s < n_batches; s++)
            add_row(b, TSR_BENCH_TRAIN, o->trains[i], 0, batches[s]);
    for (size_t i = 0; i < b->n; i++) {
        const tsr_bench_row *row = &b->rows[i].row;
        if (row->tokens < 1 || row->depth < 0 || row->batch < 1 || row->batch > 1 << 16)
            return tsri_base_fail(
                TSR_E_ARGUMENT,
                "%" PRId64 " tokens at depth %" PRId64 " in a batch of %" PRId64
                ": there must be at least 1 token, a depth of 0 or more and a batch of 1 to 65536",
                row->tokens, row->depth, row->batch);
    }
    return TSR_OK;
}

/* ---- measuring ---- */

/* Makes the kernel count the peak of resident memory anew, because measuring the device's peaks
 * took memory, too (Linux 4.0). */
static void forget_host_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "we");
    if (!file)
        return;
    fputs("5", file);
    fclose(file);
}

static uint64_t host_peak(bench *b) {
    const uint64_t now = tsri_base_resident_peak();
    b->host_bytes = now > b->host_bytes ? now : b->host_bytes;
    return b->host_bytes;
}

/* Measures the peaks now; the memory that this takes is left out of the host's. */
static void measure_peaks(bench *b) {
    host_peak(b);
    const tsri_run_peaks last = b->now;
    tsri_task_bench_beside(b->device, &last, &b->now);
    tsri_task_bench_best(&b->best, &b->now);
    forget_host_peak();
}

/* Notes why a row's share is doubtful, after its runs; `before`: the peaks from before them. */
static tsr_status doubt(bench *b, const tsri_run_peaks *before, kept *k) {
    char why[256];
    if (k->row.roofline <= 0 ||
        !tsri_task_bench_doubt(&b->best, before, &b->now, k->row.roofline, why, sizeof why))
        return TSR_OK;
    k->reason = tsri_base_copy_text(why, strlen(why));
    return k->reason ? TSR_OK : TSR_E_HOST_MEMORY;
}

/* Measures the tokens per second of one run. ids: as many as the run has tokens, and for generation
 * room for as many that it finds. */
static tsr_status time_once(tsr_session *session, const kept *k, int32_t *ids, double *rate) {
    const tsr_bench_row *row = &k->row;
    const size_t n = (size_t)row->tokens;
    for (uint32_t i = 0; i < row->batch; i++)
        TRY(tsr_session_rewind(session, i, row->depth));
    const uint64_t begun = tsri_base_now_ns();
    if (row->kind == TSR_BENCH_PROMPT)
        TRY(tsr_session_step(session, ids, n, NULL, NULL));
    else
        TRY(tsr_session_greedy(session, ids, n, ids + n * (size_t)row->batch));
    const uint64_t all = tsri_base_now_ns() - begun;
    *rate = (double)(row->tokens * row->batch) / ((double)(all ? all : 1) * 1e-9);
    return TSR_OK;
}

static tsr_status time_runs(bench *b, tsr_session *session, kept *k, int32_t *ids) {
    tsr_bench_row *row = &k->row;
    /* Run the tokens before in pieces of the size to be measured, so that no other plan is built.
     */
    for (int64_t past = 0; past < row->depth; past += row->tokens) {
        const int64_t left = row->depth - past, n = left < row->tokens ? left : row->tokens;
        TRY(tsr_session_step(session, ids, (size_t)n, NULL, NULL));
    }
    double unused;
    TRY(time_once(session, k, ids,
                  &unused)); /* builds the plan, and touches its memory for the first time */
    for (uint32_t i = 0; i < b->options->repeats; i++)
        TRY(time_once(session, k, ids, &b->values[i]));
    tsri_task_bench_spread(b->values, b->options->repeats, row);
    row->runs = b->options->repeats;
    return TSR_OK;
}

static uint64_t device_bytes(const tsr_model *model) {
    tsr_model_memory m = {.struct_size = sizeof m};
    return tsr_model_memory_get(model, &m) == TSR_OK
               ? m.weights + m.states + m.activations + m.inputs
               : 0;
}

static tsr_status measure(bench *b, tsr_model *model, kept *k) {
    tsr_bench_row *row = &k->row;
    tsr_session *session = NULL;
    int32_t *ids = NULL;
    size_t n = 0;
    const int64_t reads = tsri_model_of(model)->spec.max_positions;
    if (row->depth + row->tokens > reads)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%" PRId64 " tokens behind %" PRId64
                              " are too many: the model reads %" PRId64,
                              row->tokens, row->depth, reads);
    if (!__builtin_mul_overflow((size_t)row->batch, (size_t)row->tokens, &n))
        TRY(tsri_base_new(n, 2 * sizeof *ids, &ids));
    tsri_task_bench_ids(ids, (int64_t)n, tsri_model_of(model)->spec.vocab);
    const tsr_session_options options = {.struct_size = sizeof options,
                                         .sequences = (uint32_t)row->batch,
                                         .context = row->depth + row->tokens,
                                         .reserve = row->depth + row->tokens};
    tsr_status status = tsr_session_create(model, &options, &session);
    if (status == TSR_OK)
        status = time_runs(b, session, k, ids);
    if (status == TSR_OK)
        row->device_bytes = device_bytes(model);
    row->host_bytes = host_peak(b);
    tsr_session_destroy(&session);
    free(ids);
    const tsri_run_peaks before = b->now;
    if (status == TSR_OK) {
        measure_peaks(b);
        status = tsri_task_bench_work(model, &b->best, row);
    }
    if (status == TSR_OK)
        status = doubt(b, &before, k);
    if (status == TSR_OK)
        status = tsri_task_bench_kernels(model, row->kind == TSR_BENCH_PROMPT ? row->tokens : 1,
                                         &k->kernels);
    return status;
}

static tsr_status measure_all(bench *b, tsr_model *model) {
    for (size_t i = 0; i < b->n; i++) {
        kept *k = &b->rows[i];
        if (k->row.kind == TSR_BENCH_TRAIN)
            continue;
        TRY(tsri_task_bench_tell(b->options, k->test));
        const tsr_status status = measure(b, model, k);
        if (status != TSR_OK)
            TRY(void_row(k, tsri_task_bench_failed(status), tsr_error_last()));
    }
    return TSR_OK;
}

/* ---- the gate ---- */

static tsr_status judge(bench *b, const tsri_task_gate *got, const tsri_task_gate *want) {
    const double bound = tsri_task_gate_bound(got),
                 errors[] = {[TSR_BENCH_PROMPT] =
                                 tsri_task_gate_error(got->prompt, want->prompt, want->vocab),
                             [TSR_BENCH_GENERATE] =
                                 tsri_task_gate_error(got->next, want->prompt, want->vocab)};
    for (size_t i = 0; i < b->n; i++) {
        tsr_bench_row *row = &b->rows[i].row;
        char why[160];
        if (row->status != TSR_BENCH_OK || row->kind == TSR_BENCH_TRAIN)
            continue;
        row->error = errors[row->kind];
        row->bound = bound;
        if (row->error <= bound)
            continue;
        snprintf(
            why, sizeof why,
            "logits are off by %.3g of the largest; at most %.3g is allowed: a kernel is wrong "
            "on this device; tessera verify tells which",
            row->error, bound);
        TRY(void_row(&b->rows[i], TSR_BENCH_FAILED_ACCURACY, why));
    }
    return TSR_OK;
}

/* Computes the same logits by the reference, after the device's model was closed, so that there
 * need be memory for only one. */
static tsr_status pass_gate(bench *b, tsr_engine *engine, const char *name,
                            const tsr_model_options *options, const tsri_task_gate *got) {
    const tsr_device_open_options plain = {.struct_size = sizeof plain};
    tsr_device *device = NULL;
    tsr_model *model = NULL;
    tsri_task_gate want = {0};
    TRY(tsri_task_bench_tell(b->options, "the reference, for the accuracy gate"));
    tsr_status status = tsr_device_open(engine, "reference", &plain, &device);
    if (status == TSR_OK)
        status = tsr_model_open(name, device, options, &model);
    if (status == TSR_OK)
        status = tsri_task_gate_run(model, false, &want);
    status = status == TSR_OK ? judge(b, got, &want) : void_all(b, status);
    tsri_task_gate_clear(&want);
    tsr_model_close(&model);
    tsr_device_close(&device);
    return status;
}

static tsr_status run_model(bench *b, tsr_engine *engine, tsr_device *device, const char *name,
                            const tsr_model_options *options) {
    tsr_model *model = NULL;
    tsri_task_gate got = {0};
    TRY(tsri_task_bench_tell(b->options, name));
    tsr_status opened = tsr_model_open(name, device, options, &model), status = TSR_OK;
    if (opened == TSR_OK)
        status = measure_all(b, model);
    if (opened == TSR_OK && status == TSR_OK)
        opened = tsri_task_gate_run(model, true, &got);
    if (opened == TSR_E_CANCELLED || status != TSR_OK)
        status = status == TSR_OK ? opened : status;
    else if (opened != TSR_OK)
        status = void_all(b, opened);
    tsr_model_close(&model);
    if (opened == TSR_OK && status == TSR_OK)
        status = pass_gate(b, engine, name, options, &got);
    tsri_task_gate_clear(&got);
    return status;
}

/* ---- training ---- */

static tsr_status train(bench *b, tsr_engine *engine, tsr_device *device, const char *name,
                        kept *k) {
    static const double bound = 1e-3;
    char why[160];
    TRY(tsri_task_bench_tell(b->options, k->test));
    tsr_status status = tsri_task_bench_train(device, name, b->options->repeats, &b->best, &k->row);
    k->row.host_bytes = host_peak(b);
    const tsri_run_peaks before = b->now;
    const double used = b->best.fma_f32;
    if (status == TSR_OK && k->row.roofline > 0) {
        measure_peaks(b);
        k->row.roofline *= used / b->best.fma_f32;
        status = doubt(b, &before, k);
    }
    if (status == TSR_OK)
        status = tsri_task_bench_train_gate(engine, device, name, &k->row.error);
    if (status != TSR_OK)
        return void_row(k, tsri_task_bench_failed(status), tsr_error_last());
    k->row.bound = bound;
    if (k->row.error <= bound)
        return TSR_OK;
    snprintf(
        why, sizeof why,
        "the loss or the gradients are off by %.3g; at most %.3g is allowed: a kernel is wrong "
        "on this device; tessera verify tells which",
        k->row.error, bound);
    return void_row(k, TSR_BENCH_FAILED_ACCURACY, why);
}

static bool all_train(const bench *b) {
    for (size_t i = 0; i < b->n; i++)
        if (b->rows[i].row.kind != TSR_BENCH_TRAIN)
            return false;
    return true;
}

/* ---- the whole benchmark ---- */

static tsr_status run_all(bench *b, tsr_engine *engine, tsr_device *device, const char *model,
                          const tsr_model_options *options) {
    TRY(list_rows(b));
    TRY(tsri_base_new(b->options->repeats, sizeof *b->values, &b->values));
    TRY(tsri_task_bench_peaks(device, b->options, b->sink, &b->now));
    if (!model || !b->n)
        return TSR_OK;
    b->device = device;
    b->best = b->now;
    forget_host_peak();
    if (!all_train(b))
        TRY(run_model(b, engine, device, model, options));
    for (size_t i = 0; i < b->n; i++)
        if (b->rows[i].row.kind == TSR_BENCH_TRAIN)
            TRY(train(b, engine, device, model, &b->rows[i]));
    for (size_t i = 0; i < b->n; i++) {
        kept *k = &b->rows[i];
        k->row.test = k->test;
        k->row.kernels = k->kernels ? k->kernels : "";
        k->row.reason = k->reason ? k->reason : "";
        TRY(tsri_task_bench_emit(b->sink, &k->row));
    }
    return TSR_OK;
}

tsr_status tsr_bench(tsr_engine *engine, tsr_device *device, const char *model,
                     const tsr_model_options *model_options, const tsr_bench_options *options,
                     int (*row)(void *data, const tsr_bench_row *row), void *data,
                     tsr_bench_summary *summary) {
    tsr_bench_options known;
    tsr_model_options opened;
    TRY(NEED(engine));
    TRY(NEED(device));
    TRY(NEED(row));
    TRY(tsri_base_adopt("tsr_bench_options", options, &known, sizeof known));
    TRY(tsri_base_check_out("tsr_bench_summary", summary));
    TRY(tsri_base_adopt("tsr_model_options", model_options, &opened, sizeof opened));
    opened.struct_size = sizeof opened;
    tsr_bench_summary counted = {.struct_size = sizeof counted};
    known.repeats = known.repeats ? known.repeats : 5;
    const tsri_task_sink sink = {.row = row, .data = data, .summary = &counted};
    bench b = {.options = &known, .sink = &sink};
    const tsr_status status = run_all(&b, engine, device, model, &opened);
    for (size_t i = 0; b.rows && i < b.n; i++) {
        free(b.rows[i].kernels);
        free(b.rows[i].reason);
    }
    free(b.rows);
    free(b.values);
    tsri_base_give(&counted, sizeof counted, summary);
    return status;
}
