/* task/bench/serving.c - makes the rows of requests to a scheduler: first all of them at once, which
 * gives the throughput, and then by a Poisson process at a share of it, so that no queue grows. */
#include "task/bench/bench.h"
#include "task/bench/runs/arrivals.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 16, PERCENT = 70 }; /* of a run; of the throughput */

/* Latencies of all requests so far. */
typedef struct times {
    double *first, *each;
    size_t first_room, each_room;
    uint32_t n;
} times;

typedef struct serving {
    tsri_task_bench *b;
    tsr_model *model;
    const tsri_task_job *job;
    const tsr_bench_row *common;
    const char *failed, *note;
    tsri_task_arrivals *arrivals;
    double rate; /* requests per second; 0: all at once */
    uint64_t runs;
    times times;
} serving;

/* Each run has arrivals of its own, which are the same on every machine. */
static tsr_status once(void *data, double *seconds) {
    serving *s = data;
    times *t = &s->times;
    TRY(tsri_base_grow(&t->first, &t->first_room, t->n + REQUESTS, sizeof *t->first));
    TRY(tsri_base_grow(&t->each, &t->each_room, t->n + REQUESTS, sizeof *t->each));
    TRY(tsri_task_arrivals_run(s->arrivals, s->rate, ++s->runs, t->first + t->n, t->each + t->n,
                               seconds));
    t->n += REQUESTS;
    return TSR_OK;
}

/* In the order of the rows. */
enum { ALL_AT_ONCE, RATE, FIRST_TOKEN, PER_TOKEN };
static const struct {
    const char *unit, *name, *what;
    uint32_t scenario;
} rows[TSRI_TASK_BENCH_SERVES] = {
    [ALL_AT_ONCE] = {"tokens/s", "serve", "", TSR_BENCH_OFFLINE},
    [RATE] = {"tokens/s", "poisson", "", TSR_BENCH_SERVER},
    [FIRST_TOKEN] = {"s", "poisson", " first token", TSR_BENCH_SERVER},
    [PER_TOKEN] = {"s", "poisson", " per token", TSR_BENCH_SERVER}};

static void begin_row(const serving *s, int which, tsri_task_draft *draft) {
    const tsri_task_job *job = s->job;
    tsri_task_draft_begin(draft, job->kind, rows[which].unit, "%s%lld+%lld%s", rows[which].name,
                          (long long)job->depth, (long long)job->tokens, rows[which].what);
    tsr_bench_row *row = &draft->row;
    row->model = s->common->model;
    row->quality = s->common->quality;
    row->error = s->common->error;
    row->bound = s->common->bound;
    row->tokens = job->tokens;
    row->depth = job->depth;
    row->batch = job->batch;
    row->requests = REQUESTS;
    row->scenario = rows[which].scenario;
    tsri_task_bench_recall(s->b, draft);
}

/* Measures tokens a second over all requests of a run. */
static tsr_status measure(serving *s, tsri_task_draft *draft) {
    const double tokens = (double)(REQUESTS * s->job->tokens);
    s->times.n = 0;
    TRY(tsri_task_bench_time(s->b, draft, tokens, once, s));
    draft->row.device_bytes = tsri_task_bench_device_bytes(s->model);
    return tsri_task_draft_latencies(draft, s->times.first, s->times.each, s->times.n, REQUESTS);
}

/* A row of the latencies of those requests that the row of rates has as its samples. */
static tsr_status latencies(const serving *s, const tsri_task_draft *rates, const double *all,
                            tsri_task_draft *draft) {
    const uint32_t n = (rates->samples.n - rates->samples.earlier) * REQUESTS; /* of this pass */
    const tsr_bench_row *from = &rates->row;
    tsri_task_samples *samples = &draft->samples;
    TRY(tsri_base_grow(&samples->values, &samples->room, n, sizeof *samples->values));
    memcpy(samples->values, all + s->times.n - n, n * sizeof *all);
    samples->n = n;
    samples->warmup = s->times.n - n;
    if (draft->before)
        TRY(tsri_task_samples_join(&draft->before->draft.samples, samples));
    TRY(tsri_task_noise_of(samples->values, samples->n, &samples->noise));
    draft->conditions = rates->conditions;
    draft->row.conditions = &draft->conditions;
    draft->others = rates->others;
    memcpy(draft->row.peak_fma, from->peak_fma, sizeof from->peak_fma);
    memcpy(draft->row.peak_read, from->peak_read, sizeof from->peak_read);
    draft->row.host_bytes = from->host_bytes;
    draft->row.device_bytes = from->device_bytes;
    TRY(tsri_task_bench_kernels(s->model, s->job, draft));
    TRY(tsri_task_draft_figures(draft));
    if (tsri_task_is_noisy(&rates->samples.noise)) {
        draft->row.noisy = 1;
        tsri_task_draft_note(draft, "the rate of the same runs is noisy");
    }
    return TSR_OK;
}

