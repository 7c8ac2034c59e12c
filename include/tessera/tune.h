/* tessera/tune.h - searching a device's best values for the tunables of its kernel rows. */
#ifndef TESSERA_TUNE_H
#define TESSERA_TUNE_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What was found of one row, for the ops that it serves alike. */
typedef struct tsr_tune_result {
    uint32_t struct_size;
    uint32_t kept;              /**< 1: more than 2 % faster, and kept */
    uint32_t tried, wrong;      /**< candidates; those whose results differed */
    const char *op, *row;       /**< "linear", "packed" */
    const char *condition;      /**< "W_DTYPE=F32,rows=64-" */
    const char *before, *after; /**< "MR=6": in force before; the best */
    double before_ns, after_ns; /**< time of the row's ops in a run, on the device */
} tsr_tune_result;

typedef struct tsr_tune_options {
    uint32_t struct_size, reserved;
    double seconds;    /**< 0.1 to 86400: how long to search */
    const char *write; /**< a table that also gets what won, as lines of cl/tuned/; or NULL */
    void (*visit)(void *data, const tsr_tune_result *result); /**< may be NULL */
    uint32_t (*stop)(void *data); /**< asked between runs; not 0: stop, and keep what was found */
    void *data;
} tsr_tune_options;

/**
 * Searches the tunables of every row that can run the model's ops in prefill and decode, those that
 * would be chosen first. Each candidate must give the bytes that the row gave before (a row that
 * may differ in a batch: nearly) and what the plain row gives, and is timed in turn with the best.
 * Winners are kept in the cache folder for this device and driver; devices opened later use them.
 *
 * owner  the model is on one device, opened with profile = 1
 * error  TSR_E_CANCELLED    stopped; what was found is kept
 *        TSR_E_UNSUPPORTED  its backend has no tunables, or the device measures nothing
 *        TSR_E_IO           there is no cache folder, or it or `write` can't be written
 */
TSR_API tsr_status tsr_tune_model(tsr_model *model, const tsr_tune_options *options);

/** The same for linear ops of these shapes: "M,N,K[,dtype];...": M rows by a weight [N,K] kept as
 * f32 (without a dtype), f16, bf16, q8 or q4.  error  TSR_E_ARGUMENT: no such list */
TSR_API tsr_status tsr_tune_shapes(tsr_device *device, const char *shapes,
                                   const tsr_tune_options *options);

#ifdef __cplusplus
}
#endif
#endif
