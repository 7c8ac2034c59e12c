/* gru_cell/rows.cl - gru_cell/plain for CPUs and weights in plain rows: 16 sequences in lanes,
 * weights broadcast.
 *
 *   grid    (E/32, B/16) where ONE, else (1, B/16); work-groups of one work-item
 *   operands, steps, order as gru_cell/plain: the same bytes
 *   adds    over gru_cell/plain: the state of 16 sequences lies in private memory, elements
 *           outermost (POSSIBLE elements). A work-item forms 4 elements of all three gates at once,
 *           so that a row of w is read along k, once for 16 sequences
 *   needs   float16 in registers (a CPU)
 *   build   as gru_cell/plain; STATE_SIZE: E
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us  GFLOP/s   ratio        us  GFLOP/s   ratio
 *           B=8 T=1 E=512 f32
 *           plain           2828      4.5    1.00     719.3     17.5    1.00
 *           rows            93.8    134.1   30.13      94.9    132.5    7.58
 *
 *           B=8 T=32 E=512 f32
 *           plain         184463      2.2    1.00    196908      2.0    1.00
 *           rows            5474     73.6   33.70      5017     80.3   39.25 */
#include "elementwise/math16.clh"
#include "gru_cell/sequences.clh"

ENTRY_OF_ONE KERNEL(PLACE
#include "gru_cell/names.clh"
)
{
    const int b0 = ITEM(1) * 16, sequences = SIZE(B), steps = SIZE(T);
#if ONE
    const int first = ITEM(0) * 32, end = min(first + 32, E);
#else
    const int first = ITEM(0) * E, end = E;
#endif
    if (first >= E || b0 >= sequences)
        return;
    const int many = min(16, sequences - b0);
    int n[16], longest = 0;
    for (int i = 0; i < 16; i++) {
#include "gru_cell/lengths.clh"
    }
    float16 h[STATE_SIZE], next[ONE ? 32 : STATE_SIZE];
    for (int e = 0; e < E; e++)
        h[e] = 0.0f;
#if HAS_STATE
    for (int i = 0; i < many; i++)
        for (int e = 0; e < E; e++)
            ((float *)h)[e * 16 + i] = state[state0 + (b0 + i) * SIZE(hb) + e];
#endif
    for (int step = 0; step < longest; step++) {
        const int known = HAS_STATE || step > 0 ? E : 0; /* a first state of zeros adds nothing */
        for (int e0 = first; e0 < end; e0 += 4) {
            float16 sum[3][4];
            const int width = min(4, end - e0);
            TSR_GRU_SUMS(sum, e0, known)
            for (int j = 0; j < width; j++) {
                float x[3][16] __attribute__((aligned(64)));
                const int e = e0 + j;
                for (int i = 0; i < 16; i++) {
                    const int t = REVERSE ? n[i] - 1 - step : step, own = gates_x0 + (b0 + i) * SIZE(xb) + t * SIZE(xt) + e;
                    for (int g = 0; g < 3; g++)
                        x[g][i] = step < n[i] ? gates_x[own + g * E] : 0.0f;
                }
                const float16 r = ACTIVATE(6, float16, (*(float16 *)x[0] + sum[0][j]));
                const float16 z = ACTIVATE(6, float16, (*(float16 *)x[1] + sum[1][j]));
                const float16 fresh = ACTIVATE(5, float16, fma(r, sum[2][j], *(float16 *)x[2]));
                const float16 result = fma(z, h[e] - fresh, fresh);
                next[e - first] = result;
                for (int i = 0; i < many; i++) {
                    const int t = REVERSE ? n[i] - 1 - step : step;
                    if (step < n[i])
                        y[y0 + (b0 + i) * SIZE(yb) + t * SIZE(yt) + e] = ((float *)next)[(e - first) * 16 + i];
                }
            }
        }
#if !ONE
        for (int e = 0; e < E; e++)
            h[e] = next[e];
#endif
    }
    for (int i = 0; i < many; i++)
        for (int t = n[i]; t < steps; t++)
            for (int e = first; e < end; e++)
                y[y0 + (b0 + i) * SIZE(yb) + t * SIZE(yt) + e] = 0.0f;
}
