/* task/bench/rows.c - what every part of the benchmark does with a row: computes its figures from
 * samples, sets its status, and hands it on. */
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "task/bench/bench.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STOLEN 0.05 /* the share of processor time from which it is told */

void tsri_task_draft_begin(tsri_task_draft *draft, tsr_bench_kind kind, const char *unit,
                           const char *format, ...) {
    va_list args;
    *draft = (tsri_task_draft){
        .row = {.struct_size = sizeof draft->row, .kind = kind, .unit = unit, .reason = ""}};
    va_start(args, format);
    vsnprintf(draft->test, sizeof draft->test, format, args);
    va_end(args);
}

void tsri_task_bench_name_row(const tsri_task_job *job, tsri_task_draft *draft) {
    const long long tokens = job->tokens, depth = job->depth;
    tsr_bench_row *row;
    if (job->kind == TSR_BENCH_EMBED)
        tsri_task_draft_begin(draft, job->kind, "sentences/s", "embed%lld", tokens);
    else if (job->kind == TSR_BENCH_TRANSLATE)
        tsri_task_draft_begin(draft, job->kind, "tokens/s", "translate%lld+%lld", depth, tokens);
    else if (job->request)
        tsri_task_draft_begin(draft, job->kind, "s", "request%lld+%lld", depth, tokens);
    else if (depth)
        tsri_task_draft_begin(draft, job->kind, "tokens/s", "%s%lld@%lld",
                              job->kind == TSR_BENCH_PROMPT ? "pp" : "tg", tokens, depth);
    else
        tsri_task_draft_begin(draft, job->kind, "tokens/s", "%s%lld",
                              job->kind == TSR_BENCH_PROMPT ? "pp" : "tg", tokens);
    row = &draft->row;
    row->tokens = job->tokens;
    row->depth = job->depth;
    row->batch = job->batch;
    row->scenario = job->batch > 1 ? TSR_BENCH_OFFLINE : TSR_BENCH_SINGLE_STREAM;
}

tsr_status tsri_task_bench_reads(tsr_model *model, const tsri_task_job *job) {
    const tsri_model_spec *spec = &tsri_model_of(model)->spec;
    const int64_t n = job->tokens, past = job->depth;
    if (job->kind == TSR_BENCH_EMBED && n > spec->source_context)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "texts of %" PRId64 " tokens are too long: the model reads %" PRId64,
                              n, spec->source_context);
    if ((job->kind == TSR_BENCH_PROMPT || job->kind == TSR_BENCH_GENERATE ||
         job->kind == TSR_BENCH_SERVE) &&
        n + past > spec->max_positions)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%" PRId64 " tokens behind %" PRId64
                              " are too many: the model reads %" PRId64,
                              n, past, spec->max_positions);
    return TSR_OK;
}

void tsri_task_draft_note(tsri_task_draft *draft, const char *format, ...) {
    va_list args;
    const size_t n = strlen(draft->reason), joint = n ? 2 : 0;
    if (n + joint + 1 >= sizeof draft->reason)
        return;
    memcpy(draft->reason + n, n ? "; " : "", joint + 1);
    va_start(args, format);
    vsnprintf(draft->reason + n + joint, sizeof draft->reason - n - joint, format, args);
    va_end(args);
}

void tsri_task_draft_void(tsri_task_draft *draft, uint32_t status, const char *reason) {
    tsr_bench_row *row = &draft->row;
    row->status = status;
    snprintf(draft->reason, sizeof draft->reason, "%s", reason);
    row->median = row->lowest = row->highest = row->p90 = row->p99 = row->roofline =
        row->predicted = 0;
    memset(row->predicted_seconds, 0, sizeof row->predicted_seconds);
    row->first_token = row->per_token = 0;
    row->outliers = row->noisy = 0;
    draft->samples.n = draft->samples.earlier = 0;
}

void tsri_task_draft_fail(tsri_task_draft *draft, tsr_status status) {
    char why[sizeof draft->reason];
    snprintf(why, sizeof why, "%s", tsr_error_last());
    tsri_task_draft_void(
        draft, status == TSR_E_UNSUPPORTED ? TSR_BENCH_UNSUPPORTED : TSR_BENCH_ERROR, why);
}

