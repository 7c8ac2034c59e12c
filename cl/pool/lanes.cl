/* pool/lanes.cl - pool/plain for CPUs, 16 elements in lanes.
 *
 *   grid    (C/16, B), work-groups of one work-item
 *   operands, order, build as pool/plain
 *   needs   float16 in registers (a CPU); C a multiple of 16
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=32 T=128 C=384 mean
 *           plain          357.9     17.7    1.00      67.5     94.0    1.00
 *           lanes           54.8    115.6    6.53      66.3     95.6    1.02 */
typedef float16 __attribute__((aligned(4))) LOCAL_NAME(loose);

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const int *len, int len0, __global float *y, int y0,
                    __global const int *dims, int B, int B_set, int T, int T_set, int C, int xb, int xb_set, int xt,
                    int xt_set, int yb, int yb_set)
{
    const int c = ITEM(0) * 16, b = ITEM(1), step = SIZE(xt);
#include "pool/sequence.clh"
#define AT_TIME(t) (*(__global const LOCAL_NAME(loose) *)(x + (t) * step))
    float16 v = 0.0f;
#if KIND == 0
    for (int t = 0; t < n; t++)
        v = ORDERED_ADD(AT_TIME(t), v);
    v = n > 0 ? v / (float)n : (float16)(0.0f);
#elif KIND == 2
    if (n > 0)
        v = AT_TIME(0);
    for (int t = 1; t < n; t++)
        v = fmax(v, AT_TIME(t));
#else
    if (n > 0)
        v = AT_TIME(KIND == 3 ? n - 1 : 0);
#endif
    *(__global LOCAL_NAME(loose) *)(y + y0 + b * SIZE(yb) + c) = v;
}

#undef AT_TIME
