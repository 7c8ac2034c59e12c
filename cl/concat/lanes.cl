/* concat/lanes.cl - concat/plain for CPUs: a row at a time, sixteen elements to a vector.
 *
 *   grid    (R), work-groups of one work-item
 *   operands, build as concat/plain
 *   adds    over concat/plain: an element need not look for its input
 *   needs   float16 in registers (a CPU)
 *   paid    768 rows of 3 x 128 (the gradient of a product of queries, keys and values), pocl 3.1,
 *           2 Zen 4 cores: 28 us, plain 401 */
#include "elementwise/sixteen.clh"
#define PART(x)                                                                  \
    {                                                                            \
        int i = 0;                                                               \
        x += x##0 + r * x##_row;                                                 \
        for (; i + 16 <= x##_columns; i += 16)                                   \
            SIXTEEN(y + i) = SIXTEEN_OF(x + i);                                  \
        for (; i < x##_columns; i++)                                             \
            y[i] = x[i];                                                         \
        y += x##_columns;                                                        \
    }

ENTRY_OF_ONE KERNEL(PLACE __global const float *a, int a0, __global const float *b, int b0, __global const float *c,
                    int c0, __global const float *d, int d0, __global float *y, int y0, __global const int *dims, int R,
                    int R_set, int a_columns, int a_row, int b_columns, int b_row, int c_columns, int c_row,
                    int d_columns, int d_row, int C, int y_row)
{
    const int r = ITEM(0);
    if (r >= SIZE(R))
        return;
    y += y0 + r * y_row;
    PART(a)
    PART(b)
#if INPUTS > 2
    PART(c)
#endif
#if INPUTS > 3
    PART(d)
#endif
}

#undef PART
#undef SIXTEEN
#undef SIXTEEN_OF
