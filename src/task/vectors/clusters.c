/* task/vectors/clusters.c - what both ways of grouping rows need: sums of directions, and progress.
 */
#include "task/vectors/clusters.h"

#include "base/error.h"

#include <math.h>

tsr_status tsri_task_cluster_tell(const tsri_task_rows *rows, uint64_t done, uint64_t total) {
    const tsr_cluster_options *o = rows->options;
    if (o->progress && o->progress(o->progress_data, done, total))
        return tsri_base_fail(TSR_E_CANCELLED, "the clustering was cancelled");
    return TSR_OK;
}

void tsri_task_add_direction(const tsri_task_rows *rows, size_t i, double *sum) {
    const float *row = rows->data + i * rows->C;
    for (size_t c = 0; c < rows->C; c++)
        sum[c] += (double)row[c] * (double)rows->scale[i];
}

void tsri_task_direction(const double *sum, size_t C, float *out) {
    double square = 0;
    for (size_t c = 0; c < C; c++)
        square += sum[c] * sum[c];
    const double scale = square > 0 ? 1 / sqrt(square) : 0;
    for (size_t c = 0; c < C; c++)
        out[c] = (float)(sum[c] * scale);
}
