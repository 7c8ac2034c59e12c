/* glu/plain.cl - y[r,f] = act(x[r,f]) * x[r,F+f], or as GLU_FORM (common/tessera.clh)
 * has it.
 *
 *   grid    (F, R), one work-item per element
 *   x[r,:]  at x0 + r*x_row; y likewise
 *   needs   nothing beyond OpenCL C 1.1
 *   build   ACT, GLU_FORM
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
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

ENTRY KERNEL(PLACE __global const float *x, int x0, __global float *y, int y0, __global const int *dims, int R,
             int R_set, int F, int x_row, int y_row)
{
    const int f = ITEM(0), r = ITEM(1);
    if (f >= F || r >= SIZE(R))
        return;
    x += x0 + r * x_row;
    const float gate = x[f], up = x[F + f];
    y[y0 + r * y_row + f] = GLU(float, gate, up);
}
