/* train/step/ranks.h - divides the work of the optimizer among the ranks of a training.
 *
 * The parameters are put in buckets, in the order in which the pass backward is done with their
 * gradients. All parameters of a bucket, one behind the other, are cut into as many runs as there are
 * ranks, at the bounds of the stretches over which squares are added (graph.c). A rank owns a run of each
 * bucket: it gets the other ranks' gradients of it, adds them by a binary tree, has the moments of it,
 * and steps it. So where a sum begins and ends, and which values it adds in which order, is the same for
 * any number of ranks. A process that is alone owns everything, and none of this is needed.
 */
#ifndef TSRI_TRAIN_STEP_RANKS_H
#define TSRI_TRAIN_STEP_RANKS_H

#include "train/step/training_state.h"

/* Divides the parameters, which are listed by now; `graph` learns. */
tsr_status tsri_training_divide(tsri_training *training, const tsri_graph *graph);
/* The runs of a graph that learns stop where a bucket is whole, and call this with the training. */
tsr_status tsri_training_stop(tsri_training *training, const tsri_graph *graph,
                              tsr_status (*whole)(void *data, size_t bucket));
/* 1 where this process is alone. */
size_t tsri_training_buckets(const tsri_training *training);
/* Makes room for the gradients of all nodes of the deal. */
tsr_status tsri_training_make_room(tsri_training *training);
void tsri_training_divide_end(tsri_training *training);

/* The piece of a parameter that a rank owns. */
tsri_training_piece tsri_training_piece_of(const tsri_training *training,
                                           const tsri_training_parameter *parameter, uint32_t rank);
/* Whether this rank owns anything. */
bool tsri_training_owns(const tsri_training *training);

/* Writes this rank's piece of a parameter to one of its states, or reads it; does nothing where there are
 * no other ranks. */
tsr_status tsri_training_write_piece(tsri_training *training, const tsri_training_parameter *p,
                                     tsri_training_part part, const float *piece);
tsr_status tsri_training_read_piece(tsri_training *training, const tsri_training_parameter *p,
                                    tsri_training_part part, float *out);
/* The values of a parameter that the forward pass reads in bf16 are kept on the host: with several ranks no
 * op reads them whole. Elsewhere, NULL. */
float *tsri_training_kept_values(const tsri_training *training, const tsri_training_parameter *p);

/* Reads a whole parameter, or its gradient, or where this process is alone, a moment. */
tsr_status tsri_training_state_read(const tsri_training *training,
                                    const tsri_training_parameter *parameter,
                                    tsri_training_part part, float *out);

/* All ranks get the sums of squares of each. */
tsr_status tsri_training_gather_sums(tsri_training *training);
/* All ranks get the new values that each has computed, as the forward pass reads them. */
tsr_status tsri_training_gather_values(tsri_training *training);

/* ---- buckets.c ---- */

/* What is called where a bucket's gradients are whole: in the last pass of a rank's step, they go out. */
tsr_status tsri_training_bucket_whole(void *training, size_t bucket);

#endif
