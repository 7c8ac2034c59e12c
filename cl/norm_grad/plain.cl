/* norm_grad/plain.cl - dx = addend + the gradient of a layer norm or RMS norm of each row. Picture:
 * norm/plain.cl.
 *
 *     g = dy * weight,  n = (x - mean) * scale,  scale = 1 / sqrt(variance + eps)
 *     dx = addend + scale * (g - mean(g) - n * mean(g * n))     rms: mean(x) and mean(g) are 0
 *
 *   grid    (R), one work-item each: a row
 *   x[r,c]  at x0 + GROUPED_ROW(x, r) + c; dy, addend and dx at dy0 + r*dy_row + c, ..; mean and scale go to
 *           stats0 + r*stats_row, + 1
 *   alias   dx may be x, dy or addend
 *   order   sixteen partial sums, then the tail; the variance from differences to the mean, in a
 *           second pass
 *   needs   nothing beyond OpenCL C 1.1
 *   build   RMS 0|1; HAS_ADDEND; HAS_STATS; W_DTYPE
 *   paid    see norm_grad/lanes */

ENTRY KERNEL(PLACE __global const float *x, int x0, __global const ELEMENT(W_DTYPE) *weight, int weight0,
             __global const float *dy, int dy0, __global const float *addend, int addend0, __global float *dx, int dx0,
             __global float *stats, int stats0, __global const int *dims, int R, int R_set, int C, int x_row,
             int x_group, int x_gap, int dy_row, int addend_row, int dx_row, int stats_row, float eps)
{
    const int r = ITEM(0), whole = C / 16 * 16;
    if (r >= SIZE(R))
        return;
    x += x0 + GROUPED_ROW(x, r);
    dy += dy0 + r * dy_row;
    dx += dx0 + r * dx_row;
    weight += weight0;
#define G(c) (dy[c] * LOAD(W_DTYPE, weight, c))
#define FOLD(v)                     \
    for (int j = 0; j < 8; j++)     \
        (v)[j] += (v)[j + 8];

    float squares[16], sums[16], products[16], mean = 0.0f;
    for (int j = 0; j < 16; j++)
        squares[j] = sums[j] = products[j] = 0.0f;
#if !RMS
    for (int c = 0; c < whole; c += 16)
        for (int j = 0; j < 16; j++)
            sums[j] = ORDERED_ADD(x[c + j], sums[j]);
    FOLD(sums)
    mean = SUM8(sums);
    for (int c = whole; c < C; c++)
        mean = ORDERED_ADD(x[c], mean);
    mean /= (float)C;
    for (int j = 0; j < 16; j++)
        sums[j] = 0.0f;
#endif
    for (int c = 0; c < whole; c += 16)
        for (int j = 0; j < 16; j++) {
            const float v = x[c + j] - mean, g = G(c + j);
            squares[j] = fma(v, v, squares[j]);
            sums[j] = ORDERED_ADD(g, sums[j]);
            products[j] = fma(g, v, products[j]);
        }
    FOLD(squares)
    FOLD(sums)
    FOLD(products)
    float square = SUM8(squares), sum = SUM8(sums), product = SUM8(products);
    for (int c = whole; c < C; c++) {
        const float v = x[c] - mean, g = G(c);
        square = fma(v, v, square);
        sum = ORDERED_ADD(g, sum);
        product = fma(g, v, product);
    }
    const float scale = 1.0f / sqrt(square / (float)C + eps);
    const float along = product * scale / (float)C * scale, middle = RMS ? 0.0f : sum / (float)C;
    for (int c = 0; c < C; c++) {
        const float v = fma(x[c] - mean, -along, G(c) - middle);
#if HAS_ADDEND
        dx[c] = fma(v, scale, addend[addend0 + r * addend_row + c]);
#else
        dx[c] = v * scale;
#endif
    }
#if HAS_STATS
    stats[stats0 + r * stats_row] = mean;
    stats[stats0 + r * stats_row + 1] = scale;
#endif
}

#undef G
#undef FOLD
