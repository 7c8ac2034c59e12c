/* task/bench/work.c - computes the least work that a measured run has to do, and lists the
 * kernel variants that did it. */
#include "task/bench/bench.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/load/measure.h"
#include "tessera/run.h"

#include <stdlib.h>
#include <string.h>

/* The number of earlier tokens that each token of a sequence sees, summed over the tokens. */
static double pairs(double first, double n) {
    return n * first + n * (n - 1) / 2;
}

tsr_status tsri_task_bench_work(tsr_model *model, const tsri_run_peaks *peaks, tsr_bench_row *row) {
    tsri_model *m = tsri_model_of(model);
    const bool prompt = row->kind == TSR_BENCH_PROMPT;
    const int64_t T = prompt ? row->tokens : 1, steps = prompt ? 1 : row->tokens;
    const int64_t sizes[TSR_SYMBOLS] = {row->batch, T, 1, 1, row->batch};
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
    const double seen = (double)row->batch * pairs((double)row->depth, (double)row->tokens),
                 keys = (double)row->batch * (prompt ? (double)(row->depth + row->tokens)
                                                     : pairs((double)row->depth, (double)steps));
    double flops[TSRI_RUN_COMPUTES];
    for (int i = 0; i < TSRI_RUN_COMPUTES; i++)
        flops[i] = work.flops[i] * (double)steps;
    flops[TSR_COMPUTE_F32] += figures.flops_per_past_token * seen;
    row->flops = 0;
    for (int i = 0; i < TSRI_RUN_COMPUTES; i++)
        row->flops += flops[i];
    row->bytes =
        (double)work.weight_bytes * (double)steps + (double)figures.kv_bytes_per_token * keys;
    const double least = tsri_run_least_seconds(peaks, flops, row->bytes),
                 tokens = (double)(row->batch * row->tokens), took = tokens / row->median;
    if (least > 0)
        row->roofline = least / took;
    if (least > 0 && peaks->launch > 0)
        row->predicted = tokens / (least + (double)launches * (double)steps * peaks->launch);
    return TSR_OK;
}

/* ---- kernels ---- */

typedef struct names {
    tsri_bytes text;
    tsr_status status;
} names;

/* Adds "linear/packed" for "linear/packed:MR=6,W_DTYPE=F32". */
static void add(void *data, const tsr_explained *op) {
    names *all = data;
    for (uint32_t i = 0; i < op->n_rows; i++) {
        if (!op->variants[i].chosen)
            continue;
        char name[96];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(op->variants[i].name, ":"),
                 op->variants[i].name);
        const size_t n = strlen(name);
        bool listed = false;
        for (const char *at = all->text.data; at && !listed && (at = strstr(at, name)); at += n)
            listed = (at == all->text.data || at[-1] == ' ') && (at[n] == ' ' || !at[n]);
        if (!listed && all->status == TSR_OK)
            all->status =
                tsri_base_bytes_printf(&all->text, "%s%s", all->text.size ? " " : "", name);
    }
}

tsr_status tsri_task_bench_kernels(tsr_model *model, int64_t tokens, char **out) {
    names all = {0};
    tsr_status status = tsr_explain(model, tokens, add, &all);
    if (status == TSR_OK)
        status = all.status;
    if (status == TSR_OK)
        status = tsri_base_bytes_append(&all.text, "", 0);
    if (status != TSR_OK)
        tsri_base_bytes_clear(&all.text);
    *out = all.text.data;
    return status;
}
