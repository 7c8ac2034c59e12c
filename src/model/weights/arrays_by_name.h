/* model/weights/arrays_by_name.h - finds the arrays that a weight is made of, by a family's names,
 * and checks their shapes. */
#ifndef TSRI_MODEL_WEIGHTS_ARRAYS_BY_NAME_H
#define TSRI_MODEL_WEIGHTS_ARRAYS_BY_NAME_H

#include "model/weights/weights.h"

/* What finding needs beside the result. */
typedef struct tsri_model_finder {
    tsri_model_weights *weights;
    const tsri_model_names *names; /* of the stack at hand */
    const char *prefix;            /* what of the names' prefix the file has */
    const char *side;              /* "encoder." before the weights' names, or "" */
    const char *config_name;
    float norm_offset;
    bool *used;                /* by array */
    tsri_model_wanted *wanted; /* not NULL: nothing is found; what would be is listed here */
} tsri_model_finder;

/* One array that a weight is made of: how many rows of it, and where its rows lie in the array. */
typedef struct tsri_model_source {
    const char *pattern; /* NULL: rows that no file has, of `blank` alone */
    float blank;
    int64_t rows;                 /* outputs, of the weight */
    int64_t first, group, stride; /* group 0: rows one after the other */
    int64_t stored;               /* rows that the array has; 0: as many as `rows` */
} tsri_model_source;

/* From now on by these names. */
void tsri_model_find_by(tsri_model_finder *finder, const tsri_model_names *names);

/* NULL where the file has no array of this name (the first that it has, of alternatives). */
const tsri_io_array *tsri_model_find_array(const tsri_model_finder *finder, const char *pattern,
                                           int32_t layer, const char *suffix);

/* The array of this very name, or of the one that old checkpoints have for it; NULL: none. */
const tsri_io_array *tsri_model_find_stored(const tsri_io_archive *archive, const char *name);

/* Weight `id`, called "layers.3.up.weight" for a title and suffix: a matrix of all sources' rows,
 * one below the other, by `columns`; 0 columns: a vector. layer -1: none. */
tsr_status tsri_model_find(tsri_model_finder *finder, uint32_t id, int32_t layer, const char *title,
                           const char *suffix, const tsri_model_source *sources, int n,
                           int64_t columns);

/* A weight that is computed: f32 [rows, columns], 0 columns: a vector. Its values are for the
 * caller to fill. */
tsr_status tsri_model_find_computed(tsri_model_finder *finder, uint32_t id, const char *name,
                                    int64_t rows, int64_t columns, float **values);

/* All of an array of numbers as f32, into new memory. */
tsr_status tsri_model_find_values(tsri_model_finder *finder, const char *pattern, int64_t rows,
                                  int64_t columns, float **out);

/* An array that nothing reads may be a part that the spec does not know of: a silent wrong
 * answer. */
tsr_status tsri_model_find_unread(const tsri_model_finder *finder, const tsri_model_arch *arch,
                                  bool gguf);

#endif
