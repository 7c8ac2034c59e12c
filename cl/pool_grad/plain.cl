/* pool_grad/plain.cl - the gradient of pool: of a mean each step gets dy / n; of first, last and
 * max one step gets dy, the others 0.
 *
 *   grid    (C, B), one work-item each: element c of sequence b
 *   x       x[b,t,c] at x0 + b*xb + t*xt + c, dx likewise; dy[b,c] at dy0 + b*db + c
 *   max     the first largest gets dy; NaN counts as smallest
 *   alias   dx may be x: an element is read before any of its column is written
 *   needs   nothing beyond OpenCL C 1.1
 *   build   KIND 0 mean, 1 first, 2 max, 3 last; HAS_LEN
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain. It has no other
 *           variant.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=2 T=65 C=48 mean
 *           plain           1.79     28.1    1.00      0.80     62.8    1.00 */

ENTRY KERNEL(PLACE __global const float *x, int x0, __global const int *len, int len0, __global const float *dy,
             int dy0, __global float *dx, int dx0, __global const int *dims, int B, int B_set, int T, int T_set, int C,
             int xb, int xb_set, int xt, int xt_set, int db, int db_set, int ob, int ob_set, int ot, int ot_set)
{
    const int c = ITEM(0), b = ITEM(1), steps = SIZE(T);
    if (c >= C || b >= SIZE(B))
        return;
    int n = steps;
#if HAS_LEN
    n = min(n, len[len0 + b]);
#endif
    const float d = dy[dy0 + b * SIZE(db) + c];
    dx += dx0 + b * SIZE(ob) + c;
    int taker = KIND == 3 ? n - 1 : 0;
#if KIND == 2
    x += x0 + b * SIZE(xb) + c;
    for (int t = 1; t < n; t++) {
        const float now = x[t * SIZE(xt)], best = x[taker * SIZE(xt)];
        taker = now > best || (isnan(best) && !isnan(now)) ? t : taker;
    }
#endif
    for (int t = 0; t < steps; t++) {
#if KIND == 0
        dx[t * SIZE(ot)] = t < n ? d / (float)n : 0.0f;
#else
        dx[t * SIZE(ot)] = t < n && t == taker ? d : 0.0f;
#endif
    }
}
