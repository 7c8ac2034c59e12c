/* model/weights/adapter.h - LoRA adapters as PEFT writes them, added to a model's matrices while
 * their rows are read.
 *
 * A folder has adapter_config.json and adapter_model.safetensors, whose arrays are matrices A [r,
 * inputs] and B [outputs, r] for matrices of the model: W becomes W + scale * B A. An array with
 * the name and shape of one of the model's (biases, modules_to_save) replaces it. PEFT trains a copy of what it
 * replaces: an output matrix that was the embedding stays as it was, and becomes a matrix of its own. Arrays for parts
 * of the model that are not computed (what reads images) are left out, as the model's own are.
 *
 * source  Hu et al. 2021, arXiv:2106.09685; Kalajdzievski 2023, arXiv:2312.03732 (rslora) */
#ifndef TSRI_MODEL_WEIGHTS_ADAPTER_H
#define TSRI_MODEL_WEIGHTS_ADAPTER_H

#include "base/hash.h"
#include "io/archive.h"
#include "model/weights/tasks.h"

typedef struct tsri_model_adapters tsri_model_adapters;
struct tsri_model_arch;
struct tsri_model_wanted;
struct tsri_model_weights;

/* Takes the adapter of the chosen task, if there is one, and reads the folders in order: finds the model's array that
 * each of their arrays belongs to. For a GGUF file it is the one in whose place the family's other files, whose arrays
 * are `names`, have one of that name; for others `names` is empty. `weights` get an output matrix of their own where
 * an adapter changes the embedding or the output matrix alone of a model in which they are one.
 *
 * error   TSR_E_IO           a folder lacks a file
 *         TSR_E_FORMAT       a file breaks its format, or has an array that the model doesn't have
 *                            or has in another shape
 *         TSR_E_UNSUPPORTED  a setting that isn't served, by name */
tsr_status tsri_model_adapters_open(const char *const *folders, size_t n,
                                    const struct tsri_model_arch *arch,
                                    struct tsri_model_weights *weights,
                                    const struct tsri_model_wanted *names,
                                    const tsri_model_tasks *tasks, tsri_model_adapters **out);
void tsri_model_adapters_destroy(tsri_model_adapters **adapters);

/* Here and below, `adapters` NULL means no adapters. */

bool tsri_model_adapters_change(const tsri_model_adapters *adapters, const tsri_io_array *array);
/* Whether an adapter replaces it. */
bool tsri_model_adapters_replace(const tsri_model_adapters *adapters, const tsri_io_array *array);
/* Whether something is added to the array's numbers, which are then read as f32 first. */
bool tsri_model_adapters_add_to(const tsri_model_adapters *adapters, const tsri_io_array *array);
/* Adds it to rows first .. first + n - 1 of the matrix [outputs, inputs] or, with inputs_first, of
 * [inputs, outputs]. */
void tsri_model_adapters_add(const tsri_model_adapters *adapters, const tsri_io_array *array,
                             bool inputs_first, int64_t first, int64_t n, float *rows);

/* What one adapter adds to a matrix [outputs, inputs]: scale * B A, with A [rank, inputs] and B [outputs,
 * rank], which the adapters own. */
typedef struct tsri_model_low_rank {
    int64_t rank;
    float scale;
    const float *a, *b;
} tsri_model_low_rank;

/* Number i of what is added to an array; false past the last. */
bool tsri_model_adapters_low_rank(const tsri_model_adapters *adapters, const tsri_io_array *array,
                                  size_t i, tsri_model_low_rank *out);
/* From now on nothing is added to the array. */
void tsri_model_adapters_forget(tsri_model_adapters *adapters, const tsri_io_array *array);

/* The array that replaces this one, and its file in *archive; the array itself if nothing replaces
 * it. */
const tsri_io_array *tsri_model_adapters_instead(const tsri_model_adapters *adapters,
                                                 const tsri_io_array *array,
                                                 const tsri_io_archive **archive);

/* An array of theirs that was left out; NULL: there is none. */
const tsri_io_array *tsri_model_adapters_left_out(const tsri_model_adapters *adapters);

/* For who tells models apart: the file of folder number i; NULL past the last. */
const tsri_io_archive *tsri_model_adapters_file(const tsri_model_adapters *adapters, size_t i);
/* Adds the names of the arrays that are changed, and the scales, which the files don't have. */
void tsri_model_adapters_hash(const tsri_model_adapters *adapters, tsri_hash *hash);

#endif
