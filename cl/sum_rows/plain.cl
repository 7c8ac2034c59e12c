/* sum_rows/plain.cl - y[c] = sum over r of x[r,c].
 *
 *   grid    (C), one work-item a column
 *   x[r,c]  at x0 + r*x_row + c; y packed
 *   adds    BLOCK rows upwards, then these sums upwards: the number of rows alone decides
 *   needs   nothing beyond OpenCL C 1.1
 *   build   BLOCK */

__kernel void KERNEL(__global const float *x, int x0, __global float *y, int y0, __global const int *dims, int R, int R_set,
                     int C, int C_set, int x_row)
{
    const int c = (int)get_global_id(0), rows = SIZE(R);
    if (c >= SIZE(C))
        return;
    float total = 0.0f;
    x += x0 + c;
    for (int first = 0; first < rows; first += BLOCK) {
        float sum = 0.0f;
        for (int r = first; r < min(first + BLOCK, rows); r++)
            sum = ORDERED_ADD(x[r * x_row], sum);
        total = ORDERED_ADD(sum, total);
    }
    y[y0 + c] = total;
}

#undef BLOCK
