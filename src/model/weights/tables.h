/* model/weights/tables.h - tables that some models compute where others learn them: sinusoidal
 * positions, and the biases by distance, from buckets or in proportion. */
#ifndef TSRI_MODEL_WEIGHTS_TABLES_H
#define TSRI_MODEL_WEIGHTS_TABLES_H

#include "model/spec/spec.h"

/**
 * Computes rows 0 .. rows - 1 of the table that tsri_model_sinusoid describes, into out [rows,
 * width]. With an odd width there is one more sine where sines and cosines alternate, and a 0 at
 * the end where halves go to the end.
 *
 * source  Vaswani et al. 2017, arXiv:1706.03762, 3.5
 */
void tsri_model_sinusoids(const tsri_model_sinusoid *kind, int64_t rows, int64_t width, float *out);

/**
 * Computes the bias of each head at distance d = key - query, d = -R .. R with R = `furthest`, from
 * a table [buckets, heads]. With `both`, each direction has half of the buckets; without, all are
 * for keys before the query. The first half of a direction's buckets are single distances; the
 * others grow logarithmically up to R, and the last holds all larger distances.
 *
 * shape   buckets' table [buckets, heads]; out [heads, 2R + 1]
 * source  Raffel et al. 2020, arXiv:1910.10683, 2.1
 */
tsr_status tsri_model_relative(const float *table, int32_t buckets, int32_t furthest, int32_t heads,
                               bool both, float *out);

/* The bucket of each distance d = -R .. R. */
void tsri_model_relative_buckets(int32_t buckets, int32_t furthest, bool both, int32_t *out);

/* The rows of the table of disentangled attention that distances -reach .. reach take: `first` and those
 * behind it. */
typedef struct tsri_model_distances {
    int32_t reach, first, rows;
} tsri_model_distances;
tsri_model_distances tsri_model_distances_of(const tsri_model_stack *stack, int64_t reach);

/**
 * The row, less `first`, that each distance key - query of -reach .. reach takes.
 *
 * shape   out [2 reach + 1]
 * source  He et al. 2021, arXiv:2006.03654; the buckets: transformers' make_log_bucket_position
 */
void tsri_model_distance_places(const tsri_model_stack *stack,
                                const tsri_model_distances *distances, int32_t *out);

/* What a graph for distances -reach .. reach reads: the rows, [distances.rows], and the place of each distance
 * among them, [2 reach + 1]. The arrays grow. */
typedef struct tsri_model_distance_inputs {
    tsri_model_distances distances;
    int32_t *rows, *places;
    size_t rows_room, places_room;
} tsri_model_distance_inputs;
tsr_status tsri_model_distance_inputs_fill(const tsri_model_stack *stack, int64_t reach,
                                           tsri_model_distance_inputs *out);
void tsri_model_distance_inputs_clear(tsri_model_distance_inputs *inputs);

/**
 * ALiBi: the bias of head h at distance d = key - query, d = -R .. R with R = `furthest`, is
 * -slope[h] * |d|. If the number of heads H is a power of two, the slopes are 2^(-8 (h + 1) / H);
 * otherwise they are those of the next lower power, followed by every other slope of twice that
 * power.
 *
 * shape   out [heads, 2R + 1]
 * source  Press, Smith, Lewis 2022, arXiv:2108.12409
 */
void tsri_model_alibi(int32_t furthest, int32_t heads, float *out);

#endif
