/* embed/blocks.cl - y[n,:] = scale * table[ids[n],:], from a table of blocks in panels
 * of 64 rows.
 *
 *   grid    (C/32, N), one work-item per block
 *   table   in panels, as weighted/vnni.clh says; wide blocks as weighted/wide.clh says: there a
 *           block of 64 rows is made wide for one of them, which the few rows of a run bear
 *   y[n,c]  at y0 + n*y_row + c
 *   ids     contiguous; an id below the whole table reads its first row, one past it the last; rows
 *           of y whose ids are not among the V from `first` on are left as they are
 *   needs   nothing beyond OpenCL C 1.1
 *   build   TABLE_DTYPE; WIDE
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=2 T=128 V=32000 C=768 q8_0 scale 1
 *           plain          343.9      4.6    1.00     211.5      7.4    1.00
 *           blocks         109.4     14.4    3.14      77.9     20.2    2.72
 *
 *           B=2 T=128 V=32000 C=768 q4_0 scale 1
 *           plain          355.4      4.4    1.00     433.7      3.6    1.00
 *           blocks         124.8     12.6    2.85     185.8      8.5    2.33 */
#if WIDE
#include "weighted/wide.clh"
#else
#include "weighted/panels64.clh"
#define GROUPS SMALL_GROUPS(TABLE_DTYPE)
#endif

ENTRY KERNEL(PLACE __global const uchar *table, int table0, __global const int *ids, int ids0, __global float *y,
             int y0, __global const int *dims, int N, int N_set, int V, int C, int y_row, float scale,
             int first, int whole)
{
    const int block = ITEM(0), n = ITEM(1);
    if (block >= C / 32 || n >= SIZE(N))
        return;
    const int id = min(max(ids[ids0 + n], 0), whole - 1) - first, lane = id & 63;
    if (id < 0 || id >= V)
        return;
#if WIDE
    uchar wide[WIDE_BLOCK(TABLE_DTYPE)] __attribute__((aligned(64)));
    WIDEN(TABLE_DTYPE, table + (id >> 6) * WIDE_PANEL(TABLE_DTYPE, C) + block / PARTS_OF_BLOCK(TABLE_DTYPE) * WIDE_PANEL_BLOCK(TABLE_DTYPE),
          block % PARTS_OF_BLOCK(TABLE_DTYPE), wide);
    for (int c = 0; c < 32; c++) {
        const int of = c / BLOCK_PART(TABLE_DTYPE), k = c - of * BLOCK_PART(TABLE_DTYPE);
        const uchar *part = wide + of * WIDE_PART(TABLE_DTYPE);
        const float *scales = (const float *)(part + BLOCK_PART(TABLE_DTYPE) * 64);
        const int byte = part[(k / 4 * 64 + lane) * 4 + k % 4];
#if BLOCK_MINIMA(TABLE_DTYPE)
        y[y0 + n * y_row + block * 32 + c] = scale * fma((float)byte, scales[lane], -scales[64 + lane]);
#else
        y[y0 + n * y_row + block * 32 + c] = scale * ((float)(byte - BLOCK_ZERO(TABLE_DTYPE)) * scales[lane]);
#endif
    }
#else
    __global const uchar *panel = table + ((id >> 6) * (C / 32) + block) * SMALL_BLOCK(TABLE_DTYPE);
    const float d = SMALL_SCALE(TABLE_DTYPE, panel + GROUPS * 256, lane);
    for (int c = 0; c < 32; c++) {
        const int byte = panel[(c / 4 % GROUPS * 64 + lane) * 4 + c % 4];
        const int whole = SMALL_WHOLE(TABLE_DTYPE, byte >> c / 4 / GROUPS * 4);
        y[y0 + n * y_row + block * 32 + c] = scale * ((float)whole * d);
    }
#endif
}

#undef GROUPS
