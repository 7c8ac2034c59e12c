/* sumsq/lanes.cl - sumsq/plain for CPUs: its sixteen partial sums are the lanes of a vector.
 *
 *   grid    (parts), work-groups of one work-item
 *   operands, order as sumsq/plain
 *   needs   float16 in registers (a CPU)
 *   paid    4 million elements, pocl 3.1, 2 Zen 4 cores: 0.30 ms (54 GB/s), plain 0.87 */
#include "elementwise/sixteen.clh"
#define BLOCK 1024

ENTRY_OF_ONE KERNEL(PLACE __global float *sums, int sums0, __global const float *x, int x0, __global const int *dims,
                    int N, int N_set, int first, int parts)
{
    const int j = ITEM(0);
#include "sumsq/run.clh"
    float total = 0.0f;
    x += x0;
    for (int at = begin; at < end; at += BLOCK) {
        const int stop = end - at < BLOCK ? end : at + BLOCK;
        float16 part = 0.0f;
        int i = at;
        for (; i + 16 <= stop; i += 16)
            part = fma(SIXTEEN_OF(x + i), SIXTEEN_OF(x + i), part);
        for (; i < stop; i++)
            ((float *)&part)[(i - at) & 15] = fma(x[i], x[i], ((float *)&part)[(i - at) & 15]);
        const float *chains = (const float *)&part;
        total = ORDERED_ADD(SUM16(chains), total);
    }
    sums[sums0 + first + j] = total;
}

#undef SIXTEEN
#undef SIXTEEN_OF
#undef BLOCK
