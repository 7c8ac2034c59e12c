/* probe/bf16.cl - every function of weighted/bf16.clh on six rows, compared with plain loops; then
 * the time of vdpbf16ps beside that of fma in f32, because on some CPUs it has half the rate of
 * these. Run in a process of its own (helper/probe.c): out[0] becomes 0x600d if all agree and bf16
 * is faster, 0x510e if all agree and it is not.
 *
 *   grid    (1)
 *   paid    not a kernel of an op: it is run once, before a variant of weighted/bf16.clh is offered */
#include "weighted/bf16.clh"
#include "probe/ticks.clh"

#define PROBE_K 71 /* two blocks of 32, and an odd rest */

#define PROBE_BF16(n) "vdpbf16ps %%zmm1, %%zmm0, %%zmm" #n "\n\t"
PROBE_TICKS(probe_ticks_bf16, ZMM_24(PROBE_BF16))

/* Compares the sums of `rows` rows, by both forms, with plain loops. */
static int probe_rows(const ushort *panel, const uchar *x, int rows)
{
    float sum[2][6][64] __attribute__((aligned(64)));
    const ulong apart = BF16_ROW_BYTES(PROBE_K);
    int wrong = 0;
    for (int i = 0; i < 2 * 6 * 64; i++)
        ((float *)sum)[i] = 1.0f;
    tsr_bf16_add((ulong)panel, (ulong)sum[0], BF16_PAIRS(PROBE_K), (ulong)x, apart, rows);
    tsr_bf16_add_ahead((ulong)panel, (ulong)sum[1], BF16_PAIRS(PROBE_K), (ulong)x, apart, rows);
    for (int r = 0; r < 6; r++)
        for (int n = 0; n < 64; n++) {
            const float want = r < rows ? 1.0f + probe_sum((const ushort *)(x + r * apart), panel, PROBE_K, n) : 1.0f;
            wrong += sum[0][r][n] != want || sum[1][r][n] != want;
        }
    return wrong;
}

__kernel void KERNEL(__global int *out)
{
    ushort panel[BF16_PAIRS(PROBE_K) * 128] __attribute__((aligned(64)));
    uchar x[6 * BF16_ROW_BYTES(PROBE_K)] __attribute__((aligned(64)));
    __global float *row = (__global float *)(out + 16);
    uint seed = 1;
    int wrong = 0;
    for (int i = 0; i < BF16_PAIRS(PROBE_K) * 128; i++)
        panel[i] = i / 128 * 2 + i % 2 < PROBE_K ? tsr_bf16(probe_number(&seed)) : 0;
    for (int r = 0; r < 6; r++) {
        for (int k = 0; k < PROBE_K; k++)
            row[k] = probe_number(&seed) * (1.0f + 0x1p-8f * (float)(k % 3)); /* to be rounded, ties too */
        tsr_bf16_row(row, PROBE_K, (ulong)(x + r * BF16_ROW_BYTES(PROBE_K)));
        for (int k = 0; k < BF16_PAIRS(PROBE_K) * 2; k++)
            wrong += ((const ushort *)(x + r * BF16_ROW_BYTES(PROBE_K)))[k] != (k < PROBE_K ? tsr_bf16(row[k]) : 0);
        for (int k = 0; k < PROBE_K; k++)
            row[k] = probe_number(&seed);
        tsr_bf16_row(row, PROBE_K, (ulong)(x + r * BF16_ROW_BYTES(PROBE_K)));
    }
    for (int rows = 1; rows <= 6; rows++)
        wrong += probe_rows(panel, x, rows);
    ulong bf16 = ~0ul, f32 = ~0ul;
    for (int i = 0; i < 40; i++) {
        bf16 = min(bf16, probe_ticks_bf16(1000));
        f32 = min(f32, probe_ticks_f32(1000));
    }
    /* An instruction of bf16 has two products for each of f32: at least 1.25 times the rate. */
    out[0] = wrong ? wrong : 5 * bf16 < 8 * f32 ? 0x600d : 0x510e;
}
