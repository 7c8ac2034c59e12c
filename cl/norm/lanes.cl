/* norm/lanes.cl - norm/plain for CPUs: its eight partial sums are the lanes of a vector.
 *
 *   grid    (R/4), work-groups of one work-item: four rows
 *   operands, alias, order, build as norm/plain; C may be any size
 *   adds    over norm/plain: vectors, and the sums of four rows in turn, which hide the latency of
 *           an addition
 *   needs   float16 in registers (a CPU)
 *   paid    1700 rows of 384, pocl 3.1, 2 Zen 4 cores, add_norm in us beside int8 products: plain
 *           608, lanes 500 (the rest is memory) */
typedef float8 __attribute__((aligned(4))) LOCAL_NAME(eight);
#include "elementwise/sixteen.clh"
#define EIGHT(p) (*(__global LOCAL_NAME(eight) *)(p))
#define EIGHT_OF(p) (*(__global const LOCAL_NAME(eight) *)(p))
#if ADD
#define ROW(i) (sum + (i) * sum_row)
#else
#define ROW(i) (x + at[i])
#endif

static inline __attribute__((always_inline)) void
LOCAL_NAME(norm)(const int rows, __global const float *x, const int r, int x_row, int x_group, int x_gap,
#if ADD
                 __global const float *residual, __global float *sum, int residual_row, int sum_row,
#endif
                 __global const ELEMENT(W_DTYPE) *weight, __global const ELEMENT(BIAS_DTYPE) *bias, __global float *y, int C,
                 int y_row, float eps)
{
    const int whole = C / 8 * 8;
    float8 part[4];
    float mean[4], scale[4], square[4];
    int at[4];
#pragma unroll
    for (int i = 0; i < rows; i++)
        at[i] = GROUPED_ROW(x, r + i);
#if ADD
    for (int i = 0; i < rows; i++)
        for (int c = whole; c < C; c++)
            sum[i * sum_row + c] = x[at[i] + c] + residual[i * residual_row + c];
#endif
#pragma unroll
    for (int i = 0; i < rows; i++) {
        part[i] = 0.0f;
        mean[i] = 0.0f;
    }
#if ADD || !RMS
    for (int c = 0; c < whole; c += 8)
#pragma unroll
        for (int i = 0; i < rows; i++) {
#if ADD
            const float8 v = EIGHT_OF(x + at[i] + c) + EIGHT_OF(residual + i * residual_row + c);
            EIGHT(sum + i * sum_row + c) = v;
#else
            const float8 v = EIGHT_OF(x + at[i] + c);
#endif
#if !RMS
            part[i] = ORDERED_ADD(v, part[i]);
#endif
        }
#endif
#pragma unroll
    for (int i = 0; i < rows; i++) {
#if !RMS
        const float *sums = (const float *)&part[i];
        mean[i] = SUM8(sums);
        for (int c = whole; c < C; c++)
            mean[i] = ORDERED_ADD(ROW(i)[c], mean[i]);
        mean[i] /= (float)C;
        part[i] = 0.0f;
#endif
    }
    for (int c = 0; c < whole; c += 8)
#pragma unroll
        for (int i = 0; i < rows; i++) {
            const float8 v = EIGHT_OF(ROW(i) + c) - mean[i];
            part[i] = fma(v, v, part[i]);
        }
#pragma unroll
    for (int i = 0; i < rows; i++) {
        const float *squares = (const float *)&part[i];
        square[i] = SUM8(squares);
        for (int c = whole; c < C; c++)
            square[i] = fma(ROW(i)[c] - mean[i], ROW(i)[c] - mean[i], square[i]);
        scale[i] = 1.0f / sqrt(square[i] / (float)C + eps);
    }
    int c = 0;
#if W_DTYPE == TSR_DTYPE_F32 && BIAS_DTYPE == TSR_DTYPE_F32
    for (; c + 16 <= C; c += 16) {
        const float16 w = SIXTEEN_OF(weight + c);
#if HAS_BIAS
        const float16 b = SIXTEEN_OF(bias + c);
#endif
#pragma unroll
        for (int i = 0; i < rows; i++) {
            const float16 v = (SIXTEEN_OF(ROW(i) + c) - mean[i]) * scale[i];
#if HAS_BIAS
            SIXTEEN(y + i * y_row + c) = fma(v, w, b);
#else
            SIXTEEN(y + i * y_row + c) = v * w;
#endif
        }
    }
#endif
    for (; c < C; c++)
        for (int i = 0; i < rows; i++) {
            const float v = (ROW(i)[c] - mean[i]) * scale[i], w = LOAD(W_DTYPE, weight, c);
#if HAS_BIAS
            y[i * y_row + c] = fma(v, w, LOAD(BIAS_DTYPE, bias, c));
#else
            y[i * y_row + c] = v * w;
#endif
        }
}

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0,
#if ADD
                    __global const float *residual, int residual0, __global float *sum, int sum0, int residual_row,
                    int sum_row,
#endif
                    __global const ELEMENT(W_DTYPE) *weight, int weight0, __global const ELEMENT(BIAS_DTYPE) *bias,
                    int bias0, __global float *y, int y0, __global const int *dims, int R, int R_set, int C, int x_row,
                    int x_group, int x_gap, int y_row, float eps)
{
    const int first = ITEM(0) * 4, rows = min(SIZE(R) - first, 4);
#if ADD
#define ROWS_FROM(r, n)                                                                                                     \
    LOCAL_NAME(norm)(n, x + x0, r, x_row, x_group, x_gap, residual + residual0 + (r) * residual_row,                         \
                     sum + sum0 + (r) * sum_row, residual_row, sum_row, weight + weight0, bias + bias0, y + y0 + (r) * y_row, \
                     C, y_row, eps)
#else
#define ROWS_FROM(r, n)                                                                                                     \
    LOCAL_NAME(norm)(n, x + x0, r, x_row, x_group, x_gap, weight + weight0, bias + bias0, y + y0 + (r) * y_row, C, y_row, eps)
#endif
    if (rows == 4)
        ROWS_FROM(first, 4);
    else
        for (int r = first; r < first + rows; r++)
            ROWS_FROM(r, 1);
}

#undef ROWS_FROM
#undef ROW
#undef EIGHT
#undef EIGHT_OF
#undef SIXTEEN
#undef SIXTEEN_OF
