/* tessera/bench.h - how fast a device is, and how fast a model runs on it: `tessera bench`. */
#ifndef TESSERA_BENCH_H
#define TESSERA_BENCH_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tsr_bench_status {
    TSR_BENCH_OK = 0,
    TSR_BENCH_UNSUPPORTED = 1,     /**< the device or the backend can't do it; reason says why */
    TSR_BENCH_FAILED_ACCURACY = 2, /**< it ran, and gave wrong results: there is no rate */
    TSR_BENCH_ERROR = 3            /**< it did not run; reason says why */
} tsr_bench_status;

typedef enum tsr_bench_kind {
    TSR_BENCH_PEAK = 0,     /**< what the device can do at most */
    TSR_BENCH_PROMPT = 1,   /**< `tokens` tokens of each sequence at once, behind `depth` others */
    TSR_BENCH_GENERATE = 2, /**< `tokens` tokens of each sequence one after the other */
    TSR_BENCH_TRAIN = 3     /**< a step on `batch` sequences of `tokens`: gradients, norm, AdamW */
} tsr_bench_kind;

/** One measurement. Rows are never left out: what could not be measured says so. Texts are borrowed
 * for the visit. */
typedef struct tsr_bench_row {
    uint32_t struct_size;
    uint32_t status;  /**< tsr_bench_status */
    uint32_t kind;    /**< tsr_bench_kind */
    uint32_t runs;    /**< that median, lowest and highest are of */
    const char *test; /**< "fma f32", "pp512", "tg128@512" */
    const char *unit; /**< of the three: "FLOP/s", "OP/s", "B/s", "s", "tokens/s" */
    double median, lowest, highest;
    int64_t tokens, depth, batch; /**< 0 for peaks */
    double
        roofline;        /**< share of what the best of the peaks, which are measured
                            before and after each row, allow: the time that the multiply-adds or
                            the bytes would take, whichever is longer, over the median's; 0: not known */
    double flops, bytes; /**< of one run: multiply-adds count two; bytes of weights and of keys and
                            values, each read once a step */
    double error, bound; /**< of the accuracy gate: the largest difference from the reference's
                            logits over the largest of these, and what it may be; 0: no gate */
    uint64_t host_bytes; /**< the process's largest resident set so far; 0: not known */
    uint64_t device_bytes; /**< weights, keys and values, activations and inputs on the device */
    const char *kernels;   /**< "linear/packed attention/lanes ..." */
    const char *reason;    /**< where status is not OK, or the peaks moved beside the row, or its
                              share is above 100 %; else "" */
} tsr_bench_row;

typedef struct tsr_bench_options {
    uint32_t struct_size;
    uint32_t repeats; /**< 0: 5 */
    /** Every prompt and every generation is run at each depth and each batch. NULL: none. */
    const int64_t *prompts, *generates, *depths, *batches; /**< depths NULL: 0; batches NULL: 1 */
    uint32_t n_prompts, n_generates, n_depths, n_batches;
    /** What comes next. Not 0 cancels. May be NULL. */
    int (*progress)(void *data, const char *what);
    void *progress_data;
    const int64_t *trains; /**< tokens of a sequence of training steps, at each batch */
    uint32_t n_trains, reserved;
} tsr_bench_options;

typedef struct tsr_bench_summary {
    uint32_t struct_size;
    uint32_t ok, unsupported, failed_accuracy, errors;
} tsr_bench_summary;

/**
 * Measures the device's peaks, then prompt processing, generation and training with a model.
 *
 * Each row passes an accuracy gate: the logits that the same kernels give for a short prompt, and
 * for a token after it, are held against the reference backend's on the same weights, in the same
 * dtypes; of floats, within 1e-3 of the largest; of 8-bit or half arithmetic, within 3e-2. A row
 * that fails has no rate. Of training it is the loss and the gradients' norm of a step of 8 tokens,
 * within 1e-3.
 *
 * model   as tsr_model_open has it. NULL: peaks alone
 * engine  that of `device`; its reference device is opened for the gate
 * order   peaks, then prompts, then generations, then training, as they are listed; rows of a model
 *         come together, when its gate has been passed
 * thread  that of the device
 * error   TSR_E_ARGUMENT   a size below its least (tokens 1, depth 0, batch 1)
 *         TSR_E_CANCELLED  progress or `row` asked for it
 *         What goes wrong with a model is a row, and no error
 */
TSR_API tsr_status tsr_bench(tsr_engine *engine, tsr_device *device, const char *model,
                             const tsr_model_options *model_options,
                             const tsr_bench_options *options,
                             int (*row)(void *data, const tsr_bench_row *row), void *data,
                             tsr_bench_summary *summary);

/* ---- training, a step at a time, for programs that run peers in turn ---- */

/** A model that learns from tokens drawn at random: gradients, their norm, an update by AdamW a
 * step, in f32. */
typedef struct tsr_bench_training tsr_bench_training;

/** model  as tsr_model_open has it, a decoder alone; each step takes [batch, tokens] of it
 *  owner  the caller destroys *out before the device is closed
 *  error  TSR_E_ARGUMENT     a size below 1
 *         TSR_E_UNSUPPORTED  tokens above what the model reads */
TSR_API tsr_status tsr_bench_training_create(const char *model, tsr_device *device, uint32_t batch,
                                             int64_t tokens, tsr_bench_training **out);
/** Takes NULL content; leaves NULL. */
TSR_API void tsr_bench_training_destroy(tsr_bench_training **training);
/** loss of the last of these steps, may be NULL; ns: wall time of all, may be NULL. */
TSR_API tsr_status tsr_bench_training_run(tsr_bench_training *training, uint32_t steps,
                                          double *loss, uint64_t *ns);
/** Numbers that learn. */
TSR_API int64_t tsr_bench_training_parameters(const tsr_bench_training *training);

#ifdef __cplusplus
}
#endif
#endif
