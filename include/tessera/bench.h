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
    TSR_BENCH_ERROR = 3,           /**< it did not run; reason says why */
    TSR_BENCH_THROTTLED = 4        /**< it has a rate, but the peak that limits it fell beside it */
} tsr_bench_status;

typedef enum tsr_bench_kind {
    TSR_BENCH_PEAK = 0,     /**< the most that the device can do */
    TSR_BENCH_PROMPT = 1,   /**< `tokens` tokens of each sequence at once, after `depth` others */
    TSR_BENCH_GENERATE = 2, /**< `tokens` tokens of each sequence one after the other */
    TSR_BENCH_TRAIN = 3,    /**< a step on `batch` sequences of `tokens`: gradients, norm, AdamW */
    TSR_BENCH_OP = 4,       /**< one op, in a shape of a real model */
    TSR_BENCH_EMBED = 5,    /**< `batch` texts of `tokens` to vectors */
    TSR_BENCH_TRANSLATE =
        6,               /**< `batch` texts of `depth` tokens to `tokens` each, by beam search */
    TSR_BENCH_START = 7, /**< a process from its start to its first byte of output */
    /** Requests to a scheduler of `batch` slots: prompts of `depth` tokens, `tokens` that follow. */
    TSR_BENCH_SERVE = 8
} tsr_bench_kind;

/** The names that files and tables use: "ok", "failed-accuracy"; "peak", "generate". "" for any
 * other number. */
TSR_API const char *tsr_bench_status_name(uint32_t status);
/** The same for kinds. */
TSR_API const char *tsr_bench_kind_name(uint32_t kind);

typedef enum tsr_bench_scenario {
    TSR_BENCH_NO_SCENARIO = 0,
    TSR_BENCH_SINGLE_STREAM = 1, /**< one request after the other */
    TSR_BENCH_OFFLINE = 2,       /**< as many as the batch has at once */
    TSR_BENCH_SERVER = 3         /**< requests that come by a Poisson process */
} tsr_bench_scenario;

typedef enum tsr_bench_bound {
    TSR_BENCH_BOUND_UNKNOWN = 0,
    TSR_BENCH_BOUND_MEMORY = 1,
    TSR_BENCH_BOUND_ARITHMETIC = 2,
    TSR_BENCH_BOUND_LAUNCHES = 3
} tsr_bench_bound;

/** "memory", "arithmetic" or "launches". "" for any other number. */
TSR_API const char *tsr_bench_bound_name(uint32_t bound);

/** The machine beside a row, before and after its samples. NaN: not measured. */
typedef struct tsr_bench_conditions {
    double clock[2];       /**< Hz, the fastest core or the card */
    double temperature[2]; /**< degrees Celsius, the hottest */
    double load[2];        /**< runnable threads of others */
    double steal;          /**< the share of processor time that the hypervisor took */
    double energy;         /**< joules of the package or the card */
} tsr_bench_conditions;

/** What a row's weights are. */
typedef struct tsr_bench_model {
    const char *name;  /**< with adapters: "model + adapter" */
    const char *dtype; /**< what was asked for: "q8"; NULL: as stored */
    const char *kept;  /**< what most bytes of the matrices are kept in: the row's class */
    const char *hash;  /**< SHA-256 of the arrays and of adapters; NULL: not known */
    int64_t parameters;
    uint64_t bytes; /**< of the weights on the device */
    /** What keys and values are kept in, "f16", and what the products of most weights are formed in, "int8";
     * NULL: not known, or there are none. */
    const char *kv_dtype, *compute;
} tsr_bench_model;

typedef enum tsr_bench_measure {
    TSR_BENCH_PERPLEXITY = 0,
    TSR_BENCH_COSINE = 1, /**< the mean cosine of logits or vectors with those of f32 */
    TSR_BENCH_BLEU = 2
} tsr_bench_measure;

/** What a dtype costs against f32 on the same device. */
typedef struct tsr_bench_quality {
    uint32_t measure, reserved; /**< tsr_bench_measure */
    double value, f32;
    double kept, least; /**< the share of f32's quality, and the least that is allowed */
} tsr_bench_quality;

