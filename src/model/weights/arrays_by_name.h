/* model/weights/arrays_by_name.h - finds the arrays that a weight is made from, by the names of a
 * family, and checks their shapes. */
#ifndef TSRI_MODEL_WEIGHTS_ARRAYS_BY_NAME_H
#define TSRI_MODEL_WEIGHTS_ARRAYS_BY_NAME_H

#include "model/weights/weights.h"

/* What a search needs besides the result. */
typedef struct tsri_model_finder {
    tsri_model_weights *weights;
    const tsri_model_names *names; /* names of the current stack */
    const char *prefix;            /* the part of the names' prefix that the file has */
    const char *side;              /* "encoder." before the weights' names, or "" */
    const char *config_name;
    float norm_offset;
    bool *used;                /* by array */
    bool *untie;               /* the spec's `tied`; NULL: it stays as it is */
    tsri_model_wanted *wanted; /* not NULL: nothing is searched for; the arrays that would be are
                                  listed here */
} tsri_model_finder;

/* One array that a weight is made from: how many rows of it, and where they are in the array. */
typedef struct tsri_model_source {
    const char *pattern; /* NULL: rows that no file has, filled with `blank` */
    float blank;
    int64_t rows;                 /* rows (outputs) of the weight */
    int64_t first, group, stride; /* group 0: the rows are contiguous */
    int64_t stored;               /* rows of the array; 0: as many as `rows` */
    int32_t expert;               /* the number that stands for "%e" in the pattern */
    bool inputs_first;            /* its matrices are [inputs, outputs], whatever the family says */
    int64_t
        of; /* > 0: the array is [of, stored / of, inputs], of so many experts; the pattern is the
                       whole name after the prefix */
    int64_t taps; /* > 0: the array is [rows, columns / taps, taps] */
} tsri_model_source;

/* Uses these names from now on. */
void tsri_model_find_by(tsri_model_finder *finder, const tsri_model_names *names);

/* The array of this name (the first that the file has, of alternatives); NULL if it has none. */
const tsri_io_array *tsri_model_find_array(const tsri_model_finder *finder, const char *pattern,
                                           int32_t layer, const char *suffix);

/* The name of the first alternative, with its prefix: it begins the names of what is under it. */
enum { TSRI_MODEL_ARRAY_NAME = 256 };
void tsri_model_find_begin(const tsri_model_finder *finder, const char *pattern, int32_t layer,
                           const char *suffix, char out[TSRI_MODEL_ARRAY_NAME]);

/* Whether all parts of a weight are blocks that could stay as they are, if they were of one type. */
bool tsri_model_find_mixed(const tsri_model_finder *finder, const tsri_model_weight *weight);

/* The array of exactly this name, or of the name that old checkpoints have for it; NULL: none. */
const tsri_io_array *tsri_model_find_stored(const tsri_io_archive *archive, const char *name);

/* Defines weight `id`, called "layers.3.up.weight" by title and suffix: a matrix of all sources'
 * rows, one below the other, by `columns`; 0 columns: a vector. layer -1: the weight belongs to no
 * layer. */
tsr_status tsri_model_find(tsri_model_finder *finder, uint32_t id, int32_t layer, const char *title,
                           const char *suffix, const tsri_model_source *sources, int n,
                           int64_t columns);

/* Defines a weight that is computed: f32 [rows, columns], 0 columns: a vector. The caller fills in
 * its values. */
tsr_status tsri_model_find_computed(tsri_model_finder *finder, uint32_t id, const char *name,
                                    int64_t rows, int64_t columns, float **values);

/* Reads a whole array of numbers, of a layer or of none (-1), as f32 into new memory. */
tsr_status tsri_model_find_values(tsri_model_finder *finder, const char *pattern, int32_t layer,
                                  int64_t rows, int64_t columns, float **out);

/* ---- unread.c ---- */

/* Refuses an array that nothing reads: it may be a part that the spec does not know, and the answer
 * would be wrong without a message. Heads that no part of the family reads, outside of the model's own
 * arrays, are left out and listed in weights->left_out. */
tsr_status tsri_model_find_unread(const tsri_model_finder *finder, const tsri_model_arch *arch);
/* *left: whether the array of this name is of a part that the family names as one that is not computed, which is
 * then listed in weights->left_out. */
tsr_status tsri_model_leave_out(tsri_model_weights *weights, const tsri_model_names *names,
                                const char *name, bool *left);

#endif
