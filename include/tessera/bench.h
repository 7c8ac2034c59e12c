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
    TSR_BENCH_FAILED_ACCURACY = 2, /**< it ran and gave wrong results: there is no rate */
    TSR_BENCH_ERROR = 3            /**< it did not run; reason says why */
} tsr_bench_status;

typedef enum tsr_bench_kind {
    TSR_BENCH_PEAK = 0,     /**< the most that the device can do */
    TSR_BENCH_PROMPT = 1,   /**< `tokens` tokens of each sequence at once, after `depth` others */
    TSR_BENCH_GENERATE = 2, /**< `tokens` tokens of each sequence one after the other */
    TSR_BENCH_TRAIN = 3     /**< a step on `batch` sequences of `tokens`: gradients, norm, AdamW */
} tsr_bench_kind;

/** One measurement, a row of the benchmark's table. No row is left out: one that could not be
 * measured says so. Texts are valid during the visit. */
typedef struct tsr_bench_row {
    uint32_t struct_size;
    uint32_t status;  /**< tsr_bench_status */
    uint32_t kind;    /**< tsr_bench_kind */
    uint32_t runs;    /**< how many median, lowest and highest are taken from */
    const char *test; /**< "fma f32", "pp512", "tg128@512" */
    const char *unit; /**< of these three: "FLOP/s", "OP/s", "B/s", "s", "tokens/s" */
    double median, lowest, highest;
    int64_t tokens, depth, batch; /**< 0 for peaks */
    /** The share of the best possible rate, by the peaks, which are measured before and after each
     * row: the time that the multiply-adds or the bytes would take, whichever is longer, over the
     * median's time; 0: not known. */
    double roofline;
    /** Of one run: a multiply-add counts as two; bytes are those of weights and of keys and values,
     * each read once in a step. */
    double flops, bytes;
    /** Of the accuracy gate: the largest difference from the reference's logits over the largest of
     * these, and the most that it may be; 0: no gate. */
    double error, bound;
    uint64_t host_bytes;   /**< the largest resident set of the process so far; 0: not known */
    uint64_t device_bytes; /**< weights, keys and values, activations and inputs on the device */
    const char *kernels;   /**< "linear/packed attention/lanes ..." */
    /** What happened, where status is not OK, the peaks changed beside the row, or its share is
     * above 100 %; else "". */
    const char *reason;
    /** Of a prompt or a generation: the tokens a second that a model of the device expects, which is the
     * time of the roofline and, for each launch of the plan, the peak "launch batched"; 0: not known. */
    double predicted;
} tsr_bench_row;

typedef struct tsr_bench_options {
    uint32_t struct_size;
    uint32_t repeats; /**< 0: 5 */
    /** Each prompt and each generation is run at each depth and each batch. Prompts or generates
     * NULL: none; depths NULL: 0; batches NULL: 1. */
    const int64_t *prompts, *generates, *depths, *batches;
    uint32_t n_prompts, n_generates, n_depths, n_batches;
    /** Told what comes next; returns not 0 to cancel. May be NULL. */
    int (*progress)(void *data, const char *what);
    void *progress_data;
    const int64_t *trains; /**< tokens of a sequence in training steps, at each batch */
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
 * for a token after it, are compared with those of the reference backend on the same weights in the
 * same dtypes. With floats they must agree within 1e-3 of the largest logit, with 8-bit or half
 * arithmetic within 3e-2. For training, the loss and the norm of the gradients of a step of 8
 * tokens must agree within 1e-3. A row that fails has no rate.
 *
 * engine  that of `device`; its reference device is opened for the gate
 * model   as tsr_model_open takes it; NULL: only the peaks
 * row     called with each row; returns not 0 to cancel
 * summary may be NULL
 * owner   all arguments are borrowed for the call; what `row` is given is valid during its call
 * order   peaks, then prompts, then generations, then training, as they are listed; the rows of a
 *         model come together, after its gate
 * thread  that of the device
 * error   TSR_E_ARGUMENT   a size is below its least (tokens 1, depth 0, batch 1)
 *         TSR_E_CANCELLED  progress or `row` asked for it
 *         What goes wrong with a model is a row, not a failure of the call
 */
TSR_API tsr_status tsr_bench(tsr_engine *engine, tsr_device *device, const char *model,
                             const tsr_model_options *model_options,
                             const tsr_bench_options *options,
                             int (*row)(void *data, const tsr_bench_row *row), void *data,
                             tsr_bench_summary *summary);

/* ---- training, a step at a time, for programs that run peers in turn ---- */

/** A model that is trained in f32 on random tokens: each step computes gradients, their norm, and
 * an update by AdamW. */
typedef struct tsr_bench_training tsr_bench_training;

/**
 * Creates a training whose steps take [batch, tokens] tokens.
 *
 * model   as tsr_model_open takes it; a decoder
 * owner   the caller destroys *out, before the device is closed
 * thread  that of the device
 * error   TSR_E_ARGUMENT     a size is below 1
 *         TSR_E_UNSUPPORTED  tokens is above what the model reads
 *         and those of tsr_model_open
 */
TSR_API tsr_status tsr_bench_training_create(const char *model, tsr_device *device, uint32_t batch,
                                             int64_t tokens, tsr_bench_training **out);
/** Destroys it. *training may be NULL, and is NULL afterwards. */
TSR_API void tsr_bench_training_destroy(tsr_bench_training **training);
/**
 * Runs steps.
 *
 * loss    of the last of them; may be NULL
 * units   ns: nanoseconds of wall time of all of them; may be NULL
 * thread  that of the device
 * error   what the device reports
 */
TSR_API tsr_status tsr_bench_training_run(tsr_bench_training *training, uint32_t steps,
                                          double *loss, uint64_t *ns);
/** How many parameters are trained. */
TSR_API int64_t tsr_bench_training_parameters(const tsr_bench_training *training);

#ifdef __cplusplus
}
#endif
#endif