/** The kernel variant of an op, and where the values of its tunables come from. */
typedef struct tsr_bench_kernel {
    const char *op, *variant; /**< "linear", "packed" */
    const char *tuning;       /**< "MR=6 (default)", or "" */
} tsr_bench_kernel;

/** One measurement, a row of the benchmark's table. No row is left out: one that could not be
 * measured says so. What it points to is valid during the visit. */
typedef struct tsr_bench_row {
    uint32_t struct_size;
    uint32_t status;   /**< tsr_bench_status */
    uint32_t kind;     /**< tsr_bench_kind */
    uint32_t scenario; /**< tsr_bench_scenario */
    const char *test;  /**< "fma f32", "pp512", "tg128@512" */
    /** "FLOP/s", "OP/s", "B/s", "s", "tokens/s", "sentences/s" or "sequences/s"; of "s", less is
     * better */
    const char *unit;
    const double *samples; /**< [n_samples] every measured run, in order */
    uint32_t n_samples;
    uint32_t warmup;   /**< runs that were thrown away before the first sample */
    uint32_t outliers; /**< samples more than three scaled median deviations from the median */
    uint32_t noisy;    /**< 1: its median is uncertain; the reason says why */
    double median, lowest, highest;
    double p90; /**< of seconds: what nine of ten runs stay within; of rates: what they reach */
    int64_t tokens, depth, batch;  /**< 0: the row has none */
    double first_token, per_token; /**< seconds, medians, of a request; 0: not measured */
    /** The share of the best possible rate, by the best peaks so far, which are measured again
     * after each row: the time that the multiply-adds or the bytes would take, whichever is longer,
     * over the median's time; 0: not known. */
    double roofline;
    /** Of one run: a multiply-add counts as two; bytes are those of weights and of keys and values,
     * each read once in a step. */
    double flops, bytes;
    /** The rate that a model of the device expects, from its peaks: each launch takes the time of its
     * bytes, of its multiply-adds, or on GPUs of its longest sum in order, whichever is longest, and the
     * peak "launch batched". bench/gpu_model predicts by the same rules without a device, and by more of
     * them. 0: not known. */
    double predicted;
    uint32_t bound_by; /**< tsr_bench_bound: what takes the most of the predicted time */
    uint32_t n_kernels;
    uint64_t launches; /**< of one run; 0: not known */
    /** Of the accuracy gate: the largest difference from the reference's results over the largest of
     * these, and the most that it may be; 0: no gate. */
    double error, bound;
    /** The peaks beside the row: the last that were measured before it, after the row before,
     * and those right after it: multiply-adds in f32 (FLOP/s), reads (B/s); 0: not measured. */
    double peak_fma[2], peak_read[2];
    /** The largest resident set of the process from the row's first run to its last; where the
     * system can't count it anew (all but Linux), since the process began; 0: not known. */
    uint64_t host_bytes;
    uint64_t device_bytes; /**< weights, keys and values, activations and inputs on the device */
    const tsr_bench_kernel *kernels;  /**< [n_kernels] */
    const tsr_bench_model *model;     /**< NULL: a peak or an op */
    const char *storage;              /**< the class of an op: "f32", "q8"; NULL: the model's */
    const tsr_bench_quality *quality; /**< NULL: not asked for */
    const tsr_bench_conditions *conditions; /**< NULL: not measured */
    const char *peer; /**< another engine's name and version, which ran the row; NULL: Tessera */
    /** What happened, where status is not OK, or what else is to be known; else "". */
    const char *reason;
    double p99; /**< as p90, of 99 in 100 */
    /** What `predicted` is made of, by tsr_bench_bound: seconds of one run in launches that memory
     * holds back, in those that arithmetic does, and for the launches themselves; 0: not known. */
    double predicted_seconds[4];
    int64_t requests; /**< of a run to a scheduler, each of `tokens` tokens; 0: none */
    uint32_t
        first_pass; /**< so many samples, the first ones, are of the first of two passes; 0: there was one */
    uint32_t unfinished; /**< 1: the row's second pass follows, and then it comes again */
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
    uint32_t ok, unsupported, failed_accuracy, errors, throttled, reserved;
} tsr_bench_summary;

