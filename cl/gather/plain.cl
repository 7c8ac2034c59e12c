/* gather/plain.cl - y[i,:] = x[index[i],:], bits unchanged.
 *
 *   grid    (C, N), one work-item per element
 *   x[r,c]  at x0 + r*x_row + c; y likewise
 *   index   contiguous; a number below 0 reads the first row of x, one past the end the last
 *   needs   nothing beyond OpenCL C 1.1
 *   build   X_DTYPE, which is y's too
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain. It has no other
 *           variant.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           7 of 40 rows of 129 f32
 *           plain           1.83      3.9    1.00      3.01      2.4    1.00 */

ENTRY KERNEL(PLACE __global const BITS(X_DTYPE) *x, int x0, __global const int *index, int index0,
             __global BITS(X_DTYPE) *y, int y0, __global const int *dims, int R, int R_set, int N, int N_set, int C,
             int C_set, int x_row, int y_row)
{
    const int c = ITEM(0), i = ITEM(1);
    if (c >= SIZE(C) || i >= SIZE(N))
        return;
    const int r = min(max(index[index0 + i], 0), SIZE(R) - 1);
    y[y0 + i * y_row + c] = x[x0 + r * x_row + c];
}
