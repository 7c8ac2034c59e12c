/* sum_rows/blocks.cl - sums[b,c] = sum of x[r,c] over rows b*BLOCK .. b*BLOCK + BLOCK - 1;
 * sum_rows/plain adds these sums.
 *
 *   grid    (C, number of b), one work-item each
 *   x[r,c]  at x0 + r*x_row + c; sums [number of b, C], scratch
 *   order   BLOCK ascending rows
 *   needs   nothing beyond OpenCL C 1.1
 *   build   BLOCK
 *   paid    see sum_rows/blocks_lanes */

ENTRY KERNEL(PLACE __global const float *x, int x0, __global float *sums, __global const int *dims, int R, int R_set,
             int C, int C_set, int x_row)
{
    const int c = ITEM(0), b = ITEM(1), end = min(b * BLOCK + BLOCK, SIZE(R));
    if (c >= SIZE(C) || b * BLOCK >= SIZE(R))
        return;
    float sum = 0.0f;
    x += x0 + c;
    for (int r = b * BLOCK; r < end; r++)
        sum = ORDERED_ADD(x[r * x_row], sum);
    sums[b * SIZE(C) + c] = sum;
}