/**
 * Measures the device's peaks, then prompt processing, generation and training with a model, by the
 * rules of docs/benchmark.md.
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
 * order   peaks, then prompts, then generations, then training, as they are listed
 * thread  that of the device
 * error   TSR_E_ARGUMENT   a size is below its least (tokens 1, depth 0, batch 1), or training
 *                          steps are asked for with adapters
 *         TSR_E_CANCELLED  progress or `row` asked for it
 *         What goes wrong with a model is a row, not a failure of the call
 */
TSR_API tsr_status tsr_bench(tsr_engine *engine, tsr_device *device, const char *model,
                             const tsr_model_options *model_options,
                             const tsr_bench_options *options,
                             int (*row)(void *data, const tsr_bench_row *row), void *data,
                             tsr_bench_summary *summary);

/* ---- the suite ---- */

/** Of its rows: results of other versions are not compared with each other. */
#define TSR_BENCH_SUITE_VERSION 3

typedef struct tsr_bench_suite_options {
    uint32_t struct_size;
    uint32_t unfinished; /**< 1: `row` is called after a row's first pass, too */
    /** "smoke" (two minutes on two cores), "laptop" (a quarter of an hour), "full"; NULL: "smoke" */
    const char *class_name;
    /** Parts of it, "peaks,decoder": peaks, ops, decoder, bundled, encoder, translation, training, start;
     * NULL: all. The peaks are always measured, because shares need them. */
    const char *parts;
    const char *model; /**< takes the place of the shape of its kind; NULL: none */
    /** The command whose start is measured, [n_start]: it is to write something to its standard
     * output. NULL: that part is left out. */
    const char *const *start;
    uint32_t n_start, reserved2;
    /** Told before every run: what is measured, how many measurements of a row are done and how many there
     * are, which is two for each row; returns not 0 to cancel. May be NULL. */
    int (*progress)(void *data, const char *what, uint32_t done, uint32_t all);
    void *progress_data;
    /** The command of another engine, [n_peer], which answers lines of JSON (bench/workers/suite_peer.py):
     * each row of prompts, generation and vectors is followed by one of this engine, on the same weights.
     * NULL: none. */
    const char *const *peer;
    uint32_t n_peer, reserved3;
    /** The model that `start` runs, which rows of starts name, with the hash of its weights; NULL:
     * they name none. */
    const char *start_model;
} tsr_bench_suite_options;

/**
 * Measures the fixed set of rows of docs/benchmark.md on a device: peaks, jobs of models whose
 * weights are drawn from seeds or bundled, in f32, f16, q8 and q4, and starts of a process. Each
 * row of an op or a model passes the gates of tsr_bench; peaks and starts have none. All rows are
 * measured in a first pass, and those that have a rate again in a second one: where the medians of
 * the two differ by more than 5 %, the row is noisy.
 *
 * engine  that of `device`; its reference device is opened for the gates
 * options may be NULL
 * row     called with each row as soon as it had both passes, and, where the call ends early, with
 *         those that had one; returns not 0 to cancel
 * summary may be NULL
 * owner   all arguments are borrowed for the call; what `row` is given is valid during its call
 * order   that of the table in docs/benchmark.md, in both passes
 * thread  that of the device. Starts run other processes
 * error   TSR_E_ARGUMENT   a class or a part that there is not
 *         TSR_E_CANCELLED  progress or `row` asked for it
 *         TSR_E_IO         `peer` does not start
 *         TSR_E_UNSUPPORTED, TSR_E_DEVICE  it does not become ready; the sentence is its own
 *         and those of tsr_model_open, of `model`. What goes wrong later is a row
 */
TSR_API tsr_status tsr_bench_suite(tsr_engine *engine, tsr_device *device,
                                   const tsr_bench_suite_options *options,
                                   int (*row)(void *data, const tsr_bench_row *row), void *data,
                                   tsr_bench_summary *summary);

/* ---- files ---- */

