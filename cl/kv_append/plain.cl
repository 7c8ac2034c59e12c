/* kv_append/plain.cl - state[slot[b], g, past[b]+t, d] = x[b,t,g,d] where past[b]+t < min(len[b],
 * capacity). With pages: state[pages[b, s/PAGE], g, s%PAGE, d], s = past[b]+t.
 *
 *   grid    (G*D, T, B), one work-item per element, or per block of 32 of them where the state has blocks
 *   x       x[b,t,g,d] at x0 + b*xb + t*xt + g*xg + d; state[j,g,s,d] at state0 + j*sj + g*sg +
 *           s*ss + d
 *   needs   nothing beyond OpenCL C 1.1
 *   build   STATE_DTYPE (keep.clh); HAS_SLOT (else slot[b] is b); HAS_PAGES, PAGE
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain. It has no other
 *           variant.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=1 T=512 state [1,12,1024,64] a prompt
 *           plain          774.3      4.1    1.00     428.4      7.3    1.00 */
#include "kv_append/keep.clh"

ENTRY KERNEL(PLACE __global ELEMENT(STATE_DTYPE) *state, int state0, __global const float *x, int x0,
             __global const int *past, int past0, __global const int *len, int len0, __global const int *slot,
             int slot0, __global const int *pages, int pages0, __global const int *dims, int B, int B_set, int T,
             int T_set, int G, int D, int capacity, int capacity_set, int xb, int xb_set, int xt, int xt_set, int xg,
             int xg_set, int sj, int sj_set, int sg, int sg_set, int ss, int ss_set)
{
    const int i = ITEM(0) * BLOCK_NUMBERS(STATE_DTYPE), t = ITEM(1), b = ITEM(2);
    if (i >= G * D || t >= SIZE(T) || b >= SIZE(B))
        return;
    const int s = past[past0 + b] + t;
    if (s < 0 || s >= min(len[len0 + b], SIZE(capacity)))
        return;
#if HAS_PAGES
    const int j = pages[pages0 + b * (SIZE(capacity) / PAGE) + (int)((uint)s / PAGE)], row = (int)((uint)s % PAGE);
#elif HAS_SLOT
    const int j = slot[slot0 + b], row = s;
#else
    const int j = b, row = s;
#endif
    const int g = i / D, d = i - g * D;
    const int to = state0 + j * SIZE(sj) + g * SIZE(sg) + row * SIZE(ss) + d;
    KEEP_KV(STATE_DTYPE, state, to, x + x0 + b * SIZE(xb) + t * SIZE(xt) + g * SIZE(xg) + d);
}
