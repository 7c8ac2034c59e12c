/* model/form.h - what a training graph is built for. */
#ifndef TSRI_MODEL_FORM_H
#define TSRI_MODEL_FORM_H

#include "model/training.h"

/* What a graph is to do with the model. */
typedef enum tsri_model_pass {
    TSRI_PASS_LEARN = 0, /* losses, and gradients into their states */
    TSRI_PASS_EVALUATE,  /* losses without dropout and smoothing */
    TSRI_PASS_LOGITS     /* of the rows of TSRI_INPUT_ROWS; of a classifier, of all sequences */
} tsri_model_pass;

struct tsri_model_form {
    tsri_model_pass pass;
    int32_t steps; /* of a recurrent decoder: tokens of each sequence; else 0: any number */
    const tsri_training_options *options;
};
typedef struct tsri_model_form tsri_model_form;

/* Parameters are numbered: weight `id` is parameter `id`; of LoRA, A of a weight and the B of each
 * array that it is made of come behind all weights. Each has these states. */
typedef enum tsri_model_parameter_part {
    TSRI_PART_VALUE = 0, /* f32 */
    TSRI_PART_GRADIENT,
    TSRI_PART_FIRST,   /* moment; a velocity */
    TSRI_PART_SECOND,  /* moment */
    TSRI_PART_ROUNDED, /* bf16, what the forward pass reads */
    TSRI_PARTS = 8
} tsri_model_parameter_part;

enum { TSRI_ADAPTER_PARTS = 1 + TSRI_MODEL_MAX_PARTS }; /* A, and a B an array */

uint32_t tsri_model_parameter_state(uint32_t parameter, tsri_model_parameter_part part);
/* The parameter that is part `part` of the LoRA beside weight `id`. */
uint32_t tsri_model_adapter_parameter(const tsri_model_weights *weights, uint32_t id, int part);

/* Runs of a weight's rows that come from one array of the files. */
typedef struct tsri_model_adapted {
    const tsri_io_array *array;
    int64_t rows;
} tsri_model_adapted;
/* How many; 0 where the weight gets no LoRA: no matrix of a layer, or computed. */
int tsri_model_adapted_runs(const tsri_model_weights *weights, uint32_t id,
                            tsri_model_adapted runs[TSRI_MODEL_MAX_PARTS]);

/* Whether weight `id` learns. */
bool tsri_model_learns(const tsri_model_weights *weights, const tsri_training_options *options,
                       uint32_t id);

/* blocks.c: the forward pass and the losses. */
tsr_status tsri_model_build_training(const tsri_model_weights *weights, const tsri_model_form *form,
                                     tsri_graph **out);

#endif
