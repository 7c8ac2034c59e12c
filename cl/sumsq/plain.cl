/* sumsq/plain.cl - sums[first + j] = sum of x^2 over the j-th of `parts` runs of ceil(N / parts)
 * elements.
 *
 *   grid    (parts), one work-item each
 *   x       contiguous
 *   order   16 partial sums by fma over segments of 1024 elements (BLOCK), then these in pairs,
 *           then the segments
 *   needs   nothing beyond OpenCL C 1.1
 *   paid    see sumsq/lanes */
#define BLOCK 1024

ENTRY KERNEL(PLACE __global float *sums, int sums0, __global const float *x, int x0, __global const int *dims, int N,
             int N_set, int first, int parts)
{
    const int j = ITEM(0);
#include "sumsq/run.clh"
    float total = 0.0f;
    x += x0;
    for (int at = begin; at < end; at += BLOCK) {
        float part[16];
#pragma unroll
        for (int k = 0; k < 16; k++)
            part[k] = 0.0f;
        const int stop = end - at < BLOCK ? end : at + BLOCK;
        for (int i = at; i < stop; i += 16) {
#pragma unroll
            for (int k = 0; k < 16; k++) /* unrolled, part is in registers */
                part[k] = i + k < stop ? fma(x[i + k], x[i + k], part[k]) : part[k];
        }
        total = ORDERED_ADD(SUM16(part), total);
    }
    sums[sums0 + first + j] = total;
}

#undef BLOCK
