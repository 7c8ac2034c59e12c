/* norm_weight_grad/plain.cl - dweight[c] = sum over r of dy * (x - mean) * scale, dbias[c] = sum over r of dy.
 *
 *   grid    (C), one work-item a column
 *   x[r,c]  at x0 + r*x_row + c, dy likewise; row r's mean and scale (1 / deviation) at stats0 + r*stats_row, + 1; results packed
 *   adds    BLOCK rows upwards, then these sums upwards: the number of rows alone decides
 *   needs   nothing beyond OpenCL C 1.1
 *   build   BLOCK; HAS_BIAS */

__kernel void KERNEL(__global const float *x, int x0, __global const float *dy, int dy0, __global const float *stats, int stats0,
                     __global float *dweight, int dweight0, __global float *dbias, int dbias0, __global const int *dims,
                     int R, int R_set, int C, int C_set, int x_row, int dy_row, int stats_row)
{
    const int c = (int)get_global_id(0), rows = SIZE(R);
    if (c >= SIZE(C))
        return;
    float weight = 0.0f, bias = 0.0f;
    x += x0 + c;
    dy += dy0 + c;
    stats += stats0;
    for (int first = 0; first < rows; first += BLOCK) {
        float sum = 0.0f, plain = 0.0f;
        for (int r = first; r < min(first + BLOCK, rows); r++) {
            const float g = dy[r * dy_row];
            sum = fma(g, (x[r * x_row] - stats[r * stats_row]) * stats[r * stats_row + 1], sum);
            plain = ORDERED_ADD(g, plain);
        }
        weight = ORDERED_ADD(sum, weight);
        bias = ORDERED_ADD(plain, bias);
    }
    dweight[dweight0 + c] = weight;
#if HAS_BIAS
    dbias[dbias0 + c] = bias;
#endif
}

#undef BLOCK
#undef HAS_BIAS
