/* gru_cell_grad/rows.cl - gru_cell_grad/plain for CPUs: 8 sequences for a work-item, rows of
 * weights read once for all of them.
 *
 *   grid    (1, B/8), work-groups of one work-item
 *   operands, steps as gru_cell_grad/plain
 *   reads   scratch[((b*T + t)*5 + c)*E + e], from gru_cell_grad/gates
 *   adds    over gru_cell_grad/plain: what is carried from step to step lies in private memory, 16
 *           elements to a vector; w^T dgates_h adds one row of w after the other, for 8 sequences
 *           and 32 elements in registers
 *   order   as gru_cell_grad/plain
 *   needs   float16 in registers (a CPU); E a multiple of 16
 *   build   as gru_cell_grad/plain; STATE_SIZE: E
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain. The figures include the stage before
 *           it.
 *
 *                                            pocl                      Intel
 *           variant           us  GFLOP/s   ratio        us  GFLOP/s   ratio
 *           B=8 T=32 E=512 f32
 *           plain         205974      3.9    1.00    271727      3.0    1.00
 *           rows            6317    127.5   32.60      5953    135.3   45.64 */
#define SEQUENCES 8
typedef float16 __attribute__((aligned(4))) LOCAL_NAME(loose);
#define LOOSE(p) (*(__global LOCAL_NAME(loose) *)(p))

ENTRY_OF_ONE KERNEL(PLACE
#include "gru_cell_grad/names.clh"
    , __global float *scratch)
{
    const int b0 = ITEM(1) * SEQUENCES, steps = SIZE(T), sequences = SIZE(B);
    if (ITEM(0) > 0 || b0 >= sequences)
        return;
    const int many = min(SEQUENCES, sequences - b0);
    float16 carried[SEQUENCES][STATE_SIZE / 16];
    float gradient[3 * STATE_SIZE][SEQUENCES];
    int n[SEQUENCES], longest = 0;
    for (int i = 0; i < SEQUENCES; i++) {
#include "gru_cell/lengths.clh"
        for (int e = 0; e < E / 16; e++)
            carried[i][e] = 0.0f;
    }
    for (int step = longest - 1; step >= 0; step--) {
        for (int i = 0; i < SEQUENCES; i++) {
            if (step >= n[i]) {
                for (int g = 0; g < 3 * E; g++)
                    gradient[g][i] = 0.0f;
                continue;
            }
            const int t = REVERSE ? n[i] - 1 - step : step, row = (b0 + i) * steps + t;
            __global const float *made = scratch + row * 5 * E;
            __global const float *incoming = dy + dy0 + (b0 + i) * SIZE(db) + t * SIZE(dt);
            __global float *dx = dgates_x + dgates_x0 + row * 3 * E, *dg = dgates_h + dgates_h0 + row * 3 * E;
            for (int e = 0; e < E; e += 16) {
                const float16 dh = carried[i][e / 16] + LOOSE(incoming + e), dn = dh * LOOSE(made + e);
                const float16 gates3[3] = {dn * LOOSE(made + 2 * E + e), dh * LOOSE(made + E + e), dn * LOOSE(made + 3 * E + e)};
                LOOSE(dx + e) = gates3[0];
                LOOSE(dx + E + e) = gates3[1];
                LOOSE(dx + 2 * E + e) = dn;
                for (int g = 0; g < 3; g++) {
                    LOOSE(dg + g * E + e) = gates3[g];
                    for (int l = 0; l < 16; l++)
                        gradient[g * E + e + l][i] = ((const float *)gates3)[g * 16 + l];
                }
                carried[i][e / 16] = dh * LOOSE(made + 4 * E + e);
            }
        }
        int e = 0;
#define ADD(vectors)                                                                                                     \
    {                                                                                                                    \
        float16 sum[SEQUENCES][vectors];                                                                                 \
        _Pragma("unroll") for (int i = 0; i < SEQUENCES; i++)                                                            \
            _Pragma("unroll") for (int v = 0; v < vectors; v++)                                                          \
                sum[i][v] = carried[i][e / 16 + v];                                                                      \
        _Pragma("unroll 1") for (int g = 0; g < 3 * E; g++) {                                                            \
            float16 right[vectors];                                                                                      \
            _Pragma("unroll") for (int v = 0; v < vectors; v++)                                                          \
                right[v] = LOAD16_ANY(W_DTYPE, w + w0 + g * E + e + v * 16);                                             \
            _Pragma("unroll") for (int i = 0; i < SEQUENCES; i++)                                                        \
                _Pragma("unroll") for (int v = 0; v < vectors; v++)                                                      \
                    sum[i][v] = fma(right[v], (float16)(gradient[g][i]), sum[i][v]);                                     \
        }                                                                                                                \
        _Pragma("unroll") for (int i = 0; i < SEQUENCES; i++)                                                            \
            _Pragma("unroll") for (int v = 0; v < vectors; v++)                                                          \
                carried[i][e / 16 + v] = sum[i][v];                                                                      \
    }
        for (; e + 32 <= E; e += 32)
            ADD(2)
        for (; e < E; e += 16)
            ADD(1)
#undef ADD
    }
    for (int i = 0; i < many; i++) {
        for (int r = ((b0 + i) * steps + n[i]) * 3 * E; r < (b0 + i + 1) * steps * 3 * E; r += 16)
            LOOSE(dgates_x + dgates_x0 + r) = LOOSE(dgates_h + dgates_h0 + r) = 0.0f;
#if HAS_DSTATE
        for (int e = 0; e < E; e += 16)
            LOOSE(dstate + dstate0 + (b0 + i) * E + e) = carried[i][e / 16];
#endif
    }
}

#undef SEQUENCES
#undef LOOSE
