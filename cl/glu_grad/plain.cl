/* glu_grad/plain.cl - dx[r,f] = dy[r,f] * x[r,F+f] * act'(x[r,f]), dx[r,F+f] = dy[r,f] *
 * act(x[r,f]).
 *
 *   grid    (F, R), one work-item for both halves of an element
 *   x[r,:]  at x0 + r*x_row; dy and dx likewise
 *   alias   dx may be x
 *   needs   nothing beyond OpenCL C 1.1
 *   build   ACT, GLU_FORM as glu/plain
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
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
#define VECTOR float
#include "elementwise/slope.clh"

ENTRY KERNEL(PLACE __global const float *x, int x0, __global const float *dy, int dy0, __global float *dx, int dx0,
             __global const int *dims, int R, int R_set, int F, int x_row, int dy_row, int dx_row)
{
    const int f = ITEM(0), r = ITEM(1);
    if (f >= F || r >= SIZE(R))
        return;
    x += x0 + r * x_row;
    dx += dx0 + r * dx_row;
    const float gate = x[f], up = x[F + f], d = dy[dy0 + r * dy_row + f];
    dx[f] = GLU_REACH(float, gate, d * GLU_UP(float, up) * SLOPE(GLU_GATE(float, gate)));
    dx[F + f] = GLU_REACH(float, fabs(up), d * GLU_BACK(ACTIVATE(ACT, float, GLU_GATE(float, gate))));
}

#undef SLOPE
#undef VECTOR
