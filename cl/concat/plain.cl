/* concat/plain.cl - y = 2 to 4 inputs side by side along the last dimension.
 *
 *   grid    (C, R), one work-item per element of y, which has C columns
 *   a[r,i]  at a0 + r*a_row + i; b, c, d and y likewise; inputs past INPUTS are missing
 *   needs   nothing beyond OpenCL C 1.1
 *   build   INPUTS 2..4
 *   paid    see concat/lanes */

ENTRY KERNEL(PLACE __global const float *a, int a0, __global const float *b, int b0, __global const float *c, int c0,
             __global const float *d, int d0, __global float *y, int y0, __global const int *dims, int R, int R_set,
             int a_columns, int a_row, int b_columns, int b_row, int c_columns, int c_row, int d_columns, int d_row,
             int C, int y_row)
{
    const int column = ITEM(0), r = ITEM(1);
    if (column >= C || r >= SIZE(R))
        return;
    int at = column;
    float v = 0.0f;
    if (at < a_columns)
        v = a[a0 + r * a_row + at];
    at -= a_columns;
    if (at >= 0 && at < b_columns)
        v = b[b0 + r * b_row + at];
    at -= b_columns;
#if INPUTS > 2
    if (at >= 0 && at < c_columns)
        v = c[c0 + r * c_row + at];
    at -= c_columns;
#endif
#if INPUTS > 3
    if (at >= 0 && at < d_columns)
        v = d[d0 + r * d_row + at];
#endif
    y[y0 + r * y_row + column] = v;
}
