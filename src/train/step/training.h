/* train/step/training.h - a model that learns: its training graph (forward, loss, backward), its
 * optimizer, and the state that a checkpoint keeps.
 *
 * Parameters are states of the run: plain f32 that the optimizer's ops write. The graph is built
 * from the same layers as a session's. A step is: gradients of one or more batches, which add up;
 * their norm; an update.
 */
#ifndef TSRI_TRAIN_STEP_TRAINING_H
#define TSRI_TRAIN_STEP_TRAINING_H

#include "model/load/load.h"
#include "run/run.h"
#include "tessera/ranks.h"
#include "tessera/run.h"
#include "train/step/deal.h"

typedef struct tsri_training tsri_training;

enum { TSRI_TRAINING_IGNORE = -100 }; /* a target that does not count in the loss */

typedef enum tsri_training_objective {
    TSRI_OBJECTIVE_NEXT = 0,  /* a decoder: the next token */
    TSRI_OBJECTIVE_MASKED,    /* an encoder with a masked LM head: the tokens that were masked */
    TSRI_OBJECTIVE_TRANSLATE, /* an encoder-decoder: the next token of the target, after the right
                                 ones (teacher forcing) */
    TSRI_OBJECTIVE_CLASSIFY,  /* an encoder with a classifier: one label for each sequence */
    TSRI_OBJECTIVE_TOKENS     /* an encoder with a token classifier: the labels of some tokens */
} tsri_training_objective;

typedef enum tsri_training_learns {
    TSRI_LEARNS_ALL = 0,
    TSRI_LEARNS_LORA, /* matrices A, B beside those of attention and feed-forward part */
    TSRI_LEARNS_HEAD  /* the weights above the last hidden state */
} tsri_training_learns;

typedef enum tsri_training_optimizer {
    TSRI_OPTIMIZER_ADAMW = 0,
    TSRI_OPTIMIZER_SGD
} tsri_training_optimizer;

typedef struct tsri_training_options {
    tsri_training_objective objective;
    tsri_training_learns learns;
    tsri_training_optimizer optimizer;
    float beta1, beta2, eps; /* adamw */
    float momentum;          /* sgd */
    bool nesterov;
    float decay; /* of parameters that have two or more dimensions */
    /* Dropout of embeddings and of each residual branch; dropout between the two products of the
     * feed-forward part. */
    float dropout, activation_dropout;
    uint64_t seed; /* of dropout and of the initial A of LoRA */
    float label_smoothing;
    /* loss = hard * cross entropy + kl * KL(teacher || model). Where batches have no teacher's
     * logits, the teacher's distribution is uniform. hard 0 with kl 0 means hard 1. */
    float hard, kl, temperature;
    bool teacher;     /* batches have a teacher's logits */
    bool bf16;        /* matrices are also kept in bf16, which is read, beside their f32 masters */
    uint32_t compute; /* tsr_compute of matrix products and their gradients: F32 or BF16 */
    bool checkpointing; /* activations of a layer are computed again for its backward pass */
    int32_t lora_rank;
    float lora_alpha;
    uint32_t shards;  /* of a step, a power of two; 0: 1. They are dealt to the ranks equally */
    tsr_ranks *ranks; /* borrowed, at most as many as shards; or NULL */
} tsri_training_options;

/* What is learned from at once. Row-major. Padding follows each sequence and may have any id. */
typedef struct tsri_training_batch {
    int32_t B, T, S;
    const int32_t *ids;     /* [B,T] input of the decoder; of the encoder, where it is alone */
    const int32_t *len;     /* [B] tokens of each sequence */
    const int32_t *targets; /* [B,T] as the logits; IGNORE: there is none. Classify: [B] */
    const int32_t *types;   /* [B,T] segments; NULL: all 0 */
    const int32_t *source, *source_len; /* [B,S], [B] input of an encoder-decoder's encoder */
    /* [B,T,V]; masked: [targets,V], in their order; classify: [B,labels]; or NULL */
    const float *teacher;
    int64_t counted; /* targets of the batch that this is a part of; 0: it is whole */
} tsri_training_batch;

