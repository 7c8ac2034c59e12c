/* task/bench/bench.h - what the files of the benchmark share: a run of it on one device, and the
 * draft of a row. docs/benchmark.md has the rules. */
#ifndef TSRI_TASK_BENCH_BENCH_H
#define TSRI_TASK_BENCH_BENCH_H

#include "model/model.h"
#include "run/peaks.h"
#include "task/bench/conditions.h"
#include "task/bench/runs/steady.h"
#include "tessera/bench.h"

/* Where rows go, and their counts; and who is told what comes next. */
typedef struct tsri_task_sink {
    int (*row)(void *data, const tsr_bench_row *row);
    void *data;
    bool unfinished; /* rows go there after their first of two passes, too */
    tsr_bench_summary *summary;
    int (*progress)(void *data, const char *what); /* may be NULL */
    void *progress_data;
} tsri_task_sink;

/* What a run knows of the models that it had: f32's results, for the quality of other dtypes, and the
 * hash of the weights. */
typedef struct tsri_task_memo tsri_task_memo;
typedef struct tsri_task_peer tsri_task_peer; /* task/bench/peer.h */
typedef struct tsri_task_kept tsri_task_kept; /* a row after its first pass */

/* Two passes over all rows, in the same order, so that a row's samples are from times that lie far
 * apart. The first pass keeps its rows; the second one measures those again that have a rate. */
typedef struct tsri_task_passes {
    bool second;
    tsri_task_kept **rows; /* [n], in order */
    size_t n, room;
    size_t next; /* in the second pass: the row that begins next */
} tsri_task_passes;

enum { TSRI_TASK_BENCH_CACHED = 23, TSRI_TASK_BENCH_MOST_REQUESTS = 1024 };
enum { TSRI_TASK_BENCH_BEAMS = 4 }; /* of translations */

/* A run on one device. */
typedef struct tsri_task_bench {
    tsr_engine *engine;
    tsr_device *device;
    const tsri_task_sink *sink;
    tsri_task_rule rule;
    tsri_run_peaks best, now; /* the device's peaks: the best so far, and the latest */
    double cached;            /* the peak of reads of 2^CACHED bytes; 0: not known */
    bool cpu;                 /* the device is the host's processor */
    uint32_t vendor;          /* of the device: its PCI number; 0: not known */
    char broken[256];         /* why no row has a rate: the device's clock is wrong; else "" */
    tsri_task_memo *memo;     /* NULL: nothing is kept from one model to the next */
    tsri_task_peer *peer;     /* an engine that runs rows, too; NULL: none */
    tsri_task_passes *passes; /* NULL: each row is measured once */
    double rest;              /* seconds between the last sample and what is measured after it */
} tsri_task_bench;

/* A row that is being made, with what it owns. */
typedef struct tsri_task_draft {
    tsr_bench_row row;
    char test[64], reason[1024], note[512];
    tsri_task_samples samples; /* in the row's unit */
    tsr_bench_conditions conditions;
    double others; /* cores that other programs used meanwhile: tsri_task_others_between */
    tsr_bench_kernel *kernels;
    size_t kernels_room;
    double *requests[2]; /* [n_requests]: seconds to the first token, and of each later one */
    uint32_t n_requests;
    uint32_t held_by;       /* tsr_bench_bound, where it is not the row's: whose peak is watched */
    tsri_task_kept *before; /* the row's first pass; NULL: this is the first, or the only one */
} tsri_task_draft;

struct tsri_task_kept {
    tsri_task_draft draft;
    tsr_bench_model model;
    tsr_bench_quality quality;
    char *texts[6]; /* of the model */
    bool given;     /* the sink has the row */
};

/* Something that a model does. */
typedef struct tsri_task_job {
    tsr_bench_kind kind;
    int64_t tokens, depth, batch;
    bool request; /* generation: from a prompt of `depth` tokens on, the whole time */
} tsri_task_job;

/* ---- rows.c ---- */

__attribute__((format(PRINTF, 4, 5))) void tsri_task_draft_begin(tsri_task_draft *draft,
                                                                 tsr_bench_kind kind,
                                                                 const char *unit,
                                                                 const char *format, ...);
