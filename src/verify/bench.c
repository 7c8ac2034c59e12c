/* verify/bench.c - times every kernel variant that fits, on cases with sizes as models have them. */
#include "verify/verify.h"

#include "base/error.h"
#include "base/memory.h"
#include "run/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 1000 };

/* What one variant needs for one run of a case. */
typedef struct figures {
    double best, median; /* seconds */
    uint32_t runs;
} figures;

/* The first run touches memory for the first time; it counts only if it takes all the time that
 * there is. */
static tsr_status time_opened(tsri_run_timed *timed, double seconds, figures *out) {
    uint64_t times[MOST_RUNS], first = 0, total = 0;
    const uint64_t most = (uint64_t)(seconds * 1e9);
    uint32_t n = 0;
    TRY(tsri_run_time(timed, &first));
    if (first >= most)
        times[n++] = total = first;
    while (n < MOST_RUNS && (!n || total < most)) {
        TRY(tsri_run_time(timed, &times[n]));
        total += times[n++];
    }
    *out = (figures){.median = tsri_run_median(times, n) * 1e-9, .runs = n};
    out->best = (double)times[0] * 1e-9;
    return TSR_OK;
}

static tsr_status time_variant(const tsri_verify_bench *b, const tsri_case *c,
                               const tsri_case_values *values, const char *kernels, figures *out) {
    const tsri_verify_place place = {.set = b->set, .device = b->device, .kernels = kernels};
    tsri_verify_opened opened;
    tsri_run_binding in[TSRI_CASE_MAX_IN];
    TRY(tsri_verify_open(c, &c->attrs, &place, values, &opened));
    tsri_run_timed timed = {.context = opened.context,
                            .plan = opened.plan,
                            .sizes = c->sizes,
                            .in = in,
                            .n_in = tsri_verify_bind(c, values, in)};
    tsr_status status = tsri_verify_write_states(&opened, values);
    if (status == TSR_OK)
        status = time_opened(&timed, b->seconds, out);
    if (status == TSR_OK && out->best <= 0)
        status = tsri_base_fail(TSR_E_UNSUPPORTED, "the device measures no launch");
    tsri_verify_close(&opened);
    return status;
}

/* ---- a case ---- */

typedef struct job {
    const tsri_verify_bench *bench;
    const tsri_graph_op_row *op;
    const tsri_case *c;
    tsri_case_values values;
    tsri_verify_variants known;
    double plain; /* the best time of the variant `plain` */
} job;

static tsr_status give(const tsri_verify_bench *b, const tsr_verify_result *result) {
    tsr_verify_summary *summary = b->summary;
    summary->timed += result->status == TSR_VERIFY_TIMED;
    summary->skipped += result->status == TSR_VERIFY_SKIPPED;
    summary->errors += result->status == TSR_VERIFY_ERROR;
    summary->not_offered += result->status == TSR_VERIFY_NOT_OFFERED;
    if (b->result(b->data, result))
        return tsri_base_fail(TSR_E_CANCELLED, "verify was stopped at %s", result->op);
    return TSR_OK;
}

static tsr_status give_times(const job *j, const char *variant, const figures *f) {
    double flops[TSRI_RUN_COMPUTES] = {0};
    flops[j->known.compute] = j->known.cost.flops;
    const tsr_verify_result result = {
        .struct_size = sizeof result,
        .status = TSR_VERIFY_TIMED,
        .op = j->op->name,
        .variant = variant,
        .name = j->c->name,
        .reason = "",
        .message = "",
        .flops = j->known.cost.flops,
        .bytes = j->known.cost.bytes,
        .best_seconds = f->best,
        .median_seconds = f->median,
        .peak_share =
            tsri_run_least_seconds(&j->bench->peaks, flops, j->known.cost.bytes) / f->best,
        .plain_ratio = j->plain / f->best,
        .runs = f->runs};
    return give(j->bench, &result);
}

/* Only a stop ends the benchmark: a variant that fails is a result. */
static tsr_status bench_variant(job *j, const char *variant, bool plain) {
    char kernels[TSRI_VERIFY_FORCED];
    figures f = {0};
    tsri_verify_force(j->op->name, variant, "", kernels);
    const tsr_status status = time_variant(j->bench, j->c, &j->values, kernels, &f);
    if (status == TSR_OK) {
        j->plain = plain ? f.best : j->plain;
        return give_times(j, variant, &f);
    }
    if (status == TSR_E_CANCELLED)
        return status;
    const tsr_verify_result result = {.struct_size = sizeof result,
                                      .status = status == TSR_E_UNSUPPORTED ? TSR_VERIFY_SKIPPED
                                                                            : TSR_VERIFY_ERROR,
                                      .op = j->op->name,
                                      .variant = variant,
                                      .name = j->c->name,
                                      .reason = "",
                                      .message = tsr_error_last()};
    return give(j->bench, &result);
}

/* `plain` first, because the others are compared with it; then from the best on. */
static tsr_status bench_case(job *j, bool *offered) {
    char name[sizeof j->known.list->name];
    snprintf(name, sizeof name, "%s/plain", j->op->name);
    j->known.n = 0;
    j->plain = 0;
    TRY(tsri_verify_ask(j->bench->device, j->c, &j->known, offered));
    if (!*offered)
        return TSR_OK;
    tsr_status status = tsri_case_values_fill(j->c, false, &j->values);
    for (int others = 0; others < 2; others++)
        for (size_t i = 0; i < j->known.n && status == TSR_OK; i++) {
            const tsri_verify_variant *variant = &j->known.list[i];
            const bool plain = strcmp(variant->name, name) == 0;
            if (variant->fits && plain == !others)
                status = bench_variant(j, variant->name, plain);
        }
    tsri_case_values_clear(&j->values);
    return status;
}

tsr_status tsri_verify_bench_op(const tsri_verify_bench *bench, const tsri_graph_op_row *op) {
    tsri_case_list list = {0};
    job *j = NULL;
    bool offered = true;
    TRY(tsri_base_new(1, sizeof *j, &j));
    *j = (job){.bench = bench, .op = op};
    tsr_status status = tsri_cases_timed(op->id, &list);
    for (size_t i = 0; i < list.n && status == TSR_OK && offered; i++) {
        j->c = &list.cases[i];
        status = bench_case(j, &offered);
        if (status != TSR_OK && status != TSR_E_CANCELLED)
            status = tsri_base_fail_within(status, "%s, case %s", op->name, j->c->name);
    }
    free(list.cases);
    free(j);
    const tsr_verify_result missing = {.struct_size = sizeof missing,
                                       .status = TSR_VERIFY_NOT_OFFERED,
                                       .op = op->name,
                                       .variant = "",
                                       .name = "",
                                       .reason = "",
                                       .message = ""};
    return status == TSR_OK && !offered ? give(bench, &missing) : status;
}
