/* model/weights/tables.h - tables that are computed where others are learned: sinusoidal positions,
 * and the biases by distance, from buckets or in proportion. */
#ifndef TSRI_MODEL_WEIGHTS_TABLES_H
#define TSRI_MODEL_WEIGHTS_TABLES_H

#include "model/spec/spec.h"

/**
 * Rows 0 .. rows - 1 of the table that tsri_model_sinusoid describes, into out [rows, width]. An
 * odd width has one sine more where they come in turn, and a 0 at its end where halves go to the
 * end.
 *
 * source  Vaswani et al. 2017, arXiv:1706.03762, 3.5
 */
void tsri_model_sinusoids(const tsri_model_sinusoid *kind, int64_t rows, int64_t width, float *out);

/**
 * The bias of each head at distance d = key - query, d = -R .. R with R = `furthest`, from a table
 * [buckets, heads]: half of the buckets for each direction where `both`, else all for keys before
 * the query. The first half of a direction's buckets are single distances, the others grow as
 * logarithms up to R, and what is further is in the last.
 *
 * shape   buckets' table [buckets, heads]; out [heads, 2R + 1]
 * source  Raffel et al. 2020, arXiv:1910.10683, 2.1
 */
tsr_status tsri_model_relative(const float *table, int32_t buckets, int32_t furthest, int32_t heads,
                               bool both, float *out);

/* The bucket of each distance d = -R .. R. */
void tsri_model_relative_buckets(int32_t buckets, int32_t furthest, bool both, int32_t *out);

/**
 * ALiBi: the bias of head h at distance d = key - query, d = -R .. R with R = `furthest`, is
 * -slope[h] * |d|. Of H heads, a power of two, the slopes are 2^(-8 (h + 1) / H); of another number
 * those of the power below, then every other one of twice that power.
 *
 * shape   out [heads, 2R + 1]
 * source  Press, Smith, Lewis 2022, arXiv:2108.12409
 */
void tsri_model_alibi(int32_t furthest, int32_t heads, float *out);

#endif
