/* task/bench/work.c - computes the least work that a measured run has to do, and lists the
 * kernel variants that did it. */
#include "task/bench/bench.h"

#include "base/error.h"
#include "model/load/measure.h"
#include "tessera/run.h"

#include <string.h>

/* The number of earlier tokens that each token of a sequence sees, summed over the tokens. */
static double pairs(double first, double n) {
    return n * first + n * (n - 1) / 2;
}

tsr_status tsri_task_bench_work(tsr_model *model, const tsri_run_peaks *peaks, tsr_bench_row *row) {
    tsri_model *m = tsri_model_of(model);
    const bool encoder = row->kind == TSR_BENCH_EMBED,
               prompt = encoder || row->kind == TSR_BENCH_PROMPT;
    const int64_t T = prompt ? row->tokens : 1, steps = prompt ? 1 : row->tokens;
    const int64_t sizes[TSR_SYMBOLS] = {row->batch, T, encoder ? T : 1, 1, row->batch};
    tsri_session *session = NULL;
    tsri_run_plan *plan = NULL;
    tsri_run_work work;
    uint64_t launches = 0;
    tsri_model_measures figures;
    TRY(tsri_session_create(m, 1, 0, &session));
    tsr_status status = tsri_session_plan(session, T, &plan);
    if (status == TSR_OK)
        status = tsri_run_launches(plan, &launches);
    if (status == TSR_OK)
        tsri_run_work_of(plan, sizes, &work);
    tsri_session_destroy(&session);
    TRY(status);
    tsri_model_measure(m, &figures);
    /* What a decoder's tokens see of others is not in the plan's work; an encoder's is. */
    const double seen = encoder
                            ? 0
                            : (double)row->batch * pairs((double)row->depth, (double)row->tokens),
                 keys = (double)row->batch * (prompt ? (double)(row->depth + row->tokens)
                                                     : pairs((double)row->depth, (double)steps));
    double flops[TSRI_RUN_COMPUTES];
    for (int i = 0; i < TSRI_RUN_COMPUTES; i++)
        flops[i] = work.flops[i] * (double)steps;
    flops[TSR_COMPUTE_F32] += figures.flops_per_past_token * seen;
    row->flops = 0;
    for (int i = 0; i < TSRI_RUN_COMPUTES; i++)
        row->flops += flops[i];
    row->bytes = (double)work.weight_bytes * (double)steps +
                 (encoder ? 0 : (double)figures.kv_bytes_per_token * keys);
    row->launches = launches * (uint64_t)steps;
    tsri_task_bench_share(peaks, flops, (double)(encoder ? row->batch : row->batch * row->tokens),
                          row);
    return TSR_OK;
}

void tsri_task_bench_share(const tsri_run_peaks *peaks, const double flops[TSRI_RUN_COMPUTES],
                           double work, tsr_bench_row *row) {
    const bool seconds = !strcmp(row->unit, "s");
    const double least = tsri_run_least_seconds(peaks, flops, row->bytes),
                 reading = peaks->read > 0 ? row->bytes / peaks->read : 0,
                 launching = (double)row->launches * peaks->launch,
                 took = seconds ? row->median : work / row->median;
    if (least <= 0)
        return;
    row->roofline = least / took;
    row->bound_by = launching > least  ? TSR_BENCH_BOUND_LAUNCHES
                    : reading >= least ? TSR_BENCH_BOUND_MEMORY
                                       : TSR_BENCH_BOUND_ARITHMETIC;
    if (peaks->launch > 0)
        row->predicted = seconds ? least + launching : work / (least + launching);
}

/* ---- kernels ---- */

typedef struct list {
    tsri_task_draft *draft;
    tsr_status status;
} list;

static void add(void *data, const tsr_explained *op) {
    list *all = data;
    for (uint32_t i = 0; i < op->n_rows; i++)
        if (op->variants[i].chosen && all->status == TSR_OK)
            all->status = tsri_task_draft_kernel(all->draft, op->op, op->variants[i].name,
                                                 op->variants[i].tunables);
}

tsr_status tsri_task_bench_kernels(tsr_model *model, int64_t tokens, tsri_task_draft *draft) {
    list all = {.draft = draft};
    TRY(tsr_explain(model, tokens, add, &all));
    return all.status;
}
