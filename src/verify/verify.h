/* verify/verify.h - runs a case (cases/cases.h) on a device, and compares the results with the
 * oracle's. */
#ifndef TSRI_VERIFY_VERIFY_H
#define TSRI_VERIFY_VERIFY_H

#include "cases/cases.h"
#include "run/run.h"

#include <stdbool.h>

/* ---- run.c ---- */

typedef struct tsri_verify_place {
    tsri_backend_set *set;
    tsri_backend_device *device;
    const char *kernels; /* the forced kernel variant, or NULL */
    bool decomposed;     /* the op is replaced by its decomposition first */
} tsri_verify_place;

/* Runs the case at that place: first with poisoned inputs, so that an element that is never written
 * stays wrong; then with `values`, whose outputs it fills. */
tsr_status tsri_verify_run(const tsri_case *c, const tsri_case_attrs *attrs,
                           const tsri_verify_place *place, tsri_case_values *values);

/* ---- ahead.c ---- */

/* Replaces the op in the graph by its decomposition; *graph is NULL after a failure. */
tsr_status tsri_verify_decompose(tsr_op_id op, tsri_graph **graph);

/* Makes one plan of all these cases of an op and drops it. A device that compiles keeps what it
 * built, so it builds one program instead of one for each case. A failure need not be reported: the
 * case that causes it fails again by itself. */
tsr_status tsri_verify_build_ahead(const tsri_case *const *cases, size_t n,
                                   const tsri_verify_place *place);

/* ---- run.c ---- */

/* Finds the worst element, the one with the largest error/bound. terms is the oracle's answer for
 * absolute values, or NULL. TSR_E_INTERNAL if the expected answer is mostly zeros and the case is
 * not `sparse`. */
typedef struct tsri_verify_worst {
    double error, bound;
    int output;
    size_t element, misses;
    double got, want;
} tsri_verify_worst;
tsr_status tsri_verify_compare(const tsri_case *c, const tsri_case_values *want,
                               const tsri_case_values *terms, const tsri_case_values *got,
                               tsri_verify_worst *out);

#endif
