/* tune/contender.h - the search for better values, within: groups of ops, and one setting of a
 * group, which is checked and timed beside another. */
#ifndef TSRI_TUNE_CONTENDER_H
#define TSRI_TUNE_CONTENDER_H

#include "run/context.h"
#include "tune/trial.h"
#include "tune/tune.h"

enum {
    TSRI_RUN_TUNABLES = 16,
    TSRI_TUNE_CASES = 3 /* cases of a group: those with the most work */
};

typedef struct tsri_tune_values {
    int32_t of[TSRI_RUN_TUNABLES];
} tsri_tune_values;

/* A kernel variant with tunables, and the ops that it serves in the same way. */
typedef struct tsri_tune_group {
    char op[48], variant[64], condition[256], name[TSRI_RUN_TUNABLES][32];
    uint32_t n_tunables, batch_variant;
    int32_t lowest[TSRI_RUN_TUNABLES], highest[TSRI_RUN_TUNABLES];
    tsri_tune_values first; /* the values in force before */
    int place;              /* its rank; 0: the variant that would be chosen */
    size_t cases[TSRI_TUNE_CASES], n_cases;
    double work;
    tsri_tune_tuned found;
    char note[256];
} tsri_tune_group;

/* What tsri_tune_create makes. */
struct tsri_tune {
    tsri_run_options options;
    const tsr_backend_tune *backend;
    size_t n_cases, cases_room, n_groups, groups_room;
    tsri_tune_case *cases;
    tsri_tune_group *groups;
    double *counts; /* for each case, how often the model has it */
    size_t counts_room;
};

/* A group's variant with these values: a trial of each of its cases. */
typedef struct tsri_tune_contender {
    tsri_tune_values v;
    tsri_tune_trial trials[TSRI_TUNE_CASES];
    size_t n;
} tsri_tune_contender;

/* Medians, summed over the cases, each as often as the model has it. */
typedef struct tsri_tune_duel {
    double a, b;
    bool unmeasured; /* the device's events gave neither of them */
} tsri_tune_duel;

/* "MR=4", and the separator before the next. */
void tsri_tune_values_print(const tsri_tune_group *g, const tsri_tune_values *v,
                            const char *separator, char *out, size_t size);

/* v: NULL: what the backend takes, and out->v is not set. The caller closes it; after a failure it is
 * closed. */
tsr_status tsri_tune_contender_open(const tsri_tune *tune, const tsri_tune_group *g,
                                    const tsri_tune_values *v, tsri_tune_contender *out);
void tsri_tune_contender_close(tsri_tune_contender *c);
/* Compares with the plain variant, for few rows, as it is slow. */
tsr_status tsri_tune_contender_check(const tsri_tune *tune, const tsri_tune_group *g,
                                     tsri_tune_contender *c, bool *near);
/* Runs the cases at their full size, which is also the warm-up. */
tsr_status tsri_tune_contender_warm(tsri_tune_contender *c);
/* Whether the last results are the same bytes, or near where the values choose another variant. */
bool tsri_tune_contender_agrees(const tsri_tune_group *g, const tsri_tune_contender *a,
                                const tsri_tune_contender *b);
/* Times them in turn: best, candidate, best, candidate. TSR_E_UNSUPPORTED where one of them took no
 * time. */
tsr_status tsri_tune_contender_compare(const tsri_tune *tune, const tsri_tune_group *g,
                                       tsri_tune_contender *a, tsri_tune_contender *b,
                                       tsri_tune_duel *out);

#endif
