/* model/weights/tables.c - computes sinusoids, biases by distance, and the rows of distances. */
#include "model/weights/tables.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

void tsri_model_sinusoids(const tsri_model_sinusoid *kind, int64_t rows, int64_t width,
                          float *out) {
    const int64_t half = width / 2, sines = kind->to_end ? half : width - half;
    const double steps = kind->to_end ? (double)half - 1 : (double)width / 2;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < sines; i++) {
            const double angle = (double)(row + kind->first) * pow(10000, -(double)i / steps);
            float *x = out + row * width;
            x[kind->halves ? i : 2 * i] = (float)sin(angle);
            if (i < half)
                x[kind->halves ? sines + i : 2 * i + 1] = (float)cos(angle);
            if (2 * sines < width)
                x[width - 1] = 0;
        }
}

/* As the official implementation computes it, in float: a distance at a boundary falls into the
 * same bucket. */
static int32_t bucket_of(int32_t distance, int32_t buckets, int32_t furthest) {
    const int32_t exact = buckets / 2;
    if (distance < exact)
        return distance;
    const float share = logf((float)distance / (float)exact) / (float)log((double)furthest / exact);
    const int32_t bucket = exact + (int32_t)(share * (float)(buckets - exact));
    return bucket < buckets - 1 ? bucket : buckets - 1;
}

void tsri_model_relative_buckets(int32_t buckets, int32_t furthest, bool both, int32_t *out) {
    const int32_t side = both ? buckets / 2 : buckets;
    for (int32_t distance = -furthest; distance <= furthest; distance++) {
        const bool after = distance > 0;
        const int32_t apart = both ? abs(distance) : after ? 0 : -distance;
        out[distance + furthest] = bucket_of(apart, side, furthest) + (both && after ? side : 0);
    }
}

tsr_status tsri_model_relative(const float *table, int32_t buckets, int32_t furthest, int32_t heads,
                               bool both, float *out) {
    const int32_t n = 2 * furthest + 1;
    int32_t *bucket = NULL;
    TRY(tsri_base_new((size_t)n, sizeof *bucket, &bucket));
    tsri_model_relative_buckets(buckets, furthest, both, bucket);
    for (int32_t i = 0; i < n; i++)
        for (int32_t h = 0; h < heads; h++)
            out[h * n + i] = table[bucket[i] * heads + h];
    free(bucket);
    return TSR_OK;
}

/* In float, as the official implementation computes it: a distance at a boundary falls into the same
 * bucket. */
static int32_t far_bucket(const tsri_model_stack *stack, int32_t distance) {
    const int32_t exact = stack->distance_buckets / 2;
    const float share = logf((float)distance / (float)exact) /
                        logf((float)((stack->distance_furthest - 1) / (double)exact));
    return (int32_t)ceilf(share * (float)(exact - 1)) + exact;
}

/* The row of a distance query - key. */
static int32_t row_of(const tsri_model_stack *stack, int32_t distance) {
    const int32_t span = stack->distance_span, apart = abs(distance),
                  bucket = stack->distance_buckets && apart > stack->distance_buckets / 2
                               ? far_bucket(stack, apart)
                               : apart,
                  row = span + (distance < 0 ? -bucket : bucket);
    return row < 0 ? 0 : row < 2 * span ? row : 2 * span - 1;
}

tsri_model_distances tsri_model_distances_of(const tsri_model_stack *stack, int64_t reach) {
    tsri_model_distances all = {.reach = (int32_t)reach};
    all.first = row_of(stack, -all.reach);
    all.rows = row_of(stack, all.reach) - all.first + 1;
    return all;
}

void tsri_model_distance_places(const tsri_model_stack *stack,
                                const tsri_model_distances *distances, int32_t *out) {
    for (int32_t d = -distances->reach; d <= distances->reach; d++)
        out[d + distances->reach] = row_of(stack, -d) - distances->first;
}

tsr_status tsri_model_distance_inputs_fill(const tsri_model_stack *stack, int64_t reach,
                                           tsri_model_distance_inputs *out) {
    if (out->places && out->distances.reach == reach)
        return TSR_OK;
    const tsri_model_distances all = tsri_model_distances_of(stack, reach);
    TRY(tsri_base_grow(&out->rows, &out->rows_room, (size_t)all.rows, sizeof *out->rows));
    TRY(tsri_base_grow(&out->places, &out->places_room, 2 * (size_t)all.reach + 1,
                       sizeof *out->places));
    for (int32_t i = 0; i < all.rows; i++)
        out->rows[i] = all.first + i;
    tsri_model_distance_places(stack, &all, out->places);
    out->distances = all;
    return TSR_OK;
}

void tsri_model_distance_inputs_clear(tsri_model_distance_inputs *inputs) {
    free(inputs->rows);
    free(inputs->places);
    *inputs = (tsri_model_distance_inputs){0};
}

void tsri_model_alibi(int32_t furthest, int32_t heads, float *out) {
    int32_t whole = 1; /* the largest power of two that is not more than the heads */
    while (whole <= heads / 2)
        whole *= 2;
    for (int32_t h = 0; h < heads; h++) {
        const double place = h < whole ? (h + 1.0) / whole : (h - whole + 0.5) / whole;
        const double slope = exp2(-8 * place);
        for (int32_t d = -furthest; d <= furthest; d++)
            *out++ = (float)(-slope * abs(d));
    }
}
