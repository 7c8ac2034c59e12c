/* glu/lanes.cl - glu/plain for CPUs: sixteen elements to a vector.
 *
 *   grid    (F/SPAN, R), work-groups of one work-item
 *   operands, build as glu/plain
 *   needs   float16 in registers (a CPU) */
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
        const float16 gate = SIXTEEN_OF(x + f);
        SIXTEEN(y + f) = ACTIVATE(ACT, float16, gate) * SIXTEEN_OF(x + F + f);
    }
    for (; f < end; f++) {
        const float gate = x[f];
        y[f] = ACTIVATE(ACT, float, gate) * x[F + f];
    }
}

#undef SIXTEEN
#undef SIXTEEN_OF
#undef SPAN
