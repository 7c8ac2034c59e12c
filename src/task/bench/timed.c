/* task/bench/timed.c - times a row, with the peaks and the machine's state around it. */
#include "task/bench/bench.h"

#include "base/error.h"
#include "base/system/system.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define MOVED 0.15 /* share of a peak from which a difference is reported */

/* Between two runs, the user may stop the benchmark. */
typedef struct asked {
    const tsri_task_sink *sink;
    const tsri_task_draft *draft;
    tsri_task_once once;
    void *data;
} asked;

static tsr_status ask(void *data, double *seconds) {
    const asked *a = data;
    TRY(tsri_task_bench_tell(a->sink, a->draft->test));
    return a->once(a->data, seconds);
}

static void wait_for(double seconds) {
    const struct timespec time = {.tv_sec = (time_t)seconds,
                                  .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

/* Makes Linux count the peak of resident memory anew, so that it is the row's: the gates' models
 * and the device's peaks took memory, too. Other systems count it from the start of the process. */
static void forget_host_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "we");
    if (!file)
        return;
    fputs("5", file);
    fclose(file);
}

tsr_status tsri_task_bench_time(tsri_task_bench *b, tsri_task_draft *draft, double work,
                                tsri_task_once once, void *data) {
    if (*b->broken)
        return tsri_base_fail(TSR_E_DEVICE, "%s", b->broken);
    asked a = {.sink = b->sink, .draft = draft, .once = once, .data = data};
    tsr_bench_row *row = &draft->row;
    row->peak_fma[0] = b->now.fma_f32;
    row->peak_read[0] = b->now.read;
    forget_host_peak();
    const tsri_task_reading before = tsri_task_read_conditions("", b->cpu, b->vendor);
    TRY(tsri_task_sample(&b->rule, ask, &a, &draft->samples));
    const double power = tsri_task_read_conditions("", b->cpu, b->vendor).power;
    wait_for(b->rest);
    tsri_task_reading after = tsri_task_read_conditions("", b->cpu, b->vendor);
    after.power = power;
    draft->conditions = tsri_task_conditions_between(&before, &after);
    if (!row->peer) /* its process still runs: what it used is not in this one's time */
        draft->others = tsri_task_others_between(&before, &after);
    row->conditions = &draft->conditions;
    row->host_bytes = tsri_system_resident_peak();
    for (uint32_t i = 0; i < draft->samples.n && strcmp(row->unit, "s") != 0; i++)
        draft->samples.values[i] = work / draft->samples.values[i];
    tsri_task_bench_beside(b);
    row->peak_fma[1] = b->now.fma_f32;
    row->peak_read[1] = b->now.read;
    if (draft->before) {
        TRY(tsri_task_draft_join(draft));
        TRY(tsri_task_noise_of(draft->samples.values, draft->samples.n, &draft->samples.noise));
    }
    return tsri_task_draft_figures(draft);
}

/* How far the lower of the two is below the best, as a share. */
static double below(double best, const double beside[2]) {
    const double least = beside[0] < beside[1] ? beside[0] : beside[1];
    return best > 0 && least > 0 ? 1 - least / best : 0;
}

void tsri_task_bench_doubt(const tsri_task_bench *b, tsri_task_draft *draft) {
    tsr_bench_row *row = &draft->row;
    const bool reads = draft->held_by == TSR_BENCH_BOUND_MEMORY;
    const double moved =
        reads ? below(b->best.read, row->peak_read) : below(b->best.fma_f32, row->peak_fma);
    if (row->status != TSR_BENCH_OK)
        return;
    if (moved > MOVED) {
        row->status = TSR_BENCH_THROTTLED;
        tsri_task_draft_note(draft,
                             "the device's peak of %s was up to %.0f %% lower beside this row: "
                             "other programs are running, or its clock changes",
                             reads ? "reads" : "multiply-adds", 100 * moved);
    }
    if (row->roofline > 1.005)
        tsri_task_draft_note(draft,
                             "a share of %.0f %% of the roofline is more than the peaks "
                             "allow: they were disturbed, or caches hold what is read",
                             100 * row->roofline);
    tsri_task_draft_company(draft, b->cpu);
}

tsr_status tsri_task_bench_finish(const tsri_task_bench *b, tsri_task_draft *draft,
                                  tsr_status status, const char *note) {
    const uint32_t *const now = &draft->row.status;
    if (status == TSR_E_CANCELLED) {
        tsri_task_draft_clear(draft);
        return status;
    }
    if (status != TSR_OK)
        tsri_task_draft_fail(draft, status);
    if (!draft->held_by)
        draft->held_by = draft->row.bound_by;
    tsri_task_bench_doubt(b, draft);
    snprintf(draft->note, sizeof draft->note, "%s",
             draft->before ? draft->before->draft.note : note);
    note = draft->note;
    if (*note && (*now == TSR_BENCH_OK || *now == TSR_BENCH_THROTTLED))
        tsri_task_draft_note(draft, "%s", note);
    return tsri_task_draft_emit(draft, b);
}
