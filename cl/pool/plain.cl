/* pool/plain.cl - one vector for each sequence: the mean, the first, the largest of each element,
 * or the last, over t < len[b].
 *
 *          C elements
 *         +---+---+---+----+        a column of a sequence, over all its T steps, is owned by
 *   T     | 0 | 1 | 2 | .. |
 *   steps +---+---+---+----+        plain   a work-item: 1 column
 *         | 0 | 1 | 2 | .. |        lanes   a work-item (CPUs): 16 columns, in lanes
 *         +---+---+---+----+
 *
 *   grid    (C, B), one work-item each: element c of sequence b; 0 where a sequence is empty
 *   x       x[b,t,c] at x0 + b*xb + t*xt + c; y[b,c] at y0 + b*yb + c
 *   order   a mean is a sum over ascending t, divided once
 *   needs   nothing beyond OpenCL C 1.1
 *   build   KIND 0 mean, 1 first, 2 max, 3 last; HAS_LEN
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=32 T=128 C=384 mean
 *           plain          357.9     17.7    1.00      67.5     94.0    1.00
 *           lanes           54.8    115.6    6.53      66.3     95.6    1.02 */

ENTRY KERNEL(PLACE __global const float *x, int x0, __global const int *len, int len0, __global float *y, int y0,
             __global const int *dims, int B, int B_set, int T, int T_set, int C, int xb, int xb_set, int xt,
             int xt_set, int yb, int yb_set)
{
    const int c = ITEM(0), b = ITEM(1), step = SIZE(xt);
#include "pool/sequence.clh"
    float v = 0.0f;
#if KIND == 0
    for (int t = 0; t < n; t++)
        v = ORDERED_ADD(x[t * step], v);
    v = n > 0 ? v / (float)n : 0.0f;
#elif KIND == 2
    if (n > 0)
        v = x[0];
    for (int t = 1; t < n; t++)
        v = fmax(v, x[t * step]);
#else
    if (n > 0)
        v = x[(KIND == 3 ? n - 1 : 0) * step];
#endif
    y[y0 + b * SIZE(yb) + c] = v;
}
