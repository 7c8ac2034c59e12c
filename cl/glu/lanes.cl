/* glu/lanes.cl - glu/plain for CPUs: sixteen elements to a vector.
 *
 *   grid    (F/SPAN, R), work-groups of one work-item
 *   operands, build as glu/plain
 *   needs   float16 in registers (a CPU)
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           gelu T=256 F=2048
 *           plain           3966      3.2    1.00      1599      7.9    1.00
 *           lanes          343.3     36.7   11.55     257.1     48.9    6.22
 *
 *           silu T=256 F=2048
 *           plain          995.3     12.6    1.00      1540      8.2    1.00
 *           lanes          226.1     55.6    4.40     190.1     66.2    8.10 */
#include "elementwise/math16.clh"
#include "elementwise/sixteen.clh"
#define SPAN 1024

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global float *y, int y0, __global const int *dims, int R,
                    int R_set, int F, int x_row, int y_row)
{
    const int r = ITEM(1), begin = ITEM(0) * SPAN, end = min(begin + SPAN, F);
    if (r >= SIZE(R))
        return;
    x += x0 + r * x_row;
    y += y0 + r * y_row;
    int f = begin;
    for (; f + 16 <= end; f += 16) {
        const float16 gate = SIXTEEN_OF(x + f), up = SIXTEEN_OF(x + F + f);
        SIXTEEN(y + f) = GLU(float16, gate, up);
    }
    for (; f < end; f++) {
        const float gate = x[f], up = x[F + f];
        y[f] = GLU(float, gate, up);
    }
}

#undef SIXTEEN
#undef SIXTEEN_OF
#undef SPAN
