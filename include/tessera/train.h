/* tessera/train.h - training a model: from scratch by a recipe, or a loaded one on new data. */
#ifndef TESSERA_TRAIN_H
#define TESSERA_TRAIN_H

#include "tessera/ranks.h"
#include "tessera/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tsr_train_task {
    /** What the model is made for: a decoder generates, an encoder with labels classifies texts or
     * words, one without fills masks, all others translate. */
    TSR_TRAIN_AUTO = 0,
    TSR_TRAIN_GENERATE = 1,
    TSR_TRAIN_FILL_MASK = 2,
    TSR_TRAIN_TRANSLATE = 3,
    TSR_TRAIN_CLASSIFY = 4,
    TSR_TRAIN_CLASSIFY_TOKENS = 5 /**< a label for each word: entities, parts of speech */
} tsr_train_task;

/** What will be trained, as known before the first step. */
typedef struct tsr_train_plan {
    uint32_t struct_size, reserved;
    const char *family, *task, *learns; /**< "gpt2", "generate", "all weights" */
    uint64_t parameters, learning;      /**< all parameters, and those that are trained */
    uint64_t steps, batches;            /**< all updates; batches of an epoch */
    uint64_t examples, tokens;          /**< of an epoch */
    uint64_t accumulation;              /**< batches of an update */
    int32_t B, T, S;                    /**< the largest sizes of a batch */
    /** Memory on the device, in bytes. */
    uint64_t weight_bytes, parameter_bytes, gradient_bytes, optimizer_bytes, activation_bytes,
        input_bytes, total_bytes;
    /** The most memory that this process holds during a step, where the device uses the host's
     * memory; 0: the device has its own, or it is unknown. */
    uint64_t process_bytes;
    /** Parts of an update that are summed apart, and the most that the setting `shards` could give
     * it, up to 8, or `shards`: at most as many ranks can share the update. */
    uint32_t shards, most_shards;
} tsr_train_plan;

typedef enum tsr_train_event_kind {
    TSR_TRAIN_NOTE = 0,  /**< text: a sentence */
    TSR_TRAIN_WARNING,   /**< text: a sentence about something that is not as it should be */
    TSR_TRAIN_PREPARING, /**< `done` of `total` bytes of text have been read */
    TSR_TRAIN_PLANNED,   /**< plan: what will be trained */
    TSR_TRAIN_BATCH,     /**< a batch of a step, or of a validation, is done */
    TSR_TRAIN_STEP,      /**< an update is done */
    TSR_TRAIN_EVALUATED, /**< eval_loss is set; text: a sample of the model's output, or "" */
    TSR_TRAIN_SAVED      /**< text: the folder of a checkpoint or of the finished model */
} tsr_train_event_kind;

typedef struct tsr_train_event {
    uint32_t struct_size, kind;
    uint64_t step, steps; /**< updates so far, and all */
    uint64_t done, total; /**< for TSR_TRAIN_PREPARING */
    double loss;          /**< mean over the step's targets: what is minimised */
    double kl;            /**< the KL term of the loss, unweighted; NaN where there is none */
    double learning_rate, grad_norm; /**< norm before clipping */
    double tokens_per_second, seconds, seconds_left;
    uint64_t tokens;                 /**< read so far */
    double eval_loss, eval_accuracy; /**< accuracy: NaN where there is none */
    uint32_t logged;                 /**< TSR_TRAIN_STEP: 1: a multiple of logging_steps */
    uint32_t best;                   /**< TSR_TRAIN_EVALUATED: 1: better than all before */
    const char *text;
    const tsr_train_plan *plan;
    /** The share of the time of the steps since the last logged one in which this rank exchanged
     * numbers with the others, or waited for them to do so: 0 to 1. NaN: there are no others. */
    double waiting;
    /** TSR_TRAIN_EVALUATED: of labels of words in IOB2, the F1 of whole entities (seqeval's strict
     * mode); NaN where labels name no entities. */
    double eval_f1;
} tsr_train_event;