tsr_status tsri_task_draft_kernel(tsri_task_draft *draft, const char *op, const char *name,
                                  const char *tuning) {
    const char *variant = strchr(name, '/');
    variant = variant ? variant + 1 : name;
    const size_t n = strcspn(variant, ":");
    tsr_bench_row *row = &draft->row;
    for (uint32_t i = 0; i < row->n_kernels; i++)
        if (!strcmp(draft->kernels[i].op, op) && strlen(draft->kernels[i].variant) == n &&
            !strncmp(draft->kernels[i].variant, variant, n) &&
            !strcmp(draft->kernels[i].tuning, tuning))
            return TSR_OK;
    TRY(tsri_base_grow(&draft->kernels, &draft->kernels_room, row->n_kernels + 1,
                       sizeof *draft->kernels));
    tsr_bench_kernel *kernel = &draft->kernels[row->n_kernels++];
    kernel->op = tsri_base_copy_text(op, strlen(op));
    kernel->variant = tsri_base_copy_text(variant, n);
    kernel->tuning = tsri_base_copy_text(tuning, strlen(tuning));
    return kernel->op && kernel->variant && kernel->tuning ? TSR_OK : TSR_E_HOST_MEMORY;
}

/* An op of a plan whose kernel variant is being added. */
typedef struct planned_op {
    tsri_task_draft *draft;
    const char *op;
    tsr_status status;
} planned_op;

static void add_chosen(void *data, const tsr_variant *variant) {
    planned_op *to = data;
    if (variant->chosen && to->status == TSR_OK)
        to->status = tsri_task_draft_kernel(to->draft, to->op, variant->name ? variant->name : "",
                                            variant->tunables ? variant->tunables : "");
}

tsr_status tsri_task_draft_plan(tsri_task_draft *draft, const tsri_run_plan *plan) {
    for (size_t i = 0; i < tsri_run_step_count(plan); i++) {
        tsri_run_step step = {0};
        TRY(tsri_run_step_at(plan, i, &step));
        planned_op op = {.draft = draft, .op = step.op};
        TRY(tsri_run_step_variants(plan, i, add_chosen, &op));
        TRY(op.status);
    }
    return TSR_OK;
}

void tsri_task_draft_clear(tsri_task_draft *draft) {
    for (uint32_t i = 0; i < draft->row.n_kernels; i++) {
        free((char *)draft->kernels[i].op);
        free((char *)draft->kernels[i].variant);
        free((char *)draft->kernels[i].tuning);
    }
    free(draft->kernels);
    free(draft->samples.values);
    free(draft->requests[0]);
    free(draft->requests[1]);
    *draft = (tsri_task_draft){0};
}

tsr_status tsri_task_draft_latencies(tsri_task_draft *draft, const double *first,
                                     const double *each, uint32_t n, uint32_t per_sample) {
    const tsri_task_draft *before = draft->before ? &draft->before->draft : NULL;
    const uint32_t all = (draft->samples.n - draft->samples.earlier) * per_sample,
                   last = all < n ? all : n, earlier = before ? before->n_requests : 0;
    const double *const times[] = {first + n - last, each + n - last};
    double *const medians[] = {&draft->row.first_token, &draft->row.per_token}, *sorted = NULL;
    if (!last)
        return TSR_OK;
    draft->n_requests = earlier + last;
    TRY(tsri_base_new(draft->n_requests, sizeof *sorted, &sorted));
    tsr_status status = TSR_OK;
    for (int i = 0; i < 2 && status == TSR_OK; i++) {
        status = tsri_base_new(draft->n_requests, sizeof *sorted, &draft->requests[i]);
        if (status != TSR_OK)
            break;
        if (earlier)
            memcpy(draft->requests[i], before->requests[i], earlier * sizeof *sorted);
        memcpy(draft->requests[i] + earlier, times[i], last * sizeof *sorted);
        *medians[i] = tsri_task_spread_of(draft->requests[i], draft->n_requests, sorted).median;
    }
    free(sorted);
    return status;
}

