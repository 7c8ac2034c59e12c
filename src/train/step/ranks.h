/* train/step/ranks.h - divides the work of the optimizer among the ranks of a training.
 *
 * All parameters, one behind the other in their order, are cut into as many runs as there are ranks,
 * at the bounds of the stretches over which squares are added (graph.c). A rank owns a run: it gets
 * the other ranks' gradients of it, adds them by a binary tree, has the moments of it, and steps it.
 * So where a sum begins and ends, and which values it adds in which order, is the same for any number
 * of ranks. A process that is alone owns everything, and none of this is needed.
 */
#ifndef TSRI_TRAIN_STEP_RANKS_H
#define TSRI_TRAIN_STEP_RANKS_H

#include "train/step/training_state.h"

/* Cuts the parameters, which are listed by now. */
tsr_status tsri_training_divide(tsri_training *training);
void tsri_training_divide_end(tsri_training *training);

/* The piece of a parameter that a rank owns. */
tsri_training_piece tsri_training_piece_of(const tsri_training *training,
                                           const tsri_training_parameter *parameter, uint32_t rank);
/* Whether this rank owns anything. */
bool tsri_training_owns(const tsri_training *training);

/* Writes this rank's piece of an array that has the parameter's shape to one of its states; does
 * nothing where there are no other ranks. */
tsr_status tsri_training_write_piece(tsri_training *training, const tsri_training_parameter *p,
                                     tsri_training_part part, const float *whole);
/* The values of a parameter that the forward pass reads in bf16 are kept on the host: with several ranks no
 * op reads them whole. Elsewhere, NULL. */
float *tsri_training_kept_values(const tsri_training *training, const tsri_training_parameter *p);

/* Reads a whole parameter, or its gradient, or where this process is alone, a moment. */
tsr_status tsri_training_state_read(const tsri_training *training,
                                    const tsri_training_parameter *parameter,
                                    tsri_training_part part, float *out);

/* Rank 0 gets all pieces of a moment; the others give theirs, and `out` may be NULL. */
tsr_status tsri_training_gather_pieces(tsri_training *training, const tsri_training_parameter *p,
                                       tsri_training_part part, float *out);
/* All ranks get the sums of squares of each. */
tsr_status tsri_training_gather_sums(tsri_training *training);
/* All ranks get the new values that each has computed, as the forward pass reads them. */
tsr_status tsri_training_gather_values(tsri_training *training);
/* A parameter's values that were gathered: bf16 where it is rounded, else f32. */
const void *tsri_training_gathered(const tsri_training *training, const tsri_training_parameter *p);

#endif
