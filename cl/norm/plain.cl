/* norm/plain.cl - layer norm or RMS norm of each row, of x or of x + residual (whose sum is stored
 * too).
 *
 *     layer  y = (x - mean) / sqrt(variance + eps) * weight + bias
 *     rms    y = x / sqrt(mean(x^2) + eps) * weight
 *
 * Who owns what, in the norms, softmax, the losses and select, which all reduce along rows:
 *
 *           C columns            a digit is the partial sum of an element; rows are owned by
 *      +-----------------+
 *      | 0 1 .. 7 0 1 .. |       plain   a work-item: 1 row; 8 (or 16) partial sums in an array
 *      | 0 1 .. 7 0 1 .. |       lanes   a work-item (CPUs): 1 row, in norms several; the partial
 *      | 0 1 .. 7 0 1 .. |               sums are the lanes of a vector: the same bytes
 *      +-----------------+       group   a work-group of GROUP work-items (GPUs): 1 row, GROUP
 *                                        partial sums; work-item i has columns i, i + GROUP, ..
 *
 * The ladder of norms, pocl 3.1 on 2 Zen 4 cores, us for 1700 rows of 384, add_norm beside int8
 * products:
 *
 *   variant      adds over the one before it                                    us
 *   plain        8 partial sums in a fixed order                                608
 *   lanes        CPUs: vectors; four rows in turn hide the latency of fma       500
 *   group        GPUs: a work-group for each row, a tree in local memory        -
 *   sub_groups   GPUs: group with the driver's sub-group functions              -
 *
 * On Intel's runtime, 2 Zen 4 cores, add_norm of 512 tokens of a Llama of 110 M parameters, all
 * layers, ms: plain 15.8, sub_groups 9.5, with GROUP=16 and SUB=16 4.4, group with GROUP=16 4.3.
 * cl/tuned/cpu.tsv has more.
 *
 *   grid    (R), one work-item each: a row
 *   x[r,c]  at x0 + GROUPED_ROW(x, r) + c; y, residual and sum at y0 + r*y_row + c, ..
 *   alias   y and sum may each be x or residual, but not the same array
 *   order   eight partial sums (an array: see SUM8), then the tail; the variance from differences
 *           to the mean, in a second pass
 *   needs   nothing beyond OpenCL C 1.1
 *   build   RMS 0|1; ADD 0|1; HAS_BIAS; W_DTYPE, BIAS_DTYPE
 *   paid    608 us; see the ladder
 *   source  Ba et al. 2016, arXiv:1607.06450; Zhang, Sennrich 2019, arXiv:1910.07467 */

ENTRY KERNEL(PLACE __global const float *x, int x0,
#if ADD
             __global const float *residual, int residual0, __global float *sum, int sum0, int residual_row,
             int sum_row,
#endif
             __global const ELEMENT(W_DTYPE) *weight, int weight0, __global const ELEMENT(BIAS_DTYPE) *bias,
             int bias0, __global float *y, int y0, __global const int *dims, int R, int R_set, int C, int x_row,
             int x_group, int x_gap, int y_row, float eps)
{
    const int r = ITEM(0);
    if (r >= SIZE(R))
        return;
    x += x0 + GROUPED_ROW(x, r);
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