typedef struct tsr_train_options {
    uint32_t struct_size;
    uint32_t task; /**< tsr_train_task */
    /** Files: .jsonl, .tsv, .csv, else plain text (docs/training.md). */
    const char *const *data;
    size_t n_data;
    const char *const *validation; /**< none: a part of the data is held out */
    size_t n_validation;
    const char *output; /**< the new folder */
    /** A name or a .json file: train from scratch by this recipe; NULL: train `model` further. */
    const char *recipe;
    const char *model;      /**< as tsr_model_open takes it: a folder in Hugging Face's layout */
    const char *const *set; /**< "key=value", which override the recipe's */
    size_t n_set;
    uint32_t head_only; /**< 1: train only what is above the last hidden state */
    uint32_t resume;    /**< 1: continue the run in `output`; what is not given is as it was */
    /** 1: make the plan and report it; write nothing. On a device opened with `record` no kernel is
     * built. */
    uint32_t dry_run;
    /** 1: of several ranks, the faster ones get more of a step's shards: the ranks' speed is measured, and
     * measured again. The bytes stay the same. Their number need not divide the shards. */
    uint32_t balance;
    /** Told what happens; returns not 0 to save a checkpoint and stop. May be NULL. */
    int (*progress)(void *data, const tsr_train_event *event);
    void *progress_data;
    /** Called at the end for each kernel, with its time over the whole run, where the device
     * measures its launches. May be NULL. */
    void (*profile)(void *data, const tsr_profiled *entry);
    void *profile_data;
    /** The processes that share the steps; NULL: this one is alone. Every rank calls tsr_train with
     * the same options. All write their slices of checkpoints to the output, which they must all see; rank
     * 0 writes everything else. */
    tsr_ranks *ranks;
} tsr_train_options;

typedef struct tsr_train_result {
    uint32_t struct_size;
    uint32_t finished; /**< 1: the output is a whole model */
    uint64_t step, steps, tokens;
    double loss, eval_loss; /**< the last ones; NaN where there are none */
    uint64_t best_step;     /**< the step of the best evaluation; 0: none */
    double best;            /**< its loss or accuracy */
    /** After TSR_E_CANCELLED: if all ranks stopped at the same step, what `progress` returned to ask
     * for it, on the first rank that asked; otherwise 0. */
    int32_t stopped, reserved;
} tsr_train_result;

/**
 * Trains, saves checkpoints, and leaves a folder in Hugging Face's layout that opens like any other
 * model (with LoRA, like any other adapter).
 *
 * The output contains run.json (the settings), log.jsonl, checkpoint-N/ and, once all steps are
 * done, the model. A checkpoint is written whole or not at all. On the same device, 2N steps give
 * the same bytes as N steps, a stop, and N more. A folder that contains anything but a run is
 * refused, and so is a folder with a run where `resume` is 0.
 *
 * Several ranks on devices of one kind give the bytes that one rank gives. Unless `balance` is 1, their number
 * must divide the shards of a step (docs/distributed.md).
 *
 * device  everything runs on it
 * out     may be NULL
 * owner   all arguments are borrowed for the call
 * thread  that of the device
 * error   TSR_E_ARGUMENT   a setting is wrong: the sentence gives its key and what is wanted
 *         TSR_E_FORMAT     data, a recipe or a file of the model breaks its format: the sentence
 *                          names it
 *         TSR_E_IO         the output exists or can't be written: the sentence names the last
 *                          checkpoint
 *         TSR_E_STATE      a loss or gradient is not finite: the sentence names step, array and
 *                          last checkpoint
 *         TSR_E_CANCELLED  progress of a rank asked for it; all steps so far are in a checkpoint
 *         TSR_E_PEER       another rank failed or is gone: the sentence names it
 *         TSR_E_DEVICE     the device failed, or that of another rank: the sentence names that rank
 *         and those of tsr_model_open
 */
TSR_API tsr_status tsr_train(tsr_device *device, const tsr_train_options *options,
                             tsr_train_result *out);

/** Visits the keys of the settings, then those of a recipe's model and tokenizer: the name, the
 * values that it takes, its initial value, and what it does. */
TSR_API void tsr_train_keys(void (*visit)(void *data, const char *name, const char *values,
                                          const char *initial, const char *help),
                            void *data);

/** Visits the bundled recipes that are found: the name of each, and its file.
 * error   TSR_E_ARGUMENT     visit is NULL
 *         TSR_E_HOST_MEMORY  there is too little memory */
TSR_API tsr_status tsr_train_recipes(void (*visit)(void *data, const char *name, const char *path),
                                     void *data);

#ifdef __cplusplus
}
#endif
#endif