/* Three rows of the same runs: what they say is computed before the first is given away. */
static tsr_status give_poisson(const serving *s, tsr_status status, tsri_task_draft *rates) {
    const double *const times[] = {s->times.first, s->times.each};
    tsri_task_draft drafts[2];
    tsr_status each[2] = {status, status};
    for (int i = 0; i < 2; i++) {
        begin_row(s, FIRST_TOKEN + i, &drafts[i]);
        if (status == TSR_OK)
            each[i] = latencies(s, rates, times[i], &drafts[i]);
    }
    status = tsri_task_bench_finish(s->b, rates, status, s->note);
    for (int i = 0; i < 2; i++)
        if (status == TSR_OK)
            status = tsri_task_bench_finish(s->b, &drafts[i], each[i], s->note);
        else
            tsri_task_draft_clear(&drafts[i]);
    return status;
}

static tsr_status measure_all(serving *s) {
    const tsri_task_arrivals_options options = {.prompt = s->job->depth,
                                                .tokens = s->job->tokens,
                                                .slots = (uint32_t)s->job->batch,
                                                .requests = REQUESTS};
    tsri_task_draft draft;
    begin_row(s, ALL_AT_ONCE, &draft);
    tsr_status status = tsri_task_bench_reads(s->model, s->job);
    if (status == TSR_OK)
        status = tsri_task_arrivals_create(s->model, &options, &s->arrivals);
    if (status == TSR_OK)
        status = measure(s, &draft);
    tsri_task_arrivals_destroy(
        &s->arrivals); /* its session is kept, and serves for the description */
    if (status == TSR_OK)
        status = tsri_task_bench_work(s->model, &s->b->best, s->job, REQUESTS, &draft);
    const double throughput = draft.samples.earlier ? draft.samples.noise.medians[1]
                                                    : draft.row.median, /* of this pass */
        requests = throughput / (double)s->job->tokens;
    TRY(tsri_task_bench_finish(s->b, &draft, status, s->note));
    begin_row(s, RATE, &draft);
    s->rate = requests * PERCENT / 100;
    if (status == TSR_OK)
        status = tsri_task_arrivals_create(s->model, &options, &s->arrivals);
    if (status == TSR_OK)
        status = measure(s, &draft);
    tsri_task_arrivals_destroy(&s->arrivals);
    if (status == TSR_OK)
        status = tsri_task_bench_kernels(s->model, s->job, &draft);
    return give_poisson(s, status, &draft);
}

static tsr_status void_all(const serving *s) {
    for (int i = 0; i < TSRI_TASK_BENCH_SERVES; i++) {
        tsri_task_draft draft;
        begin_row(s, i, &draft);
        tsri_task_draft_void(&draft, s->common->status, s->failed);
        TRY(tsri_task_bench_finish(s->b, &draft, TSR_OK, s->note));
    }
    return TSR_OK;
}

tsr_status tsri_task_bench_serve(tsri_task_bench *b, tsr_model *model, const tsri_task_job *job,
                                 const tsr_bench_row *common, const char *failed,
                                 const char *note) {
    serving s = {
        .b = b, .model = model, .job = job, .common = common, .failed = failed, .note = note};
    const tsri_task_draft *first = tsri_task_bench_first(b);
    const bool runs = common->status == TSR_BENCH_OK && !(first && !first->samples.n);
    const tsr_status status = runs ? measure_all(&s) : void_all(&s);
    free(s.times.first);
    free(s.times.each);
    return status;
}
