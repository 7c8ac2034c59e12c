/* train/step/forward.h - the forward pass of a model that learns, and its losses. */
#ifndef TSRI_TRAIN_STEP_FORWARD_H
#define TSRI_TRAIN_STEP_FORWARD_H

#include "train/step/training.h"

/* What a graph is to do with the model. */
typedef enum tsri_training_pass {
    TSRI_PASS_LEARN = 0, /* losses, and gradients into their states */
    TSRI_PASS_EVALUATE,  /* losses without dropout and smoothing */
    TSRI_PASS_LOGITS     /* of the rows of TSRI_INPUT_ROWS; of a classifier, of all sequences */
} tsri_training_pass;

/* The graph; `steps` as tsri_model_learning has it. New memory. */
tsr_status tsri_training_forward(const tsri_model_weights *weights,
                                 const tsri_training_options *options, tsri_training_pass pass,
                                 int32_t steps, tsri_graph **out);

#endif
