/* norm_grad/lanes.cl - norm_grad/plain for CPUs: its sixteen partial sums are the lanes of a
 * vector.
 *
 *   grid    (R/ROWS), work-groups of one work-item: ROWS rows
 *   operands, alias, order, build as norm_grad/plain; C may be any size
 *   adds    over norm_grad/plain: vectors, and the sums of ROWS rows in turn, which hide the
 *           latency of an addition
 *   needs   float16 in registers (a CPU); weights of f32
 *   paid    pocl 3.1, 2 Zen 4 cores, with an addend and stats, us:
 *
 *           rows x columns    plain   lanes
 *           4096 x 384        596     381 (66 GB/s)
 *           768 x 128         39      30
 *           256 x 768         65      39 (81 GB/s) */
#define ROWS 4
#include "elementwise/sixteen.clh"

static inline __attribute__((always_inline)) float LOCAL_NAME(fold)(float16 v)
{
    const float8 half_of = v.lo + v.hi;
    const float *sums = (const float *)&half_of;
    return SUM8(sums);
}

static inline __attribute__((always_inline)) void
LOCAL_NAME(rows)(const int rows, __global const float *x, const int r, __global const float *weight,
                 __global const float *dy, __global const float *addend, __global float *dx, __global float *stats, int C,
                 int x_row, int x_group, int x_gap, int dy_row, int addend_row, int dx_row, int stats_row, float eps)
{
    const int whole = C / 16 * 16;
    float16 squares[ROWS], sums[ROWS], products[ROWS];
    float mean[ROWS], scale[ROWS], along[ROWS], middle[ROWS];
    int at[ROWS];
#pragma unroll
    for (int i = 0; i < rows; i++) {
        at[i] = GROUPED_ROW(x, r + i);
        mean[i] = 0.0f;
        squares[i] = 0.0f;
        sums[i] = 0.0f;
        products[i] = 0.0f;
    }
#if !RMS
    for (int c = 0; c < whole; c += 16)
#pragma unroll
        for (int i = 0; i < rows; i++)
            sums[i] = ORDERED_ADD(SIXTEEN_OF(x + at[i] + c), sums[i]);
#pragma unroll
    for (int i = 0; i < rows; i++) {
        mean[i] = LOCAL_NAME(fold)(sums[i]);
        for (int c = whole; c < C; c++)
            mean[i] = ORDERED_ADD(x[at[i] + c], mean[i]);
        mean[i] /= (float)C;
        sums[i] = 0.0f;
    }
#endif
    for (int c = 0; c < whole; c += 16) {
        const float16 w = SIXTEEN_OF(weight + c);
#pragma unroll
        for (int i = 0; i < rows; i++) {
            const float16 v = SIXTEEN_OF(x + at[i] + c) - mean[i], g = SIXTEEN_OF(dy + i * dy_row + c) * w;
            squares[i] = fma(v, v, squares[i]);
#if !RMS
            sums[i] = ORDERED_ADD(g, sums[i]);
#endif
            products[i] = fma(g, v, products[i]);
        }
    }
#pragma unroll
    for (int i = 0; i < rows; i++) {
        float square = LOCAL_NAME(fold)(squares[i]), sum = LOCAL_NAME(fold)(sums[i]), product = LOCAL_NAME(fold)(products[i]);
        for (int c = whole; c < C; c++) {
            const float v = x[at[i] + c] - mean[i], g = dy[i * dy_row + c] * weight[c];
            square = fma(v, v, square);
            sum = ORDERED_ADD(g, sum);
            product = fma(g, v, product);
        }
        scale[i] = 1.0f / sqrt(square / (float)C + eps);
        along[i] = product * scale[i] / (float)C * scale[i];
        middle[i] = RMS ? 0.0f : sum / (float)C;
#if HAS_STATS
        stats[i * stats_row] = mean[i];
        stats[i * stats_row + 1] = scale[i];
#endif
    }
    for (int c = 0; c < whole; c += 16) {
        const float16 w = SIXTEEN_OF(weight + c);
#pragma unroll
        for (int i = 0; i < rows; i++) {
            const float16 g = SIXTEEN_OF(dy + i * dy_row + c) * w;
            const float16 v = fma(SIXTEEN_OF(x + at[i] + c) - mean[i], (float16)(-along[i]), g - middle[i]);
#if HAS_ADDEND
            SIXTEEN(dx + i * dx_row + c) = fma(v, (float16)(scale[i]), SIXTEEN_OF(addend + i * addend_row + c));
#else
            SIXTEEN(dx + i * dx_row + c) = v * scale[i];
#endif
        }
    }
    for (int i = 0; i < rows; i++)
        for (int c = whole; c < C; c++) {
            const float v = fma(x[at[i] + c] - mean[i], -along[i], dy[i * dy_row + c] * weight[c] - middle[i]);
#if HAS_ADDEND
            dx[i * dx_row + c] = fma(v, scale[i], addend[i * addend_row + c]);
#else
            dx[i * dx_row + c] = v * scale[i];
#endif
        }
}

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const float *weight, int weight0,
                    __global const float *dy, int dy0, __global const float *addend, int addend0, __global float *dx,
                    int dx0, __global float *stats, int stats0, __global const int *dims, int R, int R_set, int C,
                    int x_row, int x_group, int x_gap, int dy_row, int addend_row, int dx_row, int stats_row, float eps)
{
    const int first = ITEM(0) * ROWS, rows = min(SIZE(R) - first, ROWS);
#define ROWS_FROM(r, n)                                                                                                       \
    LOCAL_NAME(rows)(n, x + x0, r, weight + weight0, dy + dy0 + (r) * dy_row, addend + addend0 + (r) * addend_row,            \
                     dx + dx0 + (r) * dx_row, stats + stats0 + (r) * stats_row, C, x_row, x_group, x_gap, dy_row, addend_row, \
                     dx_row, stats_row, eps)
    if (rows == ROWS)
        ROWS_FROM(first, ROWS);
    else
        for (int r = first; r < first + rows; r++)
            ROWS_FROM(r, 1);
}

#undef ROWS_FROM
#undef ROWS
#undef SIXTEEN
#undef SIXTEEN_OF
