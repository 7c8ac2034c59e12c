/* probe/amx.cl - the sums of weighted/amx.clh for every number of rows, compared with plain loops;
 * then the time of tdpbf16ps beside that of fma in f32. Run in a process of its own (helper/probe.c):
 * out[0] becomes 0x600d if all agree and tiles are faster, 0x510e if all agree and they are not.
 *
 *   grid    (1)
 *   paid    not a kernel of an op: it is run once, before a variant of weighted/amx.clh is offered */
#include "weighted/amx.clh"
#include "probe/ticks.clh"

#define PROBE_K 71 /* two steps of 32, and an odd rest */

#define PROBE_TILES \
    "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\ttdpbf16ps %%tmm7, %%tmm4, %%tmm1\n\t" \
    "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\ttdpbf16ps %%tmm7, %%tmm5, %%tmm3\n\t"
PROBE_TICKS(probe_ticks_tiles, PROBE_TILES)

__kernel void KERNEL(__global int *out)
{
    const ulong apart = BF16_ROW_BYTES(PROBE_K);
    ushort panel[BF16_PAIRS(PROBE_K) * 128] __attribute__((aligned(64)));
    uchar x[AMX_ROWS * BF16_ROW_BYTES(PROBE_K)] __attribute__((aligned(64)));
    float sum[AMX_ROWS][64] __attribute__((aligned(64)));
    __global float *row = (__global float *)(out + 16);
    uint seed = 1;
    int wrong = 0;
    for (int i = 0; i < BF16_PAIRS(PROBE_K) * 128; i++)
        panel[i] = i / 128 * 2 + i % 2 < PROBE_K ? tsr_bf16(probe_number(&seed)) : 0;
    for (int r = 0; r < AMX_ROWS; r++) {
        for (int k = 0; k < PROBE_K; k++)
            row[k] = probe_number(&seed);
        tsr_bf16_row(row, PROBE_K, (ulong)(x + r * apart));
    }
    for (int rows = 1; rows <= AMX_ROWS; rows++) {
        for (int i = 0; i < AMX_ROWS * 64; i++)
            ((float *)sum)[i] = 0.5f;
        tsr_amx_begin(rows);
        tsr_amx_sum((ulong)panel, (ulong)sum, BF16_PAIRS(PROBE_K) / 16, (ulong)x, apart, rows);
        tsr_amx_end();
        for (int r = 0; r < AMX_ROWS; r++)
            for (int n = 0; n < 64; n++)
                wrong += sum[r][n] != (r < rows ? probe_sum((const ushort *)(x + r * apart), panel, PROBE_K, n) : 0.5f);
    }
    ulong tiles = ~0ul, f32 = ~0ul;
    tsr_amx_begin(AMX_ROWS);
    for (int i = 0; i < 40; i++) {
        tiles = min(tiles, probe_ticks_tiles(100));
        f32 = min(f32, probe_ticks_f32(100));
    }
    tsr_amx_end();
    /* 4 instructions of 8192 products, and 24 of 16: tiles have at least twice the rate. */
    out[0] = wrong ? wrong : tiles * 2 * 24 * 16 < f32 * 4 * 8192 ? 0x600d : 0x510e;
}
