/* sum_rows/blocks_lanes.cl - sum_rows/blocks for CPUs, 64 columns in lanes.
 *
 *   grid    (C/64, number of b), work-groups of one work-item
 *   operands, order, build as sum_rows/blocks
 *   needs   float16 in registers (a CPU)
 *   paid    pocl 3.1, 2 Zen 4 cores, us (GB/s):
 *
 *           rows x columns    plain   lanes
 *           4096 x 384        454     53 (120)
 *           4096 x 1536       6250    433 (58)
 *           256 x 3072        1080    35 (91)
 *           256 x 50257       4780    1550 (33) */
#include "elementwise/sixteen.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global float *sums, __global const int *dims, int R,
                    int R_set, int C, int C_set, int x_row)
{
    const int b = ITEM(1), rows = min(SIZE(R) - b * BLOCK, BLOCK), columns = SIZE(C);
    const int last = min(columns, ITEM(0) * 64 + 64);
    int c = ITEM(0) * 64;
    x += x0 + b * BLOCK * x_row;
    sums += b * columns;
    if (c + 64 <= last) {
        float16 s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
        for (int r = 0; r < rows; r++) {
            __global const float *at = x + r * x_row + c;
            s0 = ORDERED_ADD(SIXTEEN_OF(at), s0);
            s1 = ORDERED_ADD(SIXTEEN_OF(at + 16), s1);
            s2 = ORDERED_ADD(SIXTEEN_OF(at + 32), s2);
            s3 = ORDERED_ADD(SIXTEEN_OF(at + 48), s3);
        }
        SIXTEEN(sums + c) = s0;
        SIXTEEN(sums + c + 16) = s1;
        SIXTEEN(sums + c + 32) = s2;
        SIXTEEN(sums + c + 48) = s3;
        return;
    }
    for (; c + 16 <= last; c += 16) {
        float16 sum = 0.0f;
        for (int r = 0; r < rows; r++)
            sum = ORDERED_ADD(SIXTEEN_OF(x + r * x_row + c), sum);
        SIXTEEN(sums + c) = sum;
    }
    for (; c < last; c++) {
        float sum = 0.0f;
        for (int r = 0; r < rows; r++)
            sum = ORDERED_ADD(x[r * x_row + c], sum);
        sums[c] = sum;
    }
}

#undef SIXTEEN_OF
#undef SIXTEEN
