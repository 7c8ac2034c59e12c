/* gru_cell/plain.cl - T steps of a gated recurrent unit: r, z = sigmoid(x + w h + b), n = tanh(x +
 * r (w h + b)), h' = (1-z) n + z h.
 *
 *            E elements             states are owned, for all T steps, by
 *          +----+----+----+
 *          |    |    |    |         plain    a work-item: 1 sequence
 *    B     |    | h' |    |         rows     a work-item (CPUs): 16 sequences in lanes
 *          |    |    |    |         packed   a work-item (CPUs): ROWS sequences, with 16 * NV
 *          +----+----+----+                  elements in lanes
 *                                   ONE, a plan of one step, deals out the elements, too
 *
 *   grid    ONE: (E, B), one element of the new state each; else (1, B): all steps of a sequence,
 *           one after the other
 *   gates_x x_r, x_z, x_n of step t at gates_x0 + b*xb + t*xt, +E, +2E
 *   w[g,k]  at w0 + g*E + k, rows r, z, n
 *   state   h before the first step at state0 + b*hb; after step t at y0 + b*yb + t*yt, from where
 *           the next step reads it
 *   steps   REVERSE: from step len[b] - 1 to 0; steps from len[b] on give 0
 *   order   each product with h is one sum by fma, ascending k, then the bias; h' is formed as z (h
 *           - n) + n
 *   needs   nothing beyond OpenCL C 1.1
 *   build   W_DTYPE, BIAS_DTYPE; ONE: plans of a single step; REVERSE; HAS_LEN; HAS_STATE: else
 *           zeros
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us  GFLOP/s   ratio        us  GFLOP/s   ratio
 *           B=8 T=1 E=512 f32
 *           plain           2828      4.5    1.00     719.3     17.5    1.00
 *           packed          75.3    167.2   37.57      80.7    155.9    8.91
 *           rows            93.8    134.1   30.13      94.9    132.5    7.58
 *
 *           B=8 T=32 E=512 f32
 *           plain         184463      2.2    1.00    196908      2.0    1.00
 *           packed          2319    173.7   79.56      2971    135.5   66.27
 *           rows            5474     73.6   33.70      5017     80.3   39.25
 *   source  Cho et al. 2014, arXiv:1406.1078 */

ENTRY KERNEL(PLACE
#include "gru_cell/names.clh"
)
{
    const int b = ITEM(1);
#if ONE
    const int first = ITEM(0), end = first + 1;
#else
    const int first = ITEM(0) * E, end = E;
#endif
    if (first >= E || b >= SIZE(B))
        return;
    const int steps = SIZE(T);
    int n = steps;
#if HAS_LEN
    n = min(n, len[len0 + b]);
#endif
    __global const float *h = state + state0 + b * SIZE(hb);
    for (int i = 0; i < n; i++) {
        const int t = REVERSE ? n - 1 - i : i;
        __global const float *x = gates_x + gates_x0 + b * SIZE(xb) + t * SIZE(xt);
        __global float *next = y + y0 + b * SIZE(yb) + t * SIZE(yt);
        const int known = HAS_STATE || i > 0 ? E : 0; /* a first state of zeros adds nothing */
        for (int e = first; e < end; e++) {
#include "gru_cell/gates.clh"
            next[e] = fma(z, old - fresh, fresh);
        }
        h = next;
    }
    for (int t = max(n, 0); t < steps; t++)
        for (int e = first; e < end; e++)
            y[y0 + b * SIZE(yb) + t * SIZE(yt) + e] = 0.0f;
}