/* Both readings are of an idle machine: the device's threads sleep before and after the samples. */
void tsri_task_draft_company(tsri_task_draft *draft, bool cpu) {
    const tsr_bench_conditions *c = &draft->conditions;
    const double load = (c->load[0] + c->load[1]) / 2;
    if (draft->row.status != TSR_BENCH_OK && draft->row.status != TSR_BENCH_THROTTLED)
        return;
    if (cpu && load >= 1) {
        draft->row.noisy = 1;
        tsri_task_draft_note(draft, "%.0f threads of other programs were running", load);
    }
    if (cpu && draft->others > 0) {
        draft->row.noisy = 1;
        tsri_task_draft_note(draft, "other programs used %.1f cores meanwhile", draft->others);
    }
    if (cpu && c->steal > STOLEN) {
        draft->row.noisy = 1;
        tsri_task_draft_note(draft, "the hypervisor took %.0f %% of the time", 100 * c->steal);
    }
}

tsr_status tsri_task_bench_cancelled(void) {
    return tsri_base_fail(TSR_E_CANCELLED, "the benchmark was cancelled");
}

void tsri_task_draft_bind(tsri_task_draft *draft) {
    tsr_bench_row *row = &draft->row;
    row->test = draft->test;
    row->reason = draft->reason;
    row->samples = draft->samples.values;
    row->n_samples = draft->samples.n;
    row->first_pass = draft->samples.earlier;
    row->warmup = draft->samples.warmup;
    row->kernels = draft->kernels;
    row->conditions = row->conditions ? &draft->conditions : NULL;
}

tsr_status tsri_task_draft_give(tsri_task_draft *draft, const tsri_task_sink *sink) {
    const tsr_bench_row *row = &draft->row;
    tsr_bench_summary *s = sink->summary;
    uint32_t *const counts[] = {[TSR_BENCH_OK] = &s->ok,
                                [TSR_BENCH_UNSUPPORTED] = &s->unsupported,
                                [TSR_BENCH_FAILED_ACCURACY] = &s->failed_accuracy,
                                [TSR_BENCH_ERROR] = &s->errors,
                                [TSR_BENCH_THROTTLED] = &s->throttled};
    ++*counts[row->status];
    tsri_task_draft_bind(draft);
    const bool stop = sink->row(sink->data, row);
    tsri_task_draft_clear(draft);
    return stop ? tsri_task_bench_cancelled() : TSR_OK;
}

tsr_status tsri_task_bench_tell(const tsri_task_sink *sink, const char *what) {
    return sink->progress && sink->progress(sink->progress_data, what) ? tsri_task_bench_cancelled()
                                                                       : TSR_OK;
}

void tsri_task_bench_ids(int32_t *ids, int64_t n, int32_t vocab) {
    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)(tsri_base_uniform(1, 0, (uint64_t)i) * vocab);
}

/* Marks the row as noisy where its median is uncertain, and says why. */
static void note_noise(tsri_task_draft *draft) {
    const tsri_task_noise *noise = &draft->samples.noise;
    draft->row.noisy = tsri_task_is_noisy(noise);
    if (noise->unsteady)
        tsri_task_draft_note(draft, "its times never became steady in %u runs", noise->unsteady);
    if (noise->interval > 0)
        tsri_task_draft_note(draft,
                             "the 95 %% interval of the median extends %.1f %% to either side",
                             100 * noise->interval);
    if (noise->apart > 0)
        tsri_task_draft_note(draft, "the medians of five consecutive parts differ by %.1f %%",
                             100 * noise->apart);
    if (noise->passes > 0)
        tsri_task_draft_note(
            draft, "the medians of its two passes differ by %.1f %%: %.4g and %.4g %s",
            100 * noise->passes, noise->medians[0], noise->medians[1], draft->row.unit);
}

tsr_status tsri_task_draft_figures(tsri_task_draft *draft) {
    tsri_task_samples *s = &draft->samples;
    tsr_bench_row *row = &draft->row;
    const bool seconds = !strcmp(row->unit, "s");
    double *sorted = NULL;
    TRY(tsri_base_new(s->n, sizeof *sorted, &sorted));
    const tsri_task_spread spread = tsri_task_spread_of(s->values, s->n, sorted);
    row->median = spread.median;
    row->lowest = spread.lowest;
    row->highest = spread.highest;
    row->p90 = seconds ? spread.p90 : spread.p10;
    row->p99 = seconds ? spread.p99 : spread.p1;
    row->outliers = spread.outliers;
    free(sorted);
    note_noise(draft);
    return TSR_OK;
}
