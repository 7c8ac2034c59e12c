/* train/step/forward.h - builds the forward pass of a model that learns, and its losses. */
#ifndef TSRI_TRAIN_STEP_FORWARD_H
#define TSRI_TRAIN_STEP_FORWARD_H

#include "train/step/training.h"

/* What a graph is for. */
typedef enum tsri_training_pass {
    TSRI_PASS_LEARN = 0, /* losses, and gradients into their states */
    TSRI_PASS_EVALUATE,  /* losses without dropout and smoothing */
    TSRI_PASS_LOGITS /* logits of the rows in TSRI_INPUT_ROWS; a classifier's, of all sequences */
} tsri_training_pass;

/* Makes the graph; `steps` as in tsri_model_learning. New memory. */
tsr_status tsri_training_forward(const tsri_model_weights *weights,
                                 const tsri_training_options *options, tsri_training_pass pass,
                                 int32_t steps, tsri_graph **out);

#endif
