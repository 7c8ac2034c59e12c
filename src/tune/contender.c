/* tune/contender.c - one setting of a group: opens it, compares its results, and times it beside
 * another. */
#include "tune/contender.h"

#include "base/clock.h"
#include "base/error.h"
#include "run/timing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 9, /* timed runs of best and candidate */
    FEW = 3     /* after this many runs a candidate that is clearly slower is dropped */
};

/* Nanoseconds: after this time a slow op has been run often enough */
#define LONG UINT64_C(1000000000)

static const double hopeless = 1.2; /* as a share of the time of the best so far */

void tsri_tune_values_print(const tsri_tune_group *g, const tsri_tune_values *v,
                            const char *separator, char *out, size_t size) {
    size_t n = 0;
    out[0] = 0;
    for (uint32_t t = 0; t < g->n_tunables && n < size; t++)
        n += (size_t)snprintf(out + n, size - n, "%s%s=%" PRId32, t ? separator : "", g->name[t],
                              v->of[t]);
}

void tsri_tune_contender_close(tsri_tune_contender *c) {
    for (size_t i = 0; i < c->n; i++)
        tsri_tune_trial_close(&c->trials[i]);
    c->n = 0;
}

tsr_status tsri_tune_contender_open(const tsri_tune *tune, const tsri_tune_group *g,
                                    const tsri_tune_values *v, tsri_tune_contender *out) {
    char text[160] = "", kernels[320];
    tsri_run_options options = tune->options;
    if (v)
        tsri_tune_values_print(g, v, ":", text, sizeof text);
    snprintf(kernels, sizeof kernels, "%s=%s%s%s", g->op, g->variant, v ? ":" : "", text);
    options.kernels = kernels;
    *out = (tsri_tune_contender){0};
    if (v)
        out->v = *v;
    for (; out->n < g->n_cases; out->n++) {
        const tsr_status status =
            tsri_tune_trial_open(&tune->cases[g->cases[out->n]], &options, &out->trials[out->n]);
        if (status != TSR_OK) {
            tsri_tune_contender_close(out);
            return status;
        }
    }
    return TSR_OK;
}

tsr_status tsri_tune_contender_check(const tsri_tune *tune, const tsri_tune_group *g,
                                     tsri_tune_contender *c, bool *near) {
    tsri_run_options options = tune->options;
    char kernels[64];
    snprintf(kernels, sizeof kernels, "%s=plain", g->op);
    options.kernels = kernels;
    *near = true;
    for (size_t i = 0; i < c->n && *near && strcmp(g->variant, "plain") != 0; i++) {
        tsri_tune_trial plain;
        const tsri_tune_case *wanted = c->trials[i].c;
        TRY(tsri_tune_trial_open(wanted, &options, &plain));
        tsr_status status = tsri_tune_trial_results(&plain, wanted->small);
        if (status == TSR_OK)
            status = tsri_tune_trial_results(&c->trials[i], wanted->small);
        if (status == TSR_OK)
            *near = tsri_tune_trial_near(&c->trials[i], &plain);
        tsri_tune_trial_close(&plain);
        TRY(status);
    }
    return TSR_OK;
}

tsr_status tsri_tune_contender_warm(tsri_tune_contender *c) {
    for (size_t i = 0; i < c->n; i++) {
        uint64_t ignored;
        TRY(tsri_tune_trial_results(&c->trials[i], c->trials[i].c->sizes));
        TRY(tsri_tune_trial_time(&c->trials[i], &ignored));
    }
    return TSR_OK;
}

bool tsri_tune_contender_agrees(const tsri_tune_group *g, const tsri_tune_contender *a,
                                const tsri_tune_contender *b) {
    for (size_t i = 0; i < a->n; i++)
        if (g->batch_variant ? !tsri_tune_trial_near(&a->trials[i], &b->trials[i])
                             : !tsri_tune_trial_same(&a->trials[i], &b->trials[i]))
            return false;
    return true;
}

static double median(const uint64_t *times, int n) {
    uint64_t sorted[ROUNDS];
    memcpy(sorted, times, (size_t)n * sizeof *times);
    return tsri_run_median(sorted, (size_t)n);
}

tsr_status tsri_tune_contender_compare(const tsri_tune *tune, const tsri_tune_group *g,
                                       tsri_tune_contender *a, tsri_tune_contender *b,
                                       tsri_tune_duel *out) {
    *out = (tsri_tune_duel){0};
    for (size_t i = 0; i < a->n; i++) {
        uint64_t x[ROUNDS], y[ROUNDS];
        const double count = tune->counts[g->cases[i]];
        const uint64_t end = tsri_base_now_ns() + LONG;
        int n = 0;
        for (; n < ROUNDS && !(n && tsri_base_now_ns() > end) &&
               !(n == FEW && median(y, n) > hopeless * median(x, n));
             n++) {
            TRY(tsri_tune_trial_time(&a->trials[i], &x[n]));
            TRY(tsri_tune_trial_time(&b->trials[i], &y[n]));
        }
        out->a += count * median(x, n);
        out->b += count * median(y, n);
    }
    out->unmeasured = !(out->a > 0 || out->b > 0);
    return out->a > 0 && out->b > 0
               ? TSR_OK
               : tsri_base_fail(TSR_E_UNSUPPORTED,
                                "%s/%s does not measure launches, so it can't be tuned",
                                tune->options.devices[0]->facts.platform,
                                tune->options.devices[0]->facts.name);
}
