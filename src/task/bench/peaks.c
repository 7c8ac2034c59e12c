/* task/bench/peaks.c - makes a row for each peak of a device, and measures the peaks again beside
 * each other row: a device's clock changes and other programs come and go, so a peak of minutes ago
 * says little about a rate of now. */
#include "task/bench/bench.h"

#include "backend/opened.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum { BESIDE_RUNS = 3 /* of each peak; the best counts */, CACHED = TSRI_TASK_BENCH_CACHED };
#define CLOCK_LEAST 0.7
#define CLOCK_MOST 1.02

static const struct {
    uint32_t peak;
    const char *test, *unit;
} peaks[] = {
    {TSR_PEAK_FMA_F32, "fma f32", "FLOP/s"},
    {TSR_PEAK_FMA_F16, "fma f16", "FLOP/s"},
    {TSR_PEAK_FMA_BF16, "fma bf16", "FLOP/s"},
    {TSR_PEAK_DOT_INT8, "dot int8", "OP/s"},
    {TSR_PEAK_MATRIX_F16, "matrix f16", "FLOP/s"},
    {TSR_PEAK_MATRIX_BF16, "matrix bf16", "FLOP/s"},
    {TSR_PEAK_MATRIX_INT8, "matrix int8", "OP/s"},
    {TSR_PEAK_READ, "read", "B/s"},
    {TSR_PEAK_READ_AGAIN + 14, "read 16 KiB", "B/s"},
    {TSR_PEAK_READ_AGAIN + 18, "read 256 KiB", "B/s"},
    {TSR_PEAK_READ_AGAIN + CACHED, "read 8 MiB", "B/s"},
    {TSR_PEAK_WRITE, "write", "B/s"},
    {TSR_PEAK_WRITE_AGAIN + 18, "write 256 KiB", "B/s"},
    {TSR_PEAK_WRITE_AGAIN + CACHED, "write 8 MiB", "B/s"},
    {TSR_PEAK_LOCAL, "local memory", "B/s"},
    {TSR_PEAK_LAUNCH, "launch alone", "s"},
    {TSR_PEAK_LAUNCH_BATCHED, "launch batched", "s"},
    {TSR_PEAK_ENQUEUE, "enqueue call", "s"},
    {TSRI_RUN_COPY_WRITE, "copy to device", "B/s"},
    {TSRI_RUN_COPY_READ, "copy from device", "B/s"},
    {TSR_PEAK_COMPILE, "compile", "s"},
    {TSR_PEAK_CLOCK, "event clock", "s"},
};
enum { PEAKS = sizeof peaks / sizeof *peaks };