/* Begins the row of a job of a model: its name, unit and sizes. */
void tsri_task_bench_name_row(const tsri_task_job *job, tsri_task_draft *draft);
/* TSR_E_UNSUPPORTED, with the reason, where the job has more tokens than the model reads. */
tsr_status tsri_task_bench_reads(tsr_model *model, const tsri_task_job *job);
/* Adds to the row's reason. */
__attribute__((format(PRINTF, 2, 3))) void tsri_task_draft_note(tsri_task_draft *draft,
                                                                const char *format, ...);
/* Sets the status and its reason, and removes the row's figures, except those of the gate. */
void tsri_task_draft_void(tsri_task_draft *draft, uint32_t status, const char *reason);
/* The same after a call that failed with `status`, whose sentence is the reason. */
void tsri_task_draft_fail(tsri_task_draft *draft, tsr_status status);
/* Adds a kernel variant with its tuning, once; the texts are copied. `name` is
 * "linear/packed:MR=6". */
tsr_status tsri_task_draft_kernel(tsri_task_draft *draft, const char *op, const char *name,
                                  const char *tuning);
/* Adds the kernel variants that a plan runs. */
tsr_status tsri_task_draft_plan(tsri_task_draft *draft, const tsri_run_plan *plan);
/* Sets median, percentiles and outliers from the samples, and notes why their median is
 * uncertain, which makes the row noisy. */
tsr_status tsri_task_draft_figures(tsri_task_draft *draft);
/* Sets the times of requests from those [n] of all that ran in this pass, in order: the row has the
 * medians of the last ones, of which each of its samples has `per_sample`, and of those of its first pass. */
tsr_status tsri_task_draft_latencies(tsri_task_draft *draft, const double *first,
                                     const double *each, uint32_t n, uint32_t per_sample);
/* Notes that others used the processor beside the row, by its conditions and by `others`, which
 * makes it noisy. */
void tsri_task_draft_company(tsri_task_draft *draft, bool cpu);
/* Hands the row on, and frees what the draft owns. */
tsr_status tsri_task_draft_give(tsri_task_draft *draft, const tsri_task_sink *sink);
/* The failure of a run that the sink stops. */
tsr_status tsri_task_bench_cancelled(void);
/* Points the row at what the draft owns. */
void tsri_task_draft_bind(tsri_task_draft *draft);
void tsri_task_draft_clear(tsri_task_draft *draft);

tsr_status tsri_task_bench_tell(const tsri_task_sink *sink, const char *what);

/* Sets n ids in [0, vocab), which depend on n and vocab alone. */
void tsri_task_bench_ids(int32_t *ids, int64_t n, int32_t vocab);

/* ---- passes.c ---- */

/* To be called when a draft has its name: in the second pass, gives it what the first one has found
 * out, its model and its gates. False: it has no rate, and need not be measured again. */
bool tsri_task_bench_recall(const tsri_task_bench *b, tsri_task_draft *draft);
/* What the first pass made of the row that begins next; NULL: this is the first pass. */
const tsri_task_draft *tsri_task_bench_first(const tsri_task_bench *b);
/* In the second pass: whether one of the next rows is measured again, of the peer or of Tessera. */
bool tsri_task_bench_wants(const tsri_task_bench *b, uint32_t rows, bool peer);
/* Puts what the first pass measured before what this one did: samples, the machine's state, peaks. */
tsr_status tsri_task_draft_join(tsri_task_draft *draft);
/* Hands the row on, or keeps it if another pass follows, and frees what the draft owns. A row whose
 * first pass gave no rate stays as it was. */
tsr_status tsri_task_draft_emit(tsri_task_draft *draft, const tsri_task_bench *b);
/* Hands on the rows that had one pass alone, and frees all. */
void tsri_task_passes_end(tsri_task_passes *passes, const tsri_task_sink *sink);

/* ---- peaks.c ---- */

