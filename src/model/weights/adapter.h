/* model/weights/adapter.h - LoRA adapters as PEFT writes them, added to a model's matrices while
 * their rows are read.
 *
 * A folder has adapter_config.json and adapter_model.safetensors, whose arrays are matrices
 * A [r, inputs] and B [outputs, r] beside the model's: W becomes W + scale * B A. An array of the
 * model's own name and shape (biases, modules_to_save) stands in its place.
 *
 * source  Hu et al. 2021, arXiv:2106.09685; Kalajdzievski 2023, arXiv:2312.03732 (rslora)
 */
#ifndef TSRI_MODEL_WEIGHTS_ADAPTER_H
#define TSRI_MODEL_WEIGHTS_ADAPTER_H

#include "io/archive.h"

typedef struct tsri_model_adapters tsri_model_adapters;
struct tsri_model_weights;

/* Reads the folders, in order, and finds what each of their arrays belongs to.
 *
 * error   TSR_E_IO, TSR_E_FORMAT  a folder lacks a file, or one breaks its format
 *         TSR_E_FORMAT            an array that the model doesn't have, or of another shape
 *         TSR_E_UNSUPPORTED       a setting that isn't served, by name
 */
tsr_status tsri_model_adapters_open(const char *const *folders, size_t n,
                                    const struct tsri_model_weights *weights,
                                    tsri_model_adapters **out);
void tsri_model_adapters_destroy(tsri_model_adapters **adapters);

/* Whether something is added to the array's numbers, which are then read as f32 first. NULL has
 * no adapters. */
bool tsri_model_adapters_add_to(const tsri_model_adapters *adapters, const tsri_io_array *array);
/* Adds it to rows first .. first + n - 1, of the matrix [outputs, inputs], or where inputs_first of
 * [inputs, outputs]. */
void tsri_model_adapters_add(const tsri_model_adapters *adapters, const tsri_io_array *array,
                             bool inputs_first, int64_t first, int64_t n, float *rows);

/* What stands in the array's place, and where: itself in *archive, where nothing does. */
const tsri_io_array *tsri_model_adapters_instead(const tsri_model_adapters *adapters,
                                                 const tsri_io_array *array,
                                                 const tsri_io_archive **archive);

#endif
