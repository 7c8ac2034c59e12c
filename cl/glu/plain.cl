/* glu/plain.cl - y[r,f] = act(x[r,f]) * x[r,F+f].
 *
 *   grid    (F, R), one work-item per element
 *   x[r,:]  at x0 + r*x_row; y likewise
 *   needs   nothing beyond OpenCL C 1.1
 *   build   ACT */

ENTRY KERNEL(PLACE __global const float *x, int x0, __global float *y, int y0, __global const int *dims, int R,
             int R_set, int F, int x_row, int y_row)
{
    const int f = ITEM(0), r = ITEM(1);
    if (f >= F || r >= SIZE(R))
        return;
    x += x0 + r * x_row;
    const float gate = x[f];
    y[y0 + r * y_row + f] = ACTIVATE(ACT, float, gate) * x[F + f];
}
