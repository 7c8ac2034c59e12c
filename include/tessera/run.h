/* tessera/run.h - why a model runs as it does: the kernel of each op, and where the time goes. */
#ifndef TESSERA_RUN_H
#define TESSERA_RUN_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A kernel row that was considered for an op. */
typedef struct tsr_explained_row {
    const char *name; /**< canonical: "linear/packed:MR=6" */
    const char *why;  /**< why not, where it was refused; what is to be known of it, where it was
                         chosen; or "" */
    const char *tunables;
    uint32_t chosen, fits, variant;
    int32_t score;
} tsr_explained_row;

typedef struct tsr_explained {
    uint32_t struct_size;
    uint32_t n_rows;
    const char *label;             /**< "layers.0.attention" */
    const char *op;                /**< "attention" */
    const char *device;            /**< which it runs on */
    const char *note;              /**< why it runs on another device than the model's, or "" */
    const tsr_explained_row *rows; /**< as they were tried */
} tsr_explained;

/** Visits the ops of the plan that runs `tokens` tokens of one sequence (1: decode; more: prefill),
 * in their order; of a model without a decoder, the encoder's. What is visited is valid for the
 * call of visit.  error  as running the model */
TSR_API tsr_status tsr_explain(tsr_model *model, int64_t tokens,
                               void (*visit)(void *data, const tsr_explained *op), void *data);
/** The same of the plan that encodes a text of `tokens` tokens.  error  TSR_E_STATE  no encoder */
TSR_API tsr_status tsr_explain_encoder(tsr_model *model, int64_t tokens,
                                       void (*visit)(void *data, const tsr_explained *op),
                                       void *data);

/** Time of one kernel over everything that the model ran on devices opened with profile = 1. */
typedef struct tsr_profiled {
    uint32_t struct_size, reserved;
    const char *device, *op, *kernel;
    uint64_t launches, nanoseconds; /**< on the device, by its events */
    uint64_t enqueue_nanoseconds;   /**< on the host, inside the calls that enqueue */
} tsr_profiled;
TSR_API tsr_status tsr_profile(tsr_model *model,
                               void (*visit)(void *data, const tsr_profiled *entry), void *data);

#ifdef __cplusplus
}
#endif
#endif
