/* tessera/train.h - training a model: from scratch by a recipe, or a loaded one on new data. */
#ifndef TESSERA_TRAIN_H
#define TESSERA_TRAIN_H

#include "tessera/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tsr_train_task {
    TSR_TRAIN_AUTO = 0, /**< what the model is made for: a decoder generates, an encoder with
                           labels classifies, without them fills masks, the rest translates */
    TSR_TRAIN_GENERATE = 1,
    TSR_TRAIN_FILL_MASK = 2,
    TSR_TRAIN_TRANSLATE = 3,
    TSR_TRAIN_CLASSIFY = 4
} tsr_train_task;

/** What is to be trained: known before the first step. */
typedef struct tsr_train_plan {
    uint32_t struct_size, reserved;
    const char *family, *task, *learns; /**< "gpt2", "generate", "all weights" */
    uint64_t parameters, learning;      /**< numbers of the model, and those that learn */
    uint64_t steps, batches;            /**< updates in all; batches of an epoch */
    uint64_t examples, tokens;          /**< of an epoch */
    uint64_t accumulation;              /**< batches of an update */
    int32_t B, T, S;                    /**< the most of a batch */
    /** Bytes on the device. */
    uint64_t weight_bytes, parameter_bytes, gradient_bytes, optimizer_bytes, activation_bytes,
        input_bytes, total_bytes;
    /** What this process holds in memory at the most while it steps, where the device uses the
     * host's memory; 0: elsewhere, or unknown. */
    uint64_t process_bytes;
} tsr_train_plan;

typedef enum tsr_train_event_kind {
    TSR_TRAIN_NOTE = 0,  /**< text: a sentence */
    TSR_TRAIN_WARNING,   /**< the same, of something that is not as it should be */
    TSR_TRAIN_PREPARING, /**< done of total bytes of text have been read */
    TSR_TRAIN_PLANNED,   /**< plan */
    TSR_TRAIN_BATCH,     /**< a batch of a step, or of a validation, is done */
    TSR_TRAIN_STEP,      /**< an update is done */
    TSR_TRAIN_EVALUATED, /**< eval_loss; text: a sample of the model's output, or "" */
    TSR_TRAIN_SAVED      /**< text: the folder of a checkpoint, or of the finished model */
} tsr_train_event_kind;

typedef struct tsr_train_event {
    uint32_t struct_size, kind;
    uint64_t step, steps; /**< updates so far, and in all */
    uint64_t done, total; /**< of TSR_TRAIN_PREPARING */
    double loss;          /**< mean of the step's targets: what is minimised */
    double kl;            /**< its part KL, without weight; not a number where there is none */
    double learning_rate, grad_norm; /**< norm before clipping */
    double tokens_per_second, seconds, seconds_left;
    uint64_t tokens;                 /**< read so far */
    double eval_loss, eval_accuracy; /**< accuracy: not a number where there is none */
    uint32_t logged;                 /**< TSR_TRAIN_STEP: a multiple of logging_steps */
    uint32_t best;                   /**< TSR_TRAIN_EVALUATED: better than all before */
    const char *text;
    const tsr_train_plan *plan;
} tsr_train_event;

typedef struct tsr_train_options {
    uint32_t struct_size;
    uint32_t task; /**< tsr_train_task */
    /** Files: .jsonl, .tsv, .csv, else plain text (docs/training.md). */
    const char *const *data;
    size_t n_data;
    const char *const *validation; /**< none: a share of the data is held back */
    size_t n_validation;
    const char *output; /**< the new folder */
    const char *recipe; /**< a name or a .json file: from scratch; NULL: `model` goes on learning */
    const char *model;  /**< as tsr_model_open takes it: a folder in Hugging Face's layout */
    const char *const *set; /**< "key=value", over the recipe's */
    size_t n_set;
    uint32_t head_only; /**< what is above the last hidden state learns alone */
    uint32_t resume;    /**< the output holds a run: it goes on. What is not given is as it was */
    uint32_t dry_run;   /**< the plan is made and told; nothing is written. On a device opened with
                             `record` no kernel is built */
    uint32_t reserved;
    /** Not 0 saves and leaves. May be NULL. */
    int (*progress)(void *data, const tsr_train_event *event);
    void *progress_data;
    /** Visited at the end where the device measures its launches: each kernel's time over the whole
     * run. May be NULL. */
    void (*profile)(void *data, const tsr_profiled *entry);
    void *profile_data;
} tsr_train_options;

typedef struct tsr_train_result {
    uint32_t struct_size;
    uint32_t finished; /**< the output is a whole model */
    uint64_t step, steps, tokens;
    double loss, eval_loss; /**< the last; not a number where there is none */
    uint64_t best_step;     /**< 0: none */
    double best;            /**< loss, or accuracy */
} tsr_train_result;

/**
 * Trains, keeps checkpoints, and leaves a folder in Hugging Face's layout that opens as any other
 * model (with LoRA an adapter's).
 *
 * The output holds run.json (what was asked), log.jsonl, checkpoint-N/ and, when all steps are
 * done, the model. A checkpoint is there whole or not at all, and 2N steps give the bytes of N
 * steps, a stop, and N more on the same device. A folder that holds anything else than a run is
 * refused, and a run where `resume` is 0.
 *
 * device  borrowed; on it everything runs
 * out     may be NULL
 * error   TSR_E_ARGUMENT   a setting: its key, and what is wanted
 *         TSR_E_FORMAT     data, a recipe, or a model's file, by name
 *         TSR_E_IO         the output exists, or can't be written: the last checkpoint is said
 *         TSR_E_STATE      a loss or gradient that is no number: step, array, last checkpoint
 *         TSR_E_CANCELLED  progress asked for it; all steps so far are in a checkpoint
 *         and those of tsr_model_open
 */
TSR_API tsr_status tsr_train(tsr_device *device, const tsr_train_options *options,
                             tsr_train_result *out);

/** The keys of settings, then those of a recipe's model and tokenizer: name, what values it takes,
 * what it is without, what it does. */
TSR_API void tsr_train_keys(void (*visit)(void *data, const char *name, const char *values,
                                          const char *initial, const char *help),
                            void *data);

#ifdef __cplusplus
}
#endif
#endif
