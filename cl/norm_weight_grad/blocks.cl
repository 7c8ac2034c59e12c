/* norm_weight_grad/blocks.cl - the gradients of a norm's weight and bias, over rows b*BLOCK ..
 * b*BLOCK + BLOCK - 1: sums[b,c] = sum of dy * (x - mean) * scale, sums[b,C+c] = sum of dy.
 * sum_rows/plain adds these sums.
 *
 *   grid    (C, number of b), one work-item each
 *   x[r,c]  at x0 + GROUPED_ROW(x, r) + c, dy at dy0 + r*dy_row + c; mean and scale (1 / deviation) of row r at
 *           stats0 + r*stats_row, + 1
 *   sums    [number of b, PARTS * C], scratch
 *   order   BLOCK ascending rows
 *   needs   nothing beyond OpenCL C 1.1
 *   build   BLOCK; PARTS 1|2: without | with the sum of dy
 *   paid    see norm_weight_grad/blocks_lanes */

ENTRY KERNEL(PLACE __global const float *x, int x0, __global const float *dy, int dy0, __global const float *stats,
             int stats0, __global float *sums, __global const int *dims, int R, int R_set, int C, int C_set, int x_row,
             int x_group, int x_gap, int dy_row, int stats_row)
{
    const int c = ITEM(0), b = ITEM(1), end = min(b * BLOCK + BLOCK, SIZE(R));
    if (c >= SIZE(C) || b * BLOCK >= SIZE(R))
        return;
    float sum = 0.0f, plain = 0.0f;
    x += x0 + c;
    dy += dy0 + c;
    stats += stats0;
    for (int r = b * BLOCK; r < end; r++) {
        const float g = dy[r * dy_row];
        sum = fma(g, (x[GROUPED_ROW(x, r)] - stats[r * stats_row]) * stats[r * stats_row + 1], sum);
        plain = ORDERED_ADD(g, plain);
    }
    sums += b * PARTS * SIZE(C) + c;
    sums[0] = sum;
#if PARTS == 2
    sums[SIZE(C)] = plain;
#endif
}