typedef struct tsri_training_loss {
    double loss;     /* mean of the loss over the counted targets; of a part: its share of it */
    double hard, kl; /* its parts, without their weights; label smoothing belongs to hard */
    int64_t counted; /* targets */
} tsri_training_loss;

/* Bytes on the device. */
typedef struct tsri_training_memory {
    uint64_t weights;    /* of frozen weights */
    uint64_t parameters; /* of parameters that learn, with their bf16 copies */
    uint64_t gradients, optimizer;
    uint64_t activations; /* arena of the largest plan, and scratch memory of its kernels */
    uint64_t inputs;
} tsri_training_memory;

/* What a model is made for: a decoder generates, an encoder-decoder translates, an encoder
 * classifies where it has labels and else fills masks. */
tsri_training_objective tsri_training_objective_of(const tsri_model *model);
/* What a model of an objective is ("an encoder-decoder, which translates") where this one is not; else
 * NULL. */
const char *tsri_training_unfit(const tsri_model *model, tsri_training_objective objective);

/* The model must have been opened without a device, so that its weights are not also kept there;
 * the device must be open. Both outlive the training.
 * error   TSR_E_STATE        the model has no head for the objective
 *         TSR_E_UNSUPPORTED  it has weights that can't learn (blocks, f16); the message names one
 */
tsr_status tsri_training_create(tsr_model *model, tsr_device *device,
                                const tsri_training_options *options, tsri_training **out);
void tsri_training_destroy(tsri_training **training);

/* *faster: whether the device forms the products that the options ask for faster than those of f32; else
 * it forms these in their place, or as slowly. */
tsr_status tsri_training_products(tsri_training *training, bool *faster);
/* Tells the device which plans `reserve` and, where validation (B, T, S) is not NULL,
 * `reserve_validation` are going to make, so that their kernels can be built side by side. */
tsr_status tsri_training_announce(tsri_training *training, int32_t B, int32_t T, int32_t S,
                                  const int32_t validation[3]);
/* Prepares everything for batches up to these sizes. */
tsr_status tsri_training_reserve(tsri_training *training, int32_t B, int32_t T, int32_t S);
/* Also prepares the passes of a validation: losses of batches up to these sizes, and the logits of
 * one text. */
tsr_status tsri_training_reserve_validation(tsri_training *training, int32_t B, int32_t T,
                                            int32_t S);
/* The memory that this takes; accurate within a few per cent before anything has run. */
void tsri_training_memory_of(const tsri_training *training, tsri_training_memory *out);

/* Runs a batch forward and backward: gradients = (first ? 0 : gradients) + share * gradients of the
 * batch's mean loss. `draw` is the batch's number, for dropout. */
tsr_status tsri_training_gradients(tsri_training *training, const tsri_training_batch *batch,
                                   bool first, double share, uint64_t draw,
                                   tsri_training_loss *out);
/* Which shards each rank has (deal.h). This rank runs its nodes in their order. */
const tsri_training_deal *tsri_training_dealt(const tsri_training *training);
/* Deals the shards anew: counts[r] to rank r, each at least 1. All ranks call it between two steps, with the
 * same counts. */
tsr_status tsri_training_deal_anew(tsri_training *training, const uint32_t *counts);
/* Ends a shard of this rank's. Gradients are those of this shard alone; after the last shard of a node they
 * are the sum of the node's, added in pairs by a binary tree. */
tsr_status tsri_training_end_shard(tsri_training *training, uint32_t shard);
/* With several ranks, before the last batch of this rank's last shard: gradients go out to the other
 * ranks while the pass backward still runs. */
tsr_status tsri_training_send_ahead(tsri_training *training);
/* Sends what has not been sent. All ranks call this after their part of a step, also where one of them has
 * not ended its part; then either of the next two. */
tsr_status tsri_training_send_rest(tsri_training *training);
/* Adds the ranks' gradients in pairs. All ranks call this, norm and update. */
tsr_status tsri_training_join(tsri_training *training);
/* Waits for what is under way, and leaves it. */
tsr_status tsri_training_discard(tsri_training *training);
/* The targets of a batch that count in the loss. */
int64_t tsri_training_count_targets(const tsri_training *training,
                                    const tsri_training_batch *batch);
