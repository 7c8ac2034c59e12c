/* softmax_grad/lanes.cl - softmax_grad/plain for CPUs: its sixteen partial sums are the lanes of a
 * vector.
 *
 *   grid    (rows), work-groups of one work-item
 *   operands, alias, order as softmax_grad/plain; the elements of a row are contiguous
 *   needs   float16 in registers (a CPU)
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=4 T=256 S=256 scale 0.125
 *           plain          568.1     16.6    1.00     712.7     13.2    1.00
 *           lanes           97.4     96.9    5.84     138.6     68.1    5.14 */
#include "elementwise/sixteen.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *y, int y0, __global const float *dy, int dy0, __global float *dx,
                    int dx0, __global const int *dims, int R, int R_set, int8 size, int8 size_set, int8 y_step,
                    int8 y_set, int8 dy_step, int8 dy_set, int8 dx_step, int8 dx_set, float scale)
{
    const int row = ITEM(0);
    if (row >= SIZE(R))
        return;
    const int S = size.s7 * dims[size_set.s7], whole = S / 16 * 16;
#include "softmax/place.clh"
    y += y0 + ROW_AT(y_step, y_set);
    dy += dy0 + ROW_AT(dy_step, dy_set);
    dx += dx0 + ROW_AT(dx_step, dx_set);

    float16 part = 0.0f;
    for (int s = 0; s < whole; s += 16)
        part = fma(SIXTEEN_OF(y + s), SIXTEEN_OF(dy + s), part);
    const float8 half_of = part.lo + part.hi;
    const float *parts = (const float *)&half_of;
    float sum = SUM8(parts);
    for (int s = whole; s < S; s++)
        sum = fma(y[s], dy[s], sum);
    for (int s = 0; s < whole; s += 16)
        SIXTEEN(dx + s) = scale * SIXTEEN_OF(y + s) * (SIXTEEN_OF(dy + s) - sum);
    for (int s = whole; s < S; s++)
        dx[s] = scale * y[s] * (dy[s] - sum);
}

#undef SIXTEEN_OF
#undef ROW_AT
#undef SIXTEEN