uint32_t tsri_task_bench_peak_count(void) {
    return PEAKS;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

static double smaller(double a, double b) {
    return a < b ? a : b;
}

/* A type's arithmetic is as fast as the fastest unit for it. */
static void keep(uint32_t peak, double lowest, double best, tsri_task_bench *b) {
    tsri_run_peaks *const out = &b->now;
    switch (peak) {
    case TSR_PEAK_FMA_F32:
        out->fma_f32 = best;
        break;
    case TSR_PEAK_FMA_F16:
    case TSR_PEAK_MATRIX_F16:
        out->fma_f16 = larger(out->fma_f16, best);
        break;
    case TSR_PEAK_FMA_BF16:
    case TSR_PEAK_MATRIX_BF16:
        out->fma_bf16 = larger(out->fma_bf16, best);
        break;
    case TSR_PEAK_DOT_INT8:
    case TSR_PEAK_MATRIX_INT8:
        out->dot_int8 = larger(out->dot_int8, best);
        break;
    case TSR_PEAK_READ:
        out->read = best;
        break;
    case TSR_PEAK_READ_AGAIN + CACHED:
        b->cached = larger(b->cached, best);
        break;
    case TSR_PEAK_LAUNCH_BATCHED:
        out->launch = lowest;
        break;
    default:
        break;
    }
}

/* An honest event lasts no longer than the host waits for it, and, for a launch of 20 ms, not much
 * less. Other programs make the host wait longer, so the largest share counts. */
static void check_clock(tsri_task_bench *b, tsri_task_draft *draft) {
    const double share = draft->row.highest;
    if (share > CLOCK_LEAST && share < CLOCK_MOST)
        return;
    snprintf(b->broken, sizeof b->broken,
             "the device's events claim %.3g s for a launch in which 1 s passed here: by a wrong "
             "clock nothing can be measured",
             share);
    tsri_task_draft_void(draft, TSR_BENCH_ERROR, b->broken);
}

tsr_status tsri_task_bench_peak(tsri_task_bench *b, uint32_t peak, tsri_task_draft *draft,
                                tsr_status status) {
    const tsri_task_samples *s = &draft->samples;
    double lowest = 0, highest = 0; /* of this pass */
    for (uint32_t i = 0; i < s->n; i++) {
        lowest = i ? smaller(lowest, s->values[i]) : s->values[i];
        highest = larger(highest, s->values[i]);
    }
    if (status == TSR_OK)
        status = tsri_task_draft_join(draft);
    if (status == TSR_OK)
        status = tsri_task_draft_figures(draft);
    if (status == TSR_OK && peak == TSR_PEAK_CLOCK)
        check_clock(b, draft);
    if (status == TSR_OK)
        keep(peak, lowest, highest, b);
    else
        tsri_task_draft_fail(draft, status);
    tsri_task_draft_company(draft, b->cpu);
    return tsri_task_draft_emit(draft, b);
}

static tsr_status measure(tsri_task_bench *b, size_t i) {
    tsri_task_draft draft;
    tsri_task_samples *s = &draft.samples;
    tsri_task_draft_begin(&draft, TSR_BENCH_PEAK, peaks[i].unit, "%s", peaks[i].test);
    if (!tsri_task_bench_recall(b, &draft))
        return tsri_task_draft_emit(&draft, b);
    tsr_status status = tsri_base_grow(&s->values, &s->room, b->rule.least, sizeof *s->values);
    const tsri_task_reading before = tsri_task_read_conditions("", b->cpu, b->vendor);
    if (status == TSR_OK)
        status = tsri_run_peak(b->device, peaks[i].peak, b->rule.least, s->values);
    const tsri_task_reading after = tsri_task_read_conditions("", b->cpu, b->vendor);
    draft.conditions = tsri_task_conditions_between(&before, &after);
    draft.others = tsri_task_others_between(&before, &after);
    draft.row.conditions = &draft.conditions;
    s->n = status == TSR_OK ? b->rule.least : 0;
    return tsri_task_bench_peak(b, peaks[i].peak, &draft, status);
}

tsr_status tsri_task_bench_peaks(tsri_task_bench *b) {
    b->now = (tsri_run_peaks){0};
    for (size_t i = 0; i < PEAKS; i++) {
        TRY(tsri_task_bench_tell(b->sink, peaks[i].test));
        TRY(measure(b, i));
    }
    b->now.term = tsri_task_bench_term(b->device);
    if (b->passes && b->passes->second) {
        tsri_task_bench_best(&b->best, &b->now);
        if (b->now.launch > 0)
            b->best.launch = smaller(b->best.launch, b->now.launch);
    } else
        b->best = b->now;
    return TSR_OK;
}

static void again(const tsr_device *device, uint32_t peak, double *out) {
    if (*out > 0)
        (void)tsri_run_peak_best(device, peak, BESIDE_RUNS, out);
}

void tsri_task_bench_beside(tsri_task_bench *b) {
    const double before = b->now.fma_f32;
    again(b->device, TSR_PEAK_FMA_F32, &b->now.fma_f32);
    again(b->device, TSR_PEAK_READ, &b->now.read);
    if (before > 0) { /* the other types' arithmetic has the same clock */
        b->now.fma_f16 *= b->now.fma_f32 / before;
        b->now.fma_bf16 *= b->now.fma_f32 / before;
        b->now.dot_int8 *= b->now.fma_f32 / before;
    }
    tsri_task_bench_best(&b->best, &b->now);
}

void tsri_task_bench_best(tsri_run_peaks *best, const tsri_run_peaks *other) {
    best->fma_f32 = larger(best->fma_f32, other->fma_f32);
    best->fma_f16 = larger(best->fma_f16, other->fma_f16);
    best->fma_bf16 = larger(best->fma_bf16, other->fma_bf16);
    best->dot_int8 = larger(best->dot_int8, other->dot_int8);
    best->read = larger(best->read, other->read);
}

uint32_t tsri_task_bench_vendor(const tsr_device *device) {
    static const struct {
        const char *part;
        uint32_t number;
    } vendors[] = {
        {"NVIDIA", 0x10de}, {"Advanced Micro Devices", 0x1002}, {"AMD", 0x1002}, {"Intel", 0x8086}};
    const char *name = tsri_backend_opened(device)->devices[0]->facts.vendor;
    for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
        if (strstr(name, vendors[i].part))
            return vendors[i].number;
    return 0;
}

bool tsri_task_bench_is_cpu(const tsr_device *device) {
    const tsri_backend_device *first = tsri_backend_opened(device)->devices[0];
    /* The reference is one, too, but has another type, so that "cpu" does not select it. */
    return first->facts.type == TSR_DEVICE_CPU || !strcmp(first->backend->name, "reference");
}
