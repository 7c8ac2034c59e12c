/* tessera/training.h - a model that learns, step by step: the caller brings batches, and decides
 * about learning rates, validation and when to save. tessera/train.h does all of that from files. */
#ifndef TESSERA_TRAINING_H
#define TESSERA_TRAINING_H

#include "tessera/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A model whose parameters are on a device, their gradients, and an optimizer. */
typedef struct tsr_training tsr_training;

enum { TSR_TRAINING_IGNORE = -100 }; /**< a target that counts nothing */

typedef struct tsr_training_options {
    uint32_t struct_size;
    uint32_t task; /**< tsr_train_task: what is learned. 0: what the model is made for */
    /** "key=value" of the settings in docs/training.md that a step heeds: optim, weight_decay,
     * adam_beta1, adam_beta2, adam_epsilon, momentum, nesterov, dropout, activation_dropout,
     * label_smoothing_factor, kl_to=uniform, kl_weight, temperature, lora_rank, lora_alpha, bf16,
     * compute, gradient_checkpointing, seed. kl_to=FOLDER and distill_from are refused: see `teacher`. The
     * others are checked and change nothing. */
    const char *const *set;
    size_t n_set;
    uint32_t head_only; /**< 1: what is above the last hidden state learns alone; then lora_rank is
                             0 */
    uint32_t teacher;   /**< 1: batches carry the logits of a teacher; kl_weight (0 to 1) of the loss is
                             the divergence from it, the rest cross entropy */
    uint64_t steps;     /**< updates made before: AdamW's bias correction goes on from there */
} tsr_training_options;

/** What is learned from at once. Arrays are row-major; padding is behind each sequence, and may
 * hold any id. */
typedef struct tsr_training_batch {
    uint32_t struct_size;
    int32_t B, T;       /**< sequences, and tokens of the longest */
    int32_t S;          /**< tokens of the longest source; of an encoder-decoder */
    const int32_t *ids; /**< [B,T] what the decoder reads; of a model without one, the encoder */
    const int32_t *len; /**< [B] tokens of each sequence; NULL: T */
    const int32_t *targets;    /**< [B,T] what each place should give, or TSR_TRAINING_IGNORE; of a
                                 classifier [B] labels */
    const int32_t *types;      /**< [B,T] segments; NULL: 0 */
    const int32_t *source;     /**< [B,S] what the encoder of an encoder-decoder reads */
    const int32_t *source_len; /**< [B]; NULL: S */
    const float *teacher; /**< [B,T,V]; of a masked LM [targets,V], in their order; of a classifier
                               [B,labels] */
} tsr_training_batch;

/** Means over the targets that count, in nats. */
typedef struct tsr_training_loss {
    uint32_t struct_size, reserved;
    double loss;     /**< the whole: what is minimised */
    double hard, kl; /**< its parts, without their weights; label smoothing belongs to hard */
    int64_t counted; /**< targets */
} tsr_training_loss;

/** An f32 array of a training: a parameter, or what the optimizer keeps of it. */
typedef struct tsr_training_array {
    uint32_t struct_size;
    uint32_t rank;
    const char *name; /**< "layers.0.qkv.weight", "layers.0.qkv.weight/m"; until the next call */
    int64_t dims[2];
    int64_t elements;
    uint32_t moment; /**< 0: a parameter; 1, 2: its first and second moment */
    uint32_t reserved;
} tsr_training_array;

/**
 * Opens a model to learn.
 *
 * model    as tsr_model_open has it
 * device   borrowed: it stays open until the training is destroyed
 * options  NULL: AdamW with the settings' own values, on all weights
 * owner    the caller destroys *out
 * thread   that of the device
 * error    TSR_E_ARGUMENT     a setting: its key, and what is wanted
 *          TSR_E_STATE        the model has no head for the task
 *          TSR_E_UNSUPPORTED  it has weights that can't learn, by name
 *          and those of tsr_model_open
 */
TSR_API tsr_status tsr_training_create(const char *model, tsr_device *device,
                                       const tsr_training_options *options, tsr_training **out);
/** Takes NULL content; leaves NULL. */
TSR_API void tsr_training_destroy(tsr_training **training);

/**
 * Runs a batch forward and backward, and adds `share` times the gradients of its mean loss to those
 * since the last step.
 *
 * share  1 where a batch is a step; 1 / n where n batches of as many targets are
 * out    may be NULL
 * error  TSR_E_ARGUMENT       an id, a segment, a target or a length out of range, by sequence and place
 *        TSR_E_DEVICE_MEMORY  the batch is too large; a smaller one may do
 */
TSR_API tsr_status tsr_training_gradients(tsr_training *training, const tsr_training_batch *batch,
                                          double share, tsr_training_loss *out);
/**
 * The root of the sum of squares of all gradients.
 *
 * error  TSR_E_STATE  a gradient is not a number: the sentence names its array
 */
TSR_API tsr_status tsr_training_norm(tsr_training *training, double *out);
/**
 * One update by the optimizer; gradients begin anew after it.
 *
 * factor  of the gradients: 1, or less to clip them by their norm
 * error   TSR_E_STATE  there are no gradients since the last step
 */
TSR_API tsr_status tsr_training_step(tsr_training *training, double learning_rate, double factor);
/**
 * The loss of a batch, without dropout and smoothing; nothing is learned.
 *
 * error  as tsr_training_gradients
 */
TSR_API tsr_status tsr_training_evaluate(tsr_training *training, const tsr_training_batch *batch,
                                         tsr_training_loss *out);

/** Every parameter and what the optimizer knows of it: what a checkpoint keeps. */
TSR_API size_t tsr_training_array_count(const tsr_training *training);
/**
 * Describes array i.
 *
 * error  TSR_E_ARGUMENT  i is not below the count
 */
TSR_API tsr_status tsr_training_array_get(tsr_training *training, size_t i,
                                          tsr_training_array *out);
/**
 * Reads array i.
 *
 * shape  data: [elements]
 * error  TSR_E_ARGUMENT  i is not below the count
 */
TSR_API tsr_status tsr_training_array_read(tsr_training *training, size_t i, float *data);
/**
 * Replaces the numbers of array i.
 *
 * shape  data: [elements]
 * error  TSR_E_ARGUMENT  i is not below the count
 */
TSR_API tsr_status tsr_training_array_write(tsr_training *training, size_t i, const float *data);
/**
 * Reads the gradient of parameter i since the last step.
 *
 * shape  data: [elements]
 * error  TSR_E_ARGUMENT  i is not below the count, or array i is a moment
 *        TSR_E_STATE     there are no gradients since the last step
 */
TSR_API tsr_status tsr_training_gradient_read(tsr_training *training, size_t i, float *data);

/**
 * Writes the model as a new folder that opens as any other model (with LoRA an adapter's), whole or
 * not at all.
 *
 * error  TSR_E_IO  the folder exists, or can't be written
 */
TSR_API tsr_status tsr_training_save(tsr_training *training, const char *folder);

#ifdef __cplusplus
}
#endif
#endif
