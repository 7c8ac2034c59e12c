/* glu_grad/lanes.cl - glu_grad/plain for CPUs: sixteen elements to a vector.
 *
 *   grid    (F/SPAN, R), work-groups of one work-item
 *   operands, alias, build as glu_grad/plain
 *   needs   float16 in registers (a CPU)
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           gelu T=256 F=2048
 *           plain           8060      2.6    1.00      2029     10.3    1.00
 *           lanes          656.3     32.0   12.28     498.4     42.1    4.07
 *
 *           silu T=256 F=2048
 *           plain           2000     10.5    1.00      1976     10.6    1.00
 *           lanes          517.5     40.5    3.86     408.7     51.3    4.83 */
#include "elementwise/math16.clh"
#include "elementwise/sixteen.clh"
#define SPAN 1024
#define VECTOR float16
#include "elementwise/slope.clh"
#undef SLOPE
#undef VECTOR
#define VECTOR float
#include "elementwise/slope.clh"
#undef SLOPE
#undef VECTOR
#define SLOPE(T, v) TSR_PASTE(slope_##T##_, INSTANCE)(v)

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const float *dy, int dy0, __global float *dx,
                    int dx0, __global const int *dims, int R, int R_set, int F, int x_row, int dy_row, int dx_row)
{
    const int r = ITEM(1), begin = ITEM(0) * SPAN, end = min(begin + SPAN, F);
    if (r >= SIZE(R))
        return;
    x += x0 + r * x_row;
    dy += dy0 + r * dy_row;
    dx += dx0 + r * dx_row;
    int f = begin;
    for (; f + 16 <= end; f += 16) {
        const float16 gate = SIXTEEN_OF(x + f), up = SIXTEEN_OF(x + F + f), d = SIXTEEN_OF(dy + f);
        SIXTEEN(dx + f) = GLU_REACH(float16, gate, d * GLU_UP(float16, up) * SLOPE(float16, GLU_GATE(float16, gate)));
        SIXTEEN(dx + F + f) = GLU_REACH(float16, fabs(up), d * GLU_BACK(ACTIVATE(ACT, float16, GLU_GATE(float16, gate))));
    }
    for (; f < end; f++) {
        const float gate = x[f], up = x[F + f], d = dy[f];
        dx[f] = GLU_REACH(float, gate, d * GLU_UP(float, up) * SLOPE(float, GLU_GATE(float, gate)));
        dx[F + f] = GLU_REACH(float, fabs(up), d * GLU_BACK(ACTIVATE(ACT, float, GLU_GATE(float, gate))));
    }
}

#undef SLOPE
#undef SIXTEEN
#undef SIXTEEN_OF
#undef SPAN