/* Makes a row of each peak, and sets those of the run; in a second pass, those of both count. */
uint32_t tsri_task_bench_peak_count(void);
tsr_status tsri_task_bench_peaks(tsri_task_bench *b);
/* Makes the row of a peak of this pass's samples, which a draft has, and sets that peak. `status` is
 * how its measurement ended. */
tsr_status tsri_task_bench_peak(tsri_task_bench *b, uint32_t peak, tsri_task_draft *draft,
                                tsr_status status);
/* Measures those peaks again that the run has. */
void tsri_task_bench_beside(tsri_task_bench *b);
/* Keeps the larger value of each peak. */
void tsri_task_bench_best(tsri_run_peaks *best, const tsri_run_peaks *other);
/* The PCI number of the (first) device's vendor; 0: not known. */
uint32_t tsri_task_bench_vendor(const tsr_device *device);
/* Whether the (first) device is the host's processor. */
bool tsri_task_bench_is_cpu(const tsr_device *device);

/* ---- ops.c ---- */

/* class_at: the suite's class, 0 smoke, 1 laptop, 2 full. */
uint32_t tsri_task_bench_op_count(int class_at);
tsr_status tsri_task_bench_ops(tsri_task_bench *b, int class_at);

/* ---- timed.c ---- */

/* Runs `once` until the rule is met and sets the row's figures: of "s" the seconds of a run, else
 * `work` a second. Peaks and conditions are measured around the samples. The caller then sets
 * what a run computes (tsri_task_bench_work), and calls tsri_task_bench_finish. */
typedef tsr_status (*tsri_task_once)(void *data, double *seconds);
tsr_status tsri_task_bench_time(tsri_task_bench *b, tsri_task_draft *draft, double work,
                                tsri_task_once once, void *data);
/* Notes why a row is doubtful: the peak beside it that holds it back was far below the best, which
 * also marks it as throttled, or its share is above 1. Reads hold back what memory does; all else, the
 * caches, too, has the clock of multiply-adds. */
void tsri_task_bench_doubt(const tsri_task_bench *b, tsri_task_draft *draft);
/* Doubts a row, gives it to the sink and frees it. `status` is how its measurement ended: a failure is
 * told by the row, and only what stops the benchmark is returned. A rate gets the note, which may be
 * "". */
tsr_status tsri_task_bench_finish(const tsri_task_bench *b, tsri_task_draft *draft,
                                  tsr_status status, const char *note);

/* ---- predict.c ---- */

enum { TSRI_TASK_BENCH_BOUNDS = 4 }; /* the values of tsr_bench_bound */

/* What a launch must do at least. */
typedef struct tsri_task_least {
    double flops[TSRI_RUN_COMPUTES], bytes;
    double terms; /* as in tsri_run_op_work */
} tsri_task_least;
/* Adds the time of `times` such launches, without their cost, to that of what bounds them. */
void tsri_task_bench_predict(const tsri_run_peaks *peaks, const tsri_task_least *least,
                             double times, double seconds[TSRI_TASK_BENCH_BOUNDS]);
/* tsri_run_peaks.term of a device. */
double tsri_task_bench_term(const tsr_device *device);

/* ---- work.c ---- */

/* What a run computes and reads, all together, and its time by the model. */
typedef struct tsri_task_amounts {
    double flops[TSRI_RUN_COMPUTES],
        bytes; /* bytes of weights, keys and values; of an op, of all */
    uint64_t launches;
    double seconds[TSRI_TASK_BENCH_BOUNDS];
} tsri_task_amounts;

/* Fills in what a run of the job computes and reads at least, by which kernel variants, and the row's
 * share of the roofline; its median is set already. `requests`: how many a run answers, 0 if the job is not of requests. */
tsr_status tsri_task_bench_work(tsr_model *model, const tsri_run_peaks *peaks,
                                const tsri_task_job *job, int64_t requests, tsri_task_draft *draft);
/* Sets the row's amounts, its share, the predicted rate and what holds it back; its median is set
 * already. `work` is what a run counts in the row's unit. */
void tsri_task_bench_share(const tsri_run_peaks *peaks, const tsri_task_amounts *amounts,
                           double work, tsr_bench_row *row);
