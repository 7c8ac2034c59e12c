/* softmax_grad/plain.cl - dx = scale * y * (dy - sum of y dy) of each row. Picture: norm/plain.cl.
 *
 *   grid    (rows), one work-item each
 *   y, dy, dx at any strides, given in elements for the last eight dimensions
 *   alias   dx may be y or dy
 *   order   sixteen partial sums of products, then the tail
 *   needs   nothing beyond OpenCL C 1.1
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=4 T=256 S=256 scale 0.125
 *           plain          568.1     16.6    1.00     712.7     13.2    1.00
 *           lanes           97.4     96.9    5.84     138.6     68.1    5.14 */

ENTRY KERNEL(PLACE __global const float *y, int y0, __global const float *dy, int dy0, __global float *dx, int dx0,
             __global const int *dims, int R, int R_set, int8 size, int8 size_set, int8 y_step, int8 y_set,
             int8 dy_step, int8 dy_set, int8 dx_step, int8 dx_set, float scale)
{
    const int row = ITEM(0);
    if (row >= SIZE(R))
        return;
    const int S = size.s7 * dims[size_set.s7], whole = S / 16 * 16;
#include "softmax_grad/row.clh"

    float part[16];
    for (int j = 0; j < 16; j++)
        part[j] = 0.0f;
    for (int s = 0; s < whole; s += 16)
        for (int j = 0; j < 16; j++)
            part[j] = fma(y[(s + j) * y7], dy[(s + j) * d7], part[j]);
    for (int j = 0; j < 8; j++)
        part[j] += part[j + 8];
    float sum = SUM8(part);
    for (int s = whole; s < S; s++)
        sum = fma(y[s * y7], dy[s * d7], sum);
    for (int s = 0; s < S; s++)
        dx[s * x7] = scale * y[s * y7] * (dy[s * d7] - sum);
}

#undef ROW_AT
