/* norm/plain.cl - layer norm or RMS norm of each row, of x or of x + residual (whose sum is given too).
 *
 *     layer  y = (x - mean) / sqrt(variance + eps) * weight + bias        rms  y = x / sqrt(mean(x^2) + eps) * weight
 *
 *   grid    (R), one work-item a row
 *   x[r,c]  at x0 + r*x_row + c; y, residual and sum likewise
 *   alias   y and sum may each be x or residual, and are not the same
 *   adds    eight sums side by side (an array: see SUM8), then the tail; the variance from differences to the mean, in a second pass
 *   needs   nothing beyond OpenCL C 1.1
 *   build   RMS 0|1; ADD 0|1; HAS_BIAS; W_DTYPE, BIAS_DTYPE
 *   source  Ba et al. 2016, arXiv:1607.06450; Zhang, Sennrich 2019, arXiv:1910.07467 */

__kernel void KERNEL(__global const float *x, int x0,
#if ADD
                     __global const float *residual, int residual0, __global float *sum, int sum0, int residual_row,
                     int sum_row,
#endif
                     __global const ELEMENT(W_DTYPE) *weight, int weight0, __global const ELEMENT(BIAS_DTYPE) *bias,
                     int bias0, __global float *y, int y0, __global const int *dims, int R, int R_set, int C, int x_row,
                     int y_row, float eps)
{
    const int r = (int)get_global_id(0);
    if (r >= SIZE(R))
        return;
    x += x0 + r * x_row;
    y += y0 + r * y_row;
    weight += weight0;
    const int whole = C / 8 * 8;
#if ADD
    residual += residual0 + r * residual_row;
    sum += sum0 + r * sum_row;
    for (int c = 0; c < C; c++)
        sum[c] = x[c] + residual[c];
#define ROW sum
#else
#define ROW x
#endif

    float part[8], mean = 0.0f;
#if !RMS
    for (int j = 0; j < 8; j++)
        part[j] = 0.0f;
    for (int c = 0; c < whole; c += 8)
        for (int j = 0; j < 8; j++)
            part[j] = ORDERED_ADD(ROW[c + j], part[j]);
    mean = SUM8(part);
    for (int c = whole; c < C; c++)
        mean = ORDERED_ADD(ROW[c], mean);
    mean /= (float)C;
#endif
    for (int j = 0; j < 8; j++)
        part[j] = 0.0f;
    for (int c = 0; c < whole; c += 8)
        for (int j = 0; j < 8; j++)
            part[j] = fma(ROW[c + j] - mean, ROW[c + j] - mean, part[j]);
    float square = SUM8(part);
    for (int c = whole; c < C; c++)
        square = fma(ROW[c] - mean, ROW[c] - mean, square);
    const float scale = 1.0f / sqrt(square / (float)C + eps);

    for (int c = 0; c < C; c++) {
        const float v = (ROW[c] - mean) * scale, w = LOAD(W_DTYPE, weight, c);
#if HAS_BIAS
        y[c] = fma(v, w, LOAD(BIAS_DTYPE, bias, bias0 + c));
#else
        y[c] = v * w;
#endif
    }
}

#undef ROW
#undef RMS
#undef ADD
#undef HAS_BIAS
#undef W_DTYPE
#undef BIAS_DTYPE
