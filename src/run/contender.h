/* run/contender.h - the search for better values, within: groups of ops, and one setting of a
 * group, which is checked and timed beside another. */
#ifndef TSRI_RUN_CONTENDER_H
#define TSRI_RUN_CONTENDER_H

#include "run/context.h"
#include "run/trial.h"
#include "run/tune.h"

enum {
    TSRI_RUN_TUNABLES = 6,
    TSRI_RUN_CASES = 3 /* cases of a group: those with the most work */
};

typedef struct tsri_run_values {
    int32_t of[TSRI_RUN_TUNABLES];
} tsri_run_values;

/* A kernel variant with tunables, and the ops that it serves in the same way. */
typedef struct tsri_run_group {
    char op[48], variant[64], condition[256], name[TSRI_RUN_TUNABLES][32];
    uint32_t n_tunables, batch_variant;
    int32_t lowest[TSRI_RUN_TUNABLES], highest[TSRI_RUN_TUNABLES];
    tsri_run_values first; /* the values in force before */
    int place;             /* its rank; 0: the variant that would be chosen */
    size_t cases[TSRI_RUN_CASES], n_cases;
    double work;
    tsri_run_tuned found;
    char note[256];
} tsri_run_group;

/* What tsri_run_tune_create makes. */
struct tsri_run_tune {
    tsri_run_options options;
    const tsr_backend_tune *backend;
    size_t n_cases, cases_room, n_groups, groups_room;
    tsri_run_case *cases;
    tsri_run_group *groups;
    double *counts; /* for each case, how often the model has it */
    size_t counts_room;
};

/* A group's variant with these values: a trial of each of its cases. */
typedef struct tsri_run_contender {
    tsri_run_values v;
    tsri_run_trial trials[TSRI_RUN_CASES];
    size_t n;
} tsri_run_contender;

/* Medians, summed over the cases, each as often as the model has it. */
typedef struct tsri_run_duel {
    double a, b;
} tsri_run_duel;

/* "MR=4", and the separator before the next. */
void tsri_run_values_print(const tsri_run_group *g, const tsri_run_values *v, const char *separator,
                           char *out, size_t size);

/* The caller closes it; after a failure it is closed. */
tsr_status tsri_run_contender_open(const tsri_run_tune *tune, const tsri_run_group *g,
                                   const tsri_run_values *v, tsri_run_contender *out);
void tsri_run_contender_close(tsri_run_contender *c);
/* Compares with the plain variant, for few rows, as it is slow. */
tsr_status tsri_run_contender_check(const tsri_run_tune *tune, const tsri_run_group *g,
                                    tsri_run_contender *c, bool *near);
/* Runs the cases at their full size, which is also the warm-up. */
tsr_status tsri_run_contender_warm(tsri_run_contender *c);
/* Whether the last results are the same bytes, or near where the values choose another variant. */
bool tsri_run_contender_agrees(const tsri_run_group *g, const tsri_run_contender *a,
                               const tsri_run_contender *b);
/* Times them in turn: best, candidate, best, candidate. */
tsr_status tsri_run_contender_compare(const tsri_run_tune *tune, const tsri_run_group *g,
                                      tsri_run_contender *a, tsri_run_contender *b,
                                      tsri_run_duel *out);

#endif
