/* model/weights/beside.h - adapters beside matrices in blocks.
 *
 * Blocks don't hold W + scale B A, and as floats the matrices of a 4-bit file take eight times the memory. So what
 * adapters add to such a matrix is a product of its own, which the graph adds:
 *
 *     x W' + (x A') B'      A [R, inputs] and B [outputs, R], in f32; B has the scale in it
 *
 * where R is the sum of the ranks of all adapters of all arrays that the matrix is made from. */
#ifndef TSRI_MODEL_WEIGHTS_BESIDE_H
#define TSRI_MODEL_WEIGHTS_BESIDE_H

#include "model/weights/weights.h"

/* Defines A and B of each matrix in blocks that adapters add to; called once, when adapters are there. Where the
 * graph can't add such a product (experts, the output matrix), and where an adapter replaces an array, the matrix
 * becomes one of floats that hold its numbers exactly. */
tsr_status tsri_model_beside_define(tsri_model_weights *weights);

/* The ids of A and B of a weight. False: it has none. */
bool tsri_model_beside_ids(const tsri_model_weights *weights, uint32_t id, uint32_t ids[2]);

#endif
