/* gru_cell_grad/plain.cl - the gradient of gru_cell/plain, step by step backwards.
 *
 *     dh = dy_t + what the step after it gives      the step before gets dh z + w^T dgates_h
 *     dn = dh ((1 - z) (1 - n^2))                   dgates_x = dr, dz, dn
 *     dz = dh ((h - n) z (1 - z))                   dgates_h = dr, dz, dn r
 *     dr = dn ((w_n h + b_n) r (1 - r))
 *
 *   grid    (1, B), one work-item per sequence
 *   gates_x as gru_cell/plain
 *   y       y[b,t,e] at y0 + b*yb + t*yt + e, dy likewise; dgates_x, dgates_h, before and dstate
 *           are contiguous
 *   reads   scratch[b*E + e]: what is carried from step to step
 *   order   gates as gru_cell/plain; factors are multiplied as the brackets above say; w^T dgates_h
 *           is added to dh z by fma, ascending gates
 *   needs   nothing beyond OpenCL C 1.1
 *   build   W_DTYPE, BIAS_DTYPE; REVERSE; HAS_LEN; HAS_STATE: else zeros; HAS_DSTATE
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us  GFLOP/s   ratio        us  GFLOP/s   ratio
 *           B=8 T=32 E=512 f32
 *           plain         205974      3.9    1.00    271727      3.0    1.00
 *           rows            6317    127.5   32.60      5953    135.3   45.64 */

ENTRY KERNEL(PLACE
#include "gru_cell_grad/names.clh"
    , __global float *scratch)
{
    const int b = ITEM(1);
    if (ITEM(0) > 0 || b >= SIZE(B))
        return;
    const int steps = SIZE(T);
    int n = steps;
#if HAS_LEN
    n = max(min(n, len[len0 + b]), 0);
#endif
    __global float *carried = scratch + b * E;
    for (int e = 0; e < E; e++)
        carried[e] = 0.0f;
    for (int i = (b * steps + n) * 3 * E; i < (b + 1) * steps * 3 * E; i++)
        dgates_x[dgates_x0 + i] = dgates_h[dgates_h0 + i] = 0.0f;
    for (int i = (b * steps + n) * E; i < (b + 1) * steps * E; i++)
        before[before0 + i] = 0.0f;

    for (int i = n - 1; i >= 0; i--) {
        const int t = REVERSE ? n - 1 - i : i, from = REVERSE ? t + 1 : t - 1;
        __global const float *x = gates_x + gates_x0 + b * SIZE(xb) + t * SIZE(xt);
        __global const float *h = i > 0 ? y + y0 + b * SIZE(yb) + from * SIZE(yt) : state + state0 + b * SIZE(hb);
        __global const float *gradient = dy + dy0 + b * SIZE(db) + t * SIZE(dt);
        __global float *dx = dgates_x + dgates_x0 + (b * steps + t) * 3 * E;
        __global float *dg = dgates_h + dgates_h0 + (b * steps + t) * 3 * E;
        const int known = HAS_STATE || i > 0 ? E : 0; /* a first state of zeros adds nothing */
        for (int e = 0; e < E; e++) {
#include "gru_cell/gates.clh"
            const float dh = carried[e] + gradient[e], dn = dh * ((1.0f - z) * fma(-fresh, fresh, 1.0f));
            before[before0 + (b * steps + t) * E + e] = old;
            dx[e] = dg[e] = dn * (sum[2] * r * (1.0f - r));
            dx[E + e] = dg[E + e] = dh * ((old - fresh) * z * (1.0f - z));
            dx[2 * E + e] = dn;
            dg[2 * E + e] = dn * r;
            carried[e] = dh * z;
        }
        for (int g = 0; g < 3 * E; g++)
            for (int k = 0; k < E; k++)
                carried[k] = fma(LOAD(W_DTYPE, w, w0 + g * E + k), dg[g], carried[k]);
    }
#if HAS_DSTATE
    for (int e = 0; e < E; e++)
        dstate[dstate0 + b * E + e] = carried[e];
#endif
}
