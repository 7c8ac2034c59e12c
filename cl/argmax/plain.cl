/* argmax/plain.cl - y[r] = the index of the first largest of x[r,:]; NaN counts as smallest. Where
 * the largest is NaN, -inf or inf, y[r] is -1, -2 or -3.
 *
 *   grid    (R), work-groups of one work-item: a row each
 *   x[r,v]  at x0 + r*x_row + v; y contiguous
 *   needs   nothing beyond OpenCL C 1.1
 *   build   X_DTYPE
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           R=1 V=32000
 *           plain           11.3     11.4    1.00      11.3     11.3    1.00
 *           lanes           4.73     27.1    2.38      1.15    111.2    9.81
 *
 *           R=8 V=128256
 *           plain          372.7     11.0    1.00     368.2     11.1    1.00
 *           lanes           75.9     54.1    4.91      30.4    134.9   12.10 */

ENTRY_OF_ONE KERNEL(PLACE __global const ELEMENT(X_DTYPE) *x, int x0, __global int *y, int y0, __global const int *dims,
                    int R, int R_set, int V, int V_set, int x_row)
{
    const int r = ITEM(0), n = SIZE(V);
    if (r >= SIZE(R))
        return;
    int best = 0;
    float largest = LOAD(X_DTYPE, x, x0 + r * x_row);
    for (int v = 1; v < n; v++) {
        const float candidate = LOAD(X_DTYPE, x, x0 + r * x_row + v);
        if (candidate > largest || (isnan(largest) && !isnan(candidate))) {
            largest = candidate;
            best = v;
        }
    }
    y[y0 + r] = isfinite(largest) ? best : isnan(largest) ? -1 : largest > 0.0f ? -3 : -2;
}
