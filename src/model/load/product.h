/* model/load/product.h - a single product with a weight, to ask devices about. */
#ifndef TSRI_MODEL_LOAD_PRODUCT_H
#define TSRI_MODEL_LOAD_PRODUCT_H

#include "model/weights/weights.h"
#include "run/run.h"

/* An op `linear` and all that it points to; it must not be moved. */
typedef struct tsri_model_product {
    tsr_linear_attrs attrs;
    tsr_bounds bounds;
    tsr_tensor x, w, y;
    const tsr_tensor *in[2], *out[1];
    tsr_op op;
} tsri_model_product;

/* y = x w' for up to `rows` rows of x, with a weight of [outputs, inputs]. */
void tsri_model_product_make(int64_t rows, int64_t outputs, int64_t inputs, tsr_dtype dtype,
                             tsr_compute compute, tsri_model_product *out);

/* *gain: how much better device i scores its best kernel variant for products of `compute` by a weight
 * of [dims[0], dims[1]], this dtype and this kind than its best of f32. */
tsr_status tsri_model_product_gain(tsri_run_context *run, size_t i, const int64_t dims[2],
                                   tsr_dtype dtype, uint32_t kind, tsr_compute compute,
                                   int32_t *gain);

/* Settles what depends on the devices. Where the model was opened with TSR_MODEL_COMPUTE_AUTO: notes
 * whether a device forms int8 products with the usual blocks more slowly than those of floats, by the
 * scores of its kernel variants for prompts. Where products are of int8: blocks of types for which a
 * device has no such product, other than the kernel for all devices, become f32. */
tsr_status tsri_model_settle_compute(tsri_model_weights *weights, tsri_run_context *run);

#endif
