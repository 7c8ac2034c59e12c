/* tessera/verify.h - each kernel variant that fits a device, compared with the reference, or timed:
 * `tessera verify`, and the conformance suite of a backend. */
#ifndef TESSERA_VERIFY_H
#define TESSERA_VERIFY_H

#include "tessera/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tsr_verify_status {
    TSR_VERIFY_OK = 0,   /**< within the bound */
    TSR_VERIFY_MISS = 1, /**< outside the bound */
    /** The backend has no kernel variant for this op: it is split into other ops, or runs on the
     * reference. */
    TSR_VERIFY_NOT_OFFERED = 2,
    /** A variant that ran no case on this device, or not all that it fits: the device refused the others when
     * it made their plans. message says why. */
    TSR_VERIFY_SKIPPED = 3,
    TSR_VERIFY_ERROR = 4, /**< a variant that fits failed to build or to run: counts as a miss */
    TSR_VERIFY_TIMED = 5  /**< the variant was timed; its results were not compared */
} tsr_verify_status;

typedef struct tsr_verify_result {
    uint32_t struct_size;
    uint32_t status; /**< tsr_verify_status */
    const char *op;  /**< "linear" */
    const char
        *variant; /**< the kernel variant, "linear/packed:MR=6"; "decomposed"; "": not offered */
    const char *name;    /**< of the case; "" where the result belongs to no case */
    const char *reason;  /**< where the bound comes from */
    const char *message; /**< for SKIPPED, ERROR and MISS: what happened; else "" */
    double error, bound; /**< of the worst element: |got - want|, and the most that it may be */
    /** Of one run of the case: a multiply-add is 2 flops; bytes are those that must be read or
     * written once. */
    double flops, bytes;
    /* for TIMED; 0 elsewhere: */
    double best_seconds, median_seconds; /**< of one run, by the device's events */
    /** The time that flops, or that bytes take at the device's measured peaks, whichever is longer,
     * divided by best_seconds. Above 1 where operands stay in caches, or where the device was busy
     * when its peaks were measured; 0: not known. */
    double peak_share;
    double plain_ratio; /**< plain's best_seconds divided by this one's; 0: plain was not timed */
    uint32_t runs;      /**< how many runs were measured */
    uint32_t reserved;
} tsr_verify_result;

typedef struct tsr_verify_options {
    uint32_t struct_size;
    /** 0: all cases. 1: for each kernel variant the largest case that takes a moment, and where the
     * device would choose the variant, one for each dtype of weights and states, and small ones that
     * go past the edges of tiles: for devices whose compiler takes seconds. 2: those of 1, and one case in `every`. */
    uint32_t level;
    const char *op; /**< only this one; NULL: all */
    /** Above 0: nothing is compared. Each kernel variant that fits is timed on cases with sizes as
     * models have them, on each for about so many seconds; `level` is ignored. */
    double bench_seconds;
    uint32_t every; /**< of level 2; 0: 40 */
    uint32_t first; /**< the number of the first of those cases, modulo `every` */
    /** Of levels 1 and 2: "the largest case" is the largest of up to so many operations; 0: 2^24. */
    double most_flops;
    /** Only these kernel variants of `op`, "mma,mma_few"; one that would be SKIPPED is then an ERROR. A variant
     * may have values for its tunables, "mma:SM=1:SN=2,mma_few". NULL: all, and the decomposition. */
    const char *variants;
} tsr_verify_options;

typedef struct tsr_verify_summary {
    uint32_t struct_size;
    uint32_t ok, misses, errors, skipped, not_offered; /**< results by status */
    uint32_t ops, ops_done; /**< ops to verify, over all devices; those that are finished */
    uint32_t timed;         /**< results with status TIMED */
    uint32_t reserved;
} tsr_verify_summary;

/**
 * Runs the cases of each op on each kernel variant that fits the device, and the decomposition of
 * each fused op, and compares the results with the reference backend's. Outputs are poisoned first.
 * A miss is a result, not a failure of the call: look at the summary.
 *
 * device  should be opened with no_self_test, so that a wrong variant is a miss and not a refusal;
 *         with profile where bench_seconds is set
 * options may be NULL
 * result  called with each result; returns not 0 to cancel
 * summary may be NULL
 * owner   what `result` is given is valid during its call
 * order   results come by op, then case, then kernel variant; where they are timed, `plain` first
 * thread  that of the device
 * error   TSR_E_ARGUMENT   no op has the name options->op, or level is above 2, or bench_seconds or
 *                          most_flops is below 0 or not a number, or variants are given without an
 *                          op or with bench_seconds, or one of them is given twice
 *         TSR_E_STATE      bench_seconds is set, and the device was opened without profile
 *         TSR_E_CANCELLED  `result` asked for it
 * exact   each bound is derived beside its case, in src/cases/<kind>/<op>.c
 */
TSR_API tsr_status tsr_verify(tsr_device *device, const tsr_verify_options *options,
                              int (*result)(void *data, const tsr_verify_result *result),
                              void *data, tsr_verify_summary *summary);

/** The names of the ops, in the order in which they are verified; NULL past the last. */
TSR_API const char *tsr_verify_op_name(size_t index);

/**
 * Visits the kernel variants that a device has for an op, best first. None is built.
 *
 * device  of several that split a model, the first is asked
 * op      "linear"
 * visit   called with each variant, as tsr_verify_options.variants and tsr_device_open_options.kernels
 *         name it: "packed". fits is 1 where the device can run a case of the op on it
 * owner   `variant` is valid during the call
 * thread  that of the device
 * error   TSR_E_ARGUMENT  no op has this name
 */
TSR_API tsr_status tsr_verify_variants(tsr_device *device, const char *op,
                                       void (*visit)(void *data, const char *variant,
                                                     uint32_t fits),
                                       void *data);

#ifdef __cplusplus
}
#endif
#endif