/* Lists the kernel variants alone: of all plans that a run of the job has, those of a prompt and of the
 * tokens after it, those of an encoder and of its decoder. */
tsr_status tsri_task_bench_kernels(tsr_model *model, const tsri_task_job *job,
                                   tsri_task_draft *draft);

/* What a model keeps on the device; 0: not known. */
uint64_t tsri_task_bench_device_bytes(const tsr_model *model);

/* ---- jobs.c ---- */

/* How many rows the jobs of a model have. */
uint32_t tsri_task_bench_row_count(const tsri_task_job *jobs, size_t n, bool peer);
/* Opens a model, passes it through the gates, and makes a row of each job, and the peer's row where
 * it has one. What goes wrong is a row; the status is that of a run that can't go on. */
tsr_status tsri_task_bench_model(tsri_task_bench *b, const char *name,
                                 const tsr_model_options *options, const tsri_task_job *jobs,
                                 size_t n);

/* ---- serving.c ---- */

/* Makes the rows of requests to a scheduler: all at once, which says what it can take; then as they
 * come by a Poisson process at a share of that: tokens a second, the time to the first token, and that
 * of each token after it. `common` has what the rows share: the model and its gates. Its status, if it
 * is not OK, is that of all rows, and `failed` their reason; the model is not used then. */
enum { TSRI_TASK_BENCH_SERVES = 4 };
tsr_status tsri_task_bench_serve(tsri_task_bench *b, tsr_model *model, const tsri_task_job *job,
                                 const tsr_bench_row *common, const char *failed, const char *note);

/* ---- training.c ---- */

/* Makes the row of training steps on `batch` sequences of `tokens`; the roofline counts 6 FLOP for
 * each parameter and token, and 36 bytes for each parameter. The gate: the loss and the gradients'
 * norm of a short first step. */
tsr_status tsri_task_bench_train(tsri_task_bench *b, const char *model, const tsri_task_job *job);

/* ---- identity.c ---- */

/* A model's identity; the texts are in the struct. */
typedef struct tsri_task_identity {
    tsr_bench_model model;
    char dtype[16], kept[16], kv_dtype[16], hash[65];
} tsri_task_identity;
/* `dtype`: as in tsr_model_options. Reads all weights once, for their hash, unless that is `known`
 * (NULL: it is not). What keys, values and products are in is known of a model on a device alone. */
tsr_status tsri_task_identify(tsr_model *model, const char *name, uint32_t dtype, const char *known,
                              tsri_task_identity *out);

/* ---- start.c ---- */

/* Makes the rows of a process from its start to the first byte of its output: with empty caches of
 * Tessera and of the drivers ("cold start"), and with full ones ("warm start"). `model`: the one
 * that it runs; NULL: the rows name none. */
tsr_status tsri_task_bench_starts(tsri_task_bench *b, const char *const *command, size_t n,
                                  const char *model);
enum { TSRI_TASK_BENCH_STARTS = 2 };

/* ---- gate.c ---- */

enum { TSRI_TASK_GATE_TOKENS = 8, TSRI_TASK_GATE_BATCH = 8 };

/* The logits [V] of a short prompt's last token: `prompt` by the kernel variants for many rows (a
 * batch of the same prompt), `next` by those for one row (one token at a time). Of an encoder: the
 * means [C] of the last hidden states, of a batch and of one text. */
typedef struct tsri_task_gate {
    float *prompt, *next; /* next: [TOKENS, V] or [C] */
    int32_t width;
    bool exact;   /* everything is computed in f32 */
    bool encoder; /* it has vectors, and no logits */
} tsri_task_gate;
/* `device`: both; else, for the reference, only the prompt, once. */
tsr_status tsri_task_gate_run(tsr_model *model, bool device, tsri_task_gate *out);
void tsri_task_gate_clear(tsri_task_gate *gate);
/* The largest difference divided by the largest of `want`; infinite where a number is not finite. */
double tsri_task_gate_error(const float *got, const float *want, int32_t n);
double tsri_task_gate_bound(const tsri_task_gate *gate);
/* Of the last token of `next`. */
const float *tsri_task_gate_last(const tsri_task_gate *gate);

#endif
