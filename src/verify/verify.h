/* verify/verify.h - runs a case (cases/cases.h) on a device, and compares the results with the
 * oracle's. */
#ifndef TSRI_VERIFY_VERIFY_H
#define TSRI_VERIFY_VERIFY_H

#include "cases/cases.h"
#include "graph/ops.h"
#include "run/peaks.h"
#include "run/run.h"
#include "tessera/verify.h"

#include <stdbool.h>

/* ---- variants.c ---- */

enum { TSRI_VERIFY_MAX_VARIANTS = 128, TSRI_VERIFY_FORCED = 320 };

typedef struct tsri_verify_variant {
    char name[96];    /* "linear/packed" */
    char why[256];    /* why it fitted no case, by the latest; or why the device refused one */
    bool fits;        /* it fits the case */
    bool varies;      /* it may give other bytes in a batch than alone */
    bool fitted;      /* it has fitted a case */
    bool here;        /* the device has it for the case */
    uint32_t tried;   /* cases that were given to it */
    uint32_t refused; /* those of them that the device refused when it made their plans */
} tsri_verify_variant;

/* The kernel variants of an op that were seen so far, and what was asked about a case. */
typedef struct tsri_verify_variants {
    tsri_verify_variant list[TSRI_VERIFY_MAX_VARIANTS];
    size_t n;
    bool full;            /* a variant was left out: the list holds no more */
    int best;             /* the variant that the device would choose for the case; -1: none fits */
    tsri_graph_cost cost; /* of the case */
    uint32_t compute;     /* the tsr_compute of its products */
} tsri_verify_variants;

/* Asks the device for its kernel variants of the case's op; *any is false if it has none. The list
 * begins as {0}, and grows from case to case of the same op. */
tsr_status tsri_verify_ask(const tsri_backend_device *device, const tsri_case *c,
                           tsri_verify_variants *seen, bool *any);
/* "mma" of "linear/mma"; the whole name if it does not begin with the op's. */
const char *tsri_verify_own_name(const char *op, const char *variant);
/* Writes "linear=packed:MR=4" for "linear/packed" and ":MR=4"; the whole name if it does not begin with the
 * op's. `tunables` end at a comma; "": the device's own. */
void tsri_verify_force(const char *op, const char *variant, const char *tunables,
                       char text[TSRI_VERIFY_FORCED]);

/* ---- run.c ---- */

typedef struct tsri_verify_place {
    tsri_backend_set *set;
    tsri_backend_device *device;
    const char *kernels; /* the forced kernel variant, or NULL */
    bool decomposed;     /* the op is replaced by its decomposition first */
} tsri_verify_place;

/* A case that is ready to run: its weights are loaded, its plan is made. */
typedef struct tsri_verify_opened {
    const tsri_case *c;
    tsri_graph *graph;
    tsri_run_context *context;
    tsri_run_plan *plan;
} tsri_verify_opened;
tsr_status tsri_verify_open(const tsri_case *c, const tsri_case_attrs *attrs,
                            const tsri_verify_place *place, const tsri_case_values *values,
                            tsri_verify_opened *out);
void tsri_verify_close(tsri_verify_opened *opened);
/* Fills the states as the case says. */
tsr_status tsri_verify_write_states(const tsri_verify_opened *opened,
                                    const tsri_case_values *values);
/* The case's inputs as the run takes them; gives their number. */
size_t tsri_verify_bind(const tsri_case *c, const tsri_case_values *values,
                        tsri_run_binding in[TSRI_CASE_MAX_IN]);

/* Fills the states as the case says, runs the case, and fills the outputs of `values`. */
tsr_status tsri_verify_answer(const tsri_verify_opened *opened, tsri_case_values *values);

/* Runs the case at that place: first with poisoned inputs, so that an element that is never written
 * stays wrong; then with `values`, whose outputs it fills. */
tsr_status tsri_verify_run(const tsri_case *c, const tsri_case_attrs *attrs,
                           const tsri_verify_place *place, tsri_case_values *values);

/* ---- ahead.c ---- */

/* Replaces the op in the graph by its decomposition; *graph is NULL after a failure. */
tsr_status tsri_verify_decompose(tsr_op_id op, tsri_graph **graph);
/* Whether this form of the op has a decomposition. Where that fails for another reason it has one: the
 * case's run fails with the same reason. */
bool tsri_verify_decomposes(const tsri_case *c);

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

/* ---- bench.c ---- */

/* What is timed, and where its results go. */
typedef struct tsri_verify_bench {
    tsri_backend_set *set;
    tsri_backend_device *device;
    tsri_run_peaks peaks; /* of the device; zeros: not known */
    double seconds;       /* for each variant and case */
    int (*result)(void *data, const tsr_verify_result *result);
    void *data;
    tsr_verify_summary *summary;
} tsri_verify_bench;

/* Times every kernel variant of the op that fits, on the op's timed cases. */
tsr_status tsri_verify_bench_op(const tsri_verify_bench *bench, const tsri_graph_op_row *op);

#endif
