/* norm_weight_grad/blocks_lanes.cl - norm_weight_grad/blocks for CPUs, 64 columns in lanes.
 *
 *   grid    (C/64, number of b), work-groups of one work-item
 *   operands, order, build as norm_weight_grad/blocks
 *   needs   float16 in registers (a CPU)
 *   paid    pocl 3.1, 2 Zen 4 cores, us:
 *
 *           rows x columns    plain   lanes
 *           4096 x 384        942     103 (123 GB/s)
 *           768 x 128         60      9
 *           256 x 768         163     19 (84 GB/s) */
#include "elementwise/sixteen.clh"
#define MEAN stats[r * stats_row]
#define SCALE stats[r * stats_row + 1]

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const float *dy, int dy0,
                    __global const float *stats, int stats0, __global float *sums, __global const int *dims, int R,
                    int R_set, int C, int C_set, int x_row, int x_group, int x_gap, int dy_row, int stats_row)
{
    const int b = ITEM(1), rows = min(SIZE(R) - b * BLOCK, BLOCK), columns = SIZE(C);
    const int last = min(columns, ITEM(0) * 64 + 64);
    int c = ITEM(0) * 64;
    x += x0;
    dy += dy0 + b * BLOCK * dy_row;
    stats += stats0 + b * BLOCK * stats_row;
    sums += b * PARTS * columns;
    if (c + 64 <= last) {
        float16 sum[4], plain[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            sum[j] = 0.0f;
            plain[j] = 0.0f;
        }
        for (int r = 0; r < rows; r++) {
            __global const float *row = x + GROUPED_ROW(x, b * BLOCK + r);
            const float mean = MEAN, scale = SCALE;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const float16 g = SIXTEEN_OF(dy + r * dy_row + c + 16 * j);
                sum[j] = fma(g, (SIXTEEN_OF(row + c + 16 * j) - mean) * scale, sum[j]);
                plain[j] = ORDERED_ADD(g, plain[j]);
            }
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            SIXTEEN(sums + c + 16 * j) = sum[j];
#if PARTS == 2
            SIXTEEN(sums + columns + c + 16 * j) = plain[j];
#endif
        }
        return;
    }
    for (; c < last; c++) {
        float sum = 0.0f, plain = 0.0f;
        for (int r = 0; r < rows; r++) {
            const float g = dy[r * dy_row + c];
            sum = fma(g, (x[GROUPED_ROW(x, b * BLOCK + r) + c] - MEAN) * SCALE, sum);
            plain = ORDERED_ADD(g, plain);
        }
        sums[c] = sum;
#if PARTS == 2
        sums[columns + c] = plain;
#endif
    }
}

#undef SIXTEEN_OF
#undef SIXTEEN
#undef MEAN
#undef SCALE