/** The results of a run, as they are written to a file: docs/benchmark-schema.json. */
typedef struct tsr_bench_file tsr_bench_file;

typedef struct tsr_bench_file_options {
    uint32_t struct_size;
    uint32_t version;       /**< of the set of rows; 0: that of this library, by `name` */
    const char *name;       /**< "bench", rows that a user chose; "suite" */
    const char *class_name; /**< "smoke", "laptop", "full"; NULL: none */
    /** How the engine was built; NULL: not known. */
    const char *commit, *compiler, *flags, *build_type;
    /** Called with each part as it arises, as JSON on one line without its end: {"schema": 2},
     * {"suite": ..}, {"engine": ..}, {"host": ..}, {"device": ..}, {"model": ..}, {"row": ..};
     * suite and host once more by tsr_bench_file_end. May be NULL. */
    void (*line)(void *data, const char *text);
    void *line_data;
} tsr_bench_file_options;

/**
 * Begins the results of a run: notes the time, the host, and its load.
 *
 * options  NULL: "bench"
 * owner    the caller destroys *out; options are borrowed for the call, line_data until then
 * thread   one call at a time for a file
 * error    TSR_E_ARGUMENT  a name or a class that the schema does not have
 */
TSR_API tsr_status tsr_bench_file_create(const tsr_bench_file_options *options,
                                         tsr_bench_file **out);
/** Destroys it. *file may be NULL, and is NULL afterwards. */
TSR_API void tsr_bench_file_destroy(tsr_bench_file **file);
/**
 * Adds a device; rows that follow are its rows.
 *
 * threads  the limit of its threads; 0: none
 * error    TSR_E_HOST_MEMORY  there is too little memory
 */
TSR_API tsr_status tsr_bench_file_device(tsr_bench_file *file, const tsr_device_info *device,
                                         uint32_t threads);
/**
 * Adds a row, and its model where the file does not have it yet. A row that is not unfinished takes the
 * place of the first one that is: rows come again in the order in which they came unfinished. `line` is
 * not called with unfinished rows.
 *
 * error   TSR_E_STATE  there is no device yet
 */
TSR_API tsr_status tsr_bench_file_row(tsr_bench_file *file, const tsr_bench_row *row);
/**
 * Ends a run: gives `suite` and `host` to `line` once more, with what is known only now: the
 * seconds, the load, the stolen time, and whether the run is whole. Until then it counts as
 * partial.
 *
 * partial  1: the run was stopped before its end
 * error    TSR_E_ARGUMENT  file is NULL
 */
TSR_API tsr_status tsr_bench_file_end(tsr_bench_file *file, uint32_t partial);
/**
 * Gives the text of the file as of now, which ends with the hash of its rows.
 *
 * partial  1: the run was stopped before its end
 * n        the length in bytes; may be NULL
 * owner    *text is new memory; the caller frees it with tsr_text_free
 * error    TSR_E_HOST_MEMORY  there is, or was, too little memory
 */
TSR_API tsr_status tsr_bench_file_text(tsr_bench_file *file, uint32_t partial, char **text,
                                       size_t *n);

/* ---- training, a step at a time, for programs that run peers in turn ---- */

/** A model that is trained on random tokens, with f32 parameters: each step computes gradients, their norm, and
 * an update by AdamW. */
typedef struct tsr_bench_training tsr_bench_training;

/**
 * Creates a training whose steps take [batch, tokens] tokens.
 *
 * model   as tsr_model_open takes it; a decoder
 * compute TSR_COMPUTE_F32 or TSR_COMPUTE_BF16: the dtype of matrix products and their gradients
 * owner   the caller destroys *out, before the device is closed
 * thread  that of the device
 * error   TSR_E_ARGUMENT     a size is below 1, or compute is another one
 *         TSR_E_UNSUPPORTED  tokens is above what the model reads
 *         and those of tsr_model_open
 */
TSR_API tsr_status tsr_bench_training_create(const char *model, tsr_device *device, uint32_t batch,
                                             int64_t tokens, uint32_t compute,
                                             tsr_bench_training **out);
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
