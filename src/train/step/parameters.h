/* train/step/parameters.h - which weights learn, and the numbers of their parameters and states. */
#ifndef TSRI_TRAIN_STEP_PARAMETERS_H
#define TSRI_TRAIN_STEP_PARAMETERS_H

#include "train/step/training.h"

/* Parameters are numbered: weight `id` is parameter `id`. Those of LoRA come behind all weights:
 * for each weight an A, and a B for each array that the weight is made of. Each parameter has these
 * states. */
typedef enum tsri_training_part {
    TSRI_PART_VALUE = 0, /* f32 */
    TSRI_PART_GRADIENT,
    TSRI_PART_FIRST,   /* first moment; with sgd, the velocity */
    TSRI_PART_SECOND,  /* second moment */
    TSRI_PART_ROUNDED, /* bf16, what the forward pass reads */
    /* With several ranks the optimizer has no more than the piece that this rank owns (ranks.h):
     * the moments are of that piece, and so are these. */
    TSRI_PART_OWN,          /* values */
    TSRI_PART_OWN_GRADIENT, /* gradients of all ranks */
    TSRI_PART_SHARDS, /* from here on, one a level: sums of the gradients of 1, 2, 4, ... shards */
    TSRI_PARTS = 18
} tsri_training_part;

enum { TSRI_MOST_LEVELS = TSRI_PARTS - TSRI_PART_SHARDS };
enum { TSRI_TRAINING_RUNS = 3 }; /* arrays that a matrix is made of: queries, keys, values */
enum { TSRI_ADAPTER_PARTS = 1 + TSRI_TRAINING_RUNS }; /* A, and a B for each array */

uint32_t tsri_training_parameter_state(uint32_t parameter, tsri_training_part part);
/* The parameter that is part `part` of the LoRA beside weight `id`. */
uint32_t tsri_training_adapter_parameter(const tsri_model_weights *weights, uint32_t id, int part);

/* Consecutive rows of a weight that come from one array of the files. */
typedef struct tsri_training_adapted {
    const tsri_io_array *array;
    int64_t rows;
} tsri_training_adapted;
/* Returns their number; 0 where the weight gets no LoRA: it is not a matrix of a layer, it is
 * computed, or it is of experts or their router. */
int tsri_training_adapted_runs(const tsri_model_weights *weights, uint32_t id,
                               tsri_training_adapted runs[TSRI_TRAINING_RUNS]);

/* Whether weight `id` learns. */
bool tsri_training_weight_learns(const tsri_model_weights *weights,
                                 const tsri_training_options *options, uint32_t id);

#endif
