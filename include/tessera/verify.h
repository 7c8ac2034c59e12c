/* tessera/verify.h - every kernel row that fits a device, held against the oracle: `tessera
 * verify`, and the conformance suite of a backend. */
#ifndef TESSERA_VERIFY_H
#define TESSERA_VERIFY_H

#include "tessera/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tsr_verify_status {
    TSR_VERIFY_OK = 0,   /**< within its bound */
    TSR_VERIFY_MISS = 1, /**< outside it */
    TSR_VERIFY_NOT_OFFERED =
        2, /**< the backend has no row for this op: it runs decomposed or on the reference */
    TSR_VERIFY_SKIPPED =
        3,               /**< a row that ran no case on this device; message says why */
    TSR_VERIFY_ERROR = 4 /**< a row that fits failed to build or to run: counts as a miss */
} tsr_verify_status;

typedef struct tsr_verify_result {
    uint32_t struct_size;
    uint32_t status;     /**< tsr_verify_status */
    const char *op;      /**< "linear" */
    const char *row;     /**< "linear/packed:MR=6"; "decomposed"; "" where the op isn't offered */
    const char *name;    /**< of the case; "" where the result is of no case */
    const char *reason;  /**< where the bound comes from */
    const char *message; /**< status SKIPPED, ERROR, MISS: what happened; else "" */
    double error, bound; /**< of the worst element: |got - want| and what it may be */
    double flops, bytes; /**< of one run of the case, for those who time it */
} tsr_verify_result;

typedef struct tsr_verify_options {
    uint32_t struct_size;
    uint32_t level; /**< 0: all cases; 1: for each row the largest case that takes a moment, where the
                       device would choose the row one of each type of weights and states: for
                       devices whose compiler takes seconds; 2: these and one case in forty */
    const char *op; /**< only this one; NULL: all */
} tsr_verify_options;

typedef struct tsr_verify_summary {
    uint32_t struct_size;
    uint32_t ok, misses, errors, skipped, not_offered; /**< results by status */
    uint32_t ops, ops_done; /**< to be verified on all devices, and verified to their end */
} tsr_verify_summary;

/**
 * Runs the cases of each op on each row that fits the device, and the decomposition of each fused
 * op, against the reference backend. Outputs are poisoned first. Misses are results, not failures:
 * look at the summary.
 *
 * order   results come by op, case, row. `result` and its texts are borrowed for the callback.
 * Returning not 0 stops with TSR_E_CANCELLED. thread  that of the device, which should be opened
 * with no_self_test, so that a wrong row is a miss and not a refusal error   TSR_E_ARGUMENT no op
 * has that name; TSR_E_UNSUPPORTED a newer field of options is set exact   each bound is derived
 * beside its case, in src/verify/<op>.c
 */
TSR_API tsr_status tsr_verify(tsr_device *device, const tsr_verify_options *options,
                              int (*result)(void *data, const tsr_verify_result *result),
                              void *data, tsr_verify_summary *summary);

/** The ops that have cases, in the order they are verified; NULL past the last. */
TSR_API const char *tsr_verify_op_name(size_t index);

#ifdef __cplusplus
}
#endif
#endif
