/* argmax/plain.cl - y[r] = the index of the first largest of x[r,:]; NaN counts as smallest.
 *
 *   grid    (R), one work-item per row
 *   x[r,v]  at x0 + r*x_row + v; y contiguous
 *   needs   nothing beyond OpenCL C 1.1
 *   build   X_DTYPE */

ENTRY KERNEL(PLACE __global const ELEMENT(X_DTYPE) *x, int x0, __global int *y, int y0, __global const int *dims, int R,
             int R_set, int V, int V_set, int x_row)
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
    y[y0 + r] = best;
}

#undef X_DTYPE
