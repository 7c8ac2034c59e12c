/* gru_cell_grad/gates.cl - the stage before gru_cell_grad/rows: the factors of the gradients of
 * each step, for all steps at once.
 *
 *     n' = (1 - z) (1 - n^2)    z' = (h - n) z (1 - z)    r' = (w_n h + b_n) r (1 - r)
 *
 *   grid    (E/32, B*T/16), work-groups of one work-item: 16 steps in lanes, of any sequences
 *   gives   scratch[((b*T + t)*5 + c)*E + e]: n', z', r', r, z; and `before`; zeros for steps from
 *           len[b] on
 *   operands, steps as gru_cell_grad/plain; order as gru_cell/rows
 *   needs   float16 in registers (a CPU)
 *   build   as gru_cell_grad/plain; STATE_SIZE: E
 *   paid    its time is part of the figures of gru_cell_grad/rows, the variant that it precedes; it
 *           was not timed alone */
#include "elementwise/math16.clh"
#include "gru_cell/sequences.clh"

ENTRY_OF_ONE KERNEL(PLACE
#include "gru_cell_grad/names.clh"
    , __global float *scratch)
{
    const int steps = SIZE(T), all = SIZE(B) * steps, first = ITEM(0) * 32, row0 = ITEM(1) * 16;
    if (first >= E || row0 >= all)
        return;
    const int many = min(16, all - row0), end = min(first + 32, E);
    float16 h[STATE_SIZE];
    int x_at[16];
    for (int e = 0; e < E; e++)
        h[e] = 0.0f;
    for (int i = 0; i < 16; i++) {
        const int row = row0 + min(i, many - 1), b = row / steps, t = row - b * steps;
        int n = steps;
#if HAS_LEN
        n = min(n, len[len0 + b]);
#endif
        x_at[i] = i < many && t < n ? gates_x0 + b * SIZE(xb) + t * SIZE(xt) : -1;
        if (x_at[i] < 0)
            continue;
        const int from = REVERSE ? t + 1 : t - 1;
        if (REVERSE ? t + 1 < n : t > 0)
            for (int e = 0; e < E; e++)
                ((float *)h)[e * 16 + i] = y[y0 + b * SIZE(yb) + from * SIZE(yt) + e];
#if HAS_STATE
        else
            for (int e = 0; e < E; e++)
                ((float *)h)[e * 16 + i] = state[state0 + b * SIZE(hb) + e];
#endif
    }
    for (int e0 = first; e0 < end; e0 += 4) {
        float16 sum[3][4];
        const int width = min(4, end - e0);
        TSR_GRU_SUMS(sum, e0, E)
        for (int j = 0; j < width; j++) {
            float x[3][16] __attribute__((aligned(64)));
            float16 made[5];
            const int e = e0 + j;
            for (int i = 0; i < 16; i++)
                for (int g = 0; g < 3; g++)
                    x[g][i] = x_at[i] >= 0 ? gates_x[x_at[i] + g * E + e] : 0.0f;
            const float16 r = ACTIVATE(6, float16, (*(float16 *)x[0] + sum[0][j]));
            const float16 z = ACTIVATE(6, float16, (*(float16 *)x[1] + sum[1][j]));
            const float16 fresh = ACTIVATE(5, float16, fma(r, sum[2][j], *(float16 *)x[2]));
            made[0] = (1.0f - z) * fma(-fresh, fresh, (float16)(1.0f));
            made[1] = (h[e] - fresh) * z * (1.0f - z);
            made[2] = sum[2][j] * r * (1.0f - r);
            made[3] = r;
            made[4] = z;
            for (int i = 0; i < many; i++) {
                for (int c = 0; c < 5; c++)
                    scratch[(((row0 + i) * 5) + c) * E + e] = x_at[i] >= 0 ? ((float *)made)[c * 16 + i] : 0.0f;
                before[before0 + (row0 + i) * E + e] = ((float *)h)[e * 16 + i];
            }
        }
    }
}