/* Sequences first .. first + n - 1 of a batch without a teacher. */
tsri_training_batch tsri_training_part_of(const tsri_training *training,
                                          const tsri_training_batch *batch, int32_t first,
                                          int32_t n);
/* The square root of the sum of squares of all gradients. *culprit: the first parameter, in the
 * model's order, whose gradient is not finite, or NULL. */
tsr_status tsri_training_norm(tsri_training *training, double *norm, const char **culprit);
/* The optimizer's step number `step` (from 0) with this learning rate; gradients are multiplied by
 * `factor`. */
tsr_status tsri_training_update(tsri_training *training, uint64_t step, double rate, double factor);

/* All ranks call this before whole values are read after an update, by tsri_training_array_read or
 * tsri_training_save: of parameters that are read in bf16, an update gives the others no more. */
tsr_status tsri_training_complete_values(tsri_training *training);

/* The loss alone, without dropout and label smoothing. */
tsr_status tsri_training_evaluate(tsri_training *training, const tsri_training_batch *batch,
                                  tsri_training_loss *out);
/* The logits of one token of each sequence, at[b]: [B,V]; of a classifier: [B,labels]. Where tokens are labelled,
 * `at` may be NULL: the logits of all tokens that have targets, in their order: [targets,labels]; room for one row is
 * needed. */
tsr_status tsri_training_logits(tsri_training *training, const tsri_training_batch *batch,
                                const int32_t *at, float *logits);

/* Visits the plans of a step of one process: gradients, their norm, the update. They exist once
 * room is reserved. Ends at the first failure of `visit`. */
tsr_status tsri_training_each_plan(tsri_training *training,
                                   tsr_status (*visit)(void *data, const tsri_run_plan *plan),
                                   void *data);
/* Visits the time of each kernel so far, on a device that measures launches. */
tsr_status tsri_training_profile(tsri_training *training,
                                 void (*visit)(void *data, const tsr_profiled *entry), void *data);

/* What a checkpoint keeps beside the step: every parameter and its moments. */
typedef struct tsri_training_array {
    char name[96]; /* "layers.0.qkv.weight", "layers.0.qkv.weight/m" */
    int rank;
    int64_t dims[2];
} tsri_training_array; /* f32 */
size_t tsri_training_array_count(const tsri_training *training);
void tsri_training_array_at(const tsri_training *training, size_t i, tsri_training_array *out);
/* Elements `first` .. first + count - 1 of an array. */
typedef struct tsri_training_range {
    int64_t first, count;
} tsri_training_range;
/* With several ranks, each has a slice of every array that no other rank has, and together these are all
 * of it. A process that is alone has all of it. */
tsri_training_range tsri_training_array_slice(const tsri_training *training, size_t i);
tsr_status tsri_training_array_read_slice(tsri_training *training, size_t i, float *out);
/* What this rank holds of an array, and reads and writes: all of a parameter; its slice of a moment. */
tsri_training_range tsri_training_array_held(const tsri_training *training, size_t i);
tsr_status tsri_training_array_read(tsri_training *training, size_t i, float *out);
tsr_status tsri_training_array_write(tsri_training *training, size_t i, const float *data);
/* 0: a parameter; 1, 2: a moment of one. */
int tsri_training_array_moment(const tsri_training *training, size_t i);
/* The gradient of the parameter that array i belongs to. */
tsr_status tsri_training_gradient_read(tsri_training *training, size_t i, float *out);
int64_t tsri_training_parameter_count(const tsri_training *training); /* numbers that learn */

/* Writes model.safetensors (with LoRA, adapter_model.safetensors as PEFT names it). Arrays have the
 * names of the family's files; those that learn are written as they are now, in f32, others are
 * copied. With several ranks, all call it, and each writes an equal share of the bytes. After a failure
 * the file may be there, not whole. */
tsr_status tsri_training_save(tsri_training *training, const char *path);
/* Writes the gradients under the same names, for tests. */
tsr_status tsri_training_save_gradients(tsri_training *training, const char *path);

#endif
