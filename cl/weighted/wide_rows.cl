/* weighted/wide_rows.cl - the stage before linear/wide and glu_linear/wide with VNNI: quantises the rows of
 * x into scratch.
 *
 *   grid    (R), work-groups of one work-item: a row each
 *   x[r,k]  at x0 + r*x_row + k; row r of scratch at r * WIDE_ROW_BYTES, as weighted/wide.clh says
 *   needs   float16 in registers (a CPU)
 *   build   W_DTYPE
 *   paid    its time is part of the figures of linear/wide */
#include "weighted/wide.clh"

#ifndef WIDE_ROWS_CL
#define WIDE_ROWS_CL
static int tsr_wide_total(int16 v)
{
    const int8 a = v.lo + v.hi;
    const int4 b = a.lo + a.hi;
    const int2 c = b.lo + b.hi;
    return c.x + c.y;
}

/* 16 inputs, each rounded to the nearest integer by the addition of 1.5 * 2^23. */
static int16 tsr_wide_whole(float16 v, float up)
{
    const float16 scaled = v * up;
    return as_int16(scaled + 12582912.0f) - 0x4b400000;
}

static void tsr_wide_part(int total, float down, int zero, __global uchar *to)
{
    *(__global int *)to = 0x4b400000 - zero * total;
    __global float *factors = (__global float *)(to + 4);
    factors[0] = down;
    factors[1] = -12582912.0f * down;
    factors[2] = (float)-total * down;
}
#endif

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global uchar *scratch, __global const int *dims, int R,
                    int R_set, int K, int x_row)
{
    const int r = ITEM(0);
    if (r >= SIZE(R))
        return;
    __global const float *from = x + x0 + r * x_row;
    __global uchar *to = scratch + (size_t)r * WIDE_ROW_BYTES(W_DTYPE, K);
    for (int k = 0; k < K; k += 32) {
        const float16 u = vload16(0, from + k), v = vload16(1, from + k);
        const float16 largest = fmax(fabs(u), fabs(v));
        const float8 a = fmax(largest.lo, largest.hi);
        const float4 b = fmax(a.lo, a.hi);
        const float2 c = fmax(b.lo, b.hi);
        const float most = fmax(c.x, c.y), up = TSR_INT8_UP(most), down = TSR_INT8_DOWN(most);
        const int16 p = tsr_wide_whole(u, up), q = tsr_wide_whole(v, up);
#if BLOCK_PART(W_DTYPE) == 32
        tsr_wide_part(tsr_wide_total(p + q), down, BLOCK_ZERO(W_DTYPE), to);
        vstore16(convert_char16(p), 0, (__global char *)(to + 16));
        vstore16(convert_char16(q), 0, (__global char *)(to + 32));
        to += 48;
#else
        tsr_wide_part(tsr_wide_total(p), down, BLOCK_ZERO(W_DTYPE), to);
        vstore16(convert_char16(p), 0, (__global char *)(to + 16));
        tsr_wide_part(tsr_wide_total(q), down, BLOCK_ZERO(W_DTYPE), to + 32);
        vstore16(convert_char16(q), 0, (__global char *)(to + 48));
        to += 64;
#endif
    }
}
