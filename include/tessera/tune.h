/* tessera/tune.h - searching the best values of a device's kernel tunables. */
#ifndef TESSERA_TUNE_H
#define TESSERA_TUNE_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What was found for one kernel variant, for the ops that it serves in the same way. */
typedef struct tsr_tune_result {
    uint32_t struct_size;
    uint32_t kept;              /**< 1: more than 2 % faster, and kept */
    uint32_t tried, wrong;      /**< candidates; those whose results differed */
    const char *op, *variant;   /**< "linear"; the kernel variant, "packed" */
    const char *condition;      /**< "W_DTYPE=F32,rows=64-" */
    const char *before, *after; /**< "MR=6": the values in force before; the best */
    double before_ns, after_ns; /**< time of the variant's ops in a run, on the device */
} tsr_tune_result;

typedef struct tsr_tune_options {
    uint32_t struct_size, reserved;
    double seconds;    /**< how long to search: 0.1 to 86400 */
    const char *write; /**< a file that also gets the winners, as lines of cl/tuned/; or NULL */
    void (*visit)(void *data, const tsr_tune_result *result); /**< may be NULL */
    uint32_t (*stop)(void *data); /**< asked between runs; not 0: stop and keep what was found */
    void *data;
} tsr_tune_options;

/**
 * Searches the tunables of each kernel variant that can run the model's ops in prefill and decode,
 * starting with those that would be chosen. Each candidate must give the bytes that the variant
 * gave before (nearly, where the variant may differ in a batch), and what the plain variant gives;
 * it is timed in turn with the best so far. Winners are stored in the cache folder for this device
 * and driver; devices that are opened later use them, except where TESSERA_KERNEL_PATH is set.
 *
 * model   on one device, which was opened with profile = 1
 * thread  one call at a time for a model and its device
 * error   TSR_E_ARGUMENT     seconds is out of its range
 *         TSR_E_STATE        the device was opened without profile, or the model without a device
 *         TSR_E_UNSUPPORTED  the backend has no tunables, the device measures nothing, or several
 *                            devices are open
 *         TSR_E_IO           there is no cache folder, or it or `write` can't be written
 *         TSR_E_CANCELLED    `stop` asked for it; what was found is kept
 */
TSR_API tsr_status tsr_tune_model(tsr_model *model, const tsr_tune_options *options);

/**
 * The same for linear ops of given shapes.
 *
 * shape   "M,N,K[,dtype];...": M rows times a weight [N,K] stored as f32 (the default), f16, bf16,
 *         q8 or q4
 * thread  that of the device
 * error   TSR_E_ARGUMENT  shapes is not such a list
 *         and those of tsr_tune_model
 */
TSR_API tsr_status tsr_tune_shapes(tsr_device *device, const char *shapes,
                                   const tsr_tune_options *options);

#ifdef __cplusplus
}
#endif
#endif
