/* task/bench/bench.c - tsr_bench: the peaks, then every prompt, generation and training step that
 * was asked for. */
#include "task/bench/bench.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"

#include <inttypes.h>
#include <stdlib.h>

#define MOST_SECONDS 60

typedef struct list {
    tsri_task_job *jobs;
    size_t n;
} list;

static void add(list *l, tsr_bench_kind kind, int64_t tokens, int64_t depth, int64_t batch) {
    l->jobs[l->n++] =
        (tsri_task_job){.kind = kind, .tokens = tokens, .depth = depth, .batch = batch};
}

static tsr_status check(const list *l) {
    for (size_t i = 0; i < l->n; i++) {
        const tsri_task_job *job = &l->jobs[i];
        if (job->tokens < 1 || job->depth < 0 || job->batch < 1 || job->batch > 1 << 16)
            return tsri_base_fail(
                TSR_E_ARGUMENT,
                "%" PRId64 " tokens at depth %" PRId64 " in a batch of %" PRId64
                ": there must be at least 1 token, a depth of 0 or more and a batch of 1 to 65536",
                job->tokens, job->depth, job->batch);
    }
    return TSR_OK;
}

/* The jobs of the model, and from *trains on, those of training. */
static tsr_status list_jobs(const tsr_bench_options *o, list *l, size_t *trains) {
    static const int64_t none[] = {0}, one[] = {1};
    const int64_t *depths = o->depths ? o->depths : none, *batches = o->batches ? o->batches : one;
    const uint32_t n_depths = o->depths ? o->n_depths : 1,
                   n_batches = o->batches ? o->n_batches : 1;
    TRY(tsri_base_new((size_t)(o->n_prompts + o->n_generates + o->n_trains) * n_depths * n_batches +
                          1,
                      sizeof *l->jobs, &l->jobs));
    for (int kind = TSR_BENCH_PROMPT; kind <= TSR_BENCH_GENERATE; kind++) {
        const bool prompt = kind == TSR_BENCH_PROMPT;
        for (uint32_t i = 0; i < (prompt ? o->n_prompts : o->n_generates); i++)
            for (uint32_t d = 0; d < n_depths; d++)
                for (uint32_t s = 0; s < n_batches; s++)
                    add(l, (tsr_bench_kind)kind, prompt ? o->prompts[i] : o->generates[i],
                        depths[d], batches[s]);
    }
    *trains = l->n;
    for (uint32_t i = 0; i < o->n_trains; i++)
        for (uint32_t s = 0; s < n_batches; s++)
            add(l, TSR_BENCH_TRAIN, o->trains[i], 0, batches[s]);
    return check(l);
}

static tsr_status run_all(tsri_task_bench *b, const tsr_bench_options *o, const char *model,
                          const tsr_model_options *options) {
    list l = {0};
    size_t trains = 0;
    tsr_status status = list_jobs(o, &l, &trains);
    if (status == TSR_OK && trains < l.n && options->n_lora)
        status = tsri_base_fail(TSR_E_ARGUMENT,
                                "training steps change all weights of a model, and adapters (%s) "
                                "have no part in them: measure the model with its adapters "
                                "without training steps",
                                options->lora[0]);
    if (status == TSR_OK)
        status = tsri_task_bench_peaks(b);
    if (status == TSR_OK && model && trains)
        status = tsri_task_bench_model(b, model, options, l.jobs, trains);
    for (size_t i = trains; i < l.n && model && status == TSR_OK; i++)
        status = tsri_task_bench_train(b, model, &l.jobs[i]);
    free(l.jobs);
    return status;
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
    const uint32_t repeats = known.repeats ? known.repeats : 5;
    const tsri_task_sink sink = {.row = row,
                                 .data = data,
                                 .summary = &counted,
                                 .progress = known.progress,
                                 .progress_data = known.progress_data};
    tsri_task_bench b = {.engine = engine,
                         .device = device,
                         .sink = &sink,
                         .rule = {.least = repeats, .most = repeats, .most_seconds = MOST_SECONDS},
                         .cpu = tsri_task_bench_is_cpu(device),
                         .vendor = tsri_task_bench_vendor(device)};
    const tsr_status status = run_all(&b, &known, model, &opened);
    tsri_base_give(&counted, sizeof counted, summary);
    return status;
}
