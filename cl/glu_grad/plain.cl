/* glu_grad/plain.cl - dx[r,f] = dy[r,f] * x[r,F+f] * act'(x[r,f]), dx[r,F+f] = dy[r,f] *
 * act(x[r,f]).
 *
 *   grid    (F, R), one work-item for both halves of an element
 *   x[r,:]  at x0 + r*x_row; dy and dx likewise
 *   alias   dx may be x
 *   needs   nothing beyond OpenCL C 1.1
 *   build   ACT */
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
    dx[f] = d * up * SLOPE(gate);
    dx[F + f] = d * ACTIVATE(ACT, float, gate);
}

#undef SLOPE
#undef VECTOR
