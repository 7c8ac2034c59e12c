/* tessera/run.h - why a model runs as it does: the kernel of each op, and where the time goes. */
#ifndef TESSERA_RUN_H
#define TESSERA_RUN_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A kernel variant that was considered for an op. */
typedef struct tsr_explained_variant {
    const char *name; /**< canonical: "linear/packed:MR=6" */
    /** Why it was refused; or, where it was chosen, what the user should know of it; or "". */
    const char *why;
    const char *tunables; /**< as tsr_variant.tunables */
    uint32_t chosen, fits, batch_variant;
    int32_t score;
} tsr_explained_variant;

/** An op of a plan, and the kernel variants that were considered for it. */
typedef struct tsr_explained {
    uint32_t struct_size;
    uint32_t n_rows;
    const char *label;                     /**< "layers.0.attention" */
    const char *op;                        /**< "attention" */
    const char *device;                    /**< the device that it runs on */
    const char *note;                      /**< why that is not the model's device, or "" */
    const tsr_explained_variant *variants; /**< in the order in which they were tried */
    int64_t tokens; /**< that a run of the plan takes: a longer prompt is read in pieces */
} tsr_explained;

/**
 * Visits the ops of the plan that runs `tokens` tokens of one sequence (1: decode; more: prefill),
 * in their order; those of the encoder where the model has no decoder. Of a prompt that is read in
 * pieces it is the plan of a whole piece (tsr_explained.tokens).
 *
 * visit   what it is given is valid during its call
 * thread  one call at a time for a model
 * error   TSR_E_ARGUMENT  tokens is less than 1
 *         TSR_E_STATE     the model was opened without a device
 *         and what running the model fails with
 */
TSR_API tsr_status tsr_explain(tsr_model *model, int64_t tokens,
                               void (*visit)(void *data, const tsr_explained *op), void *data);
/**
 * Visits the ops of the plan that encodes a text of `tokens` tokens.
 *
 * visit   as for tsr_explain
 * thread  as for tsr_explain
 * error   TSR_E_STATE  the model has no encoder
 *         and those of tsr_explain
 */
TSR_API tsr_status tsr_explain_encoder(tsr_model *model, int64_t tokens,
                                       void (*visit)(void *data, const tsr_explained *op),
                                       void *data);

/** The time of one kernel over everything that the model ran. */
typedef struct tsr_profiled {
    uint32_t struct_size, reserved;
    const char *device, *op, *kernel;
    uint64_t launches, nanoseconds; /**< on the device, by its events */
    uint64_t enqueue_nanoseconds;   /**< on the host, inside the calls that enqueue */
} tsr_profiled;
/**
 * Visits the kernels that the model ran on devices opened with profile = 1.
 *
 * visit   what it is given is valid during its call
 * thread  one call at a time for a model
 * error   TSR_E_STATE  the model was opened without a device
 */
TSR_API tsr_status tsr_profile(tsr_model *model,
                               void (*visit)(void *data, const tsr_profiled *entry), void *data);

#ifdef __cplusplus
}
#endif
#endif
