/* cached_bf16/rows.cl - the stage before cached_bf16/matmul and cached_bf16/linear: rounds the rows of
 * the left operand to bf16 in scratch.
 *
 *   grid    (M/32), work-groups of one work-item: 32 rows each
 *   a[m,k]  at a0 + m*am + k*ak. Row m of scratch has (K + 1) / 2 pairs of 4 bytes; an odd K is
 *           followed by a zero
 *   needs   as weighted/bf16.clh
 *   paid    its time is part of the figures of cached_bf16/matmul */
#include "cached_bf16/pairs.clh"

#define ROWS 32 /* of a work-item, a multiple of 16 */

ENTRY_OF_ONE KERNEL(PLACE __global const float *a, int a0, __global uchar *scratch, __global const int *dims, int M,
                    int M_set, int K, int K_set, int am, int am_set, int ak, int ak_set)
{
    const int depth = SIZE(K), down = SIZE(am), right = SIZE(ak), first = ITEM(0) * ROWS, end = min(SIZE(M), first + ROWS);
    const size_t pitch = (size_t)((depth + 1) / 2) * 4;
    const bool along = right == 1, across = down == 1;
    const int whole = along || across ? depth / 32 * 32 : 0;
    a += a0;
    for (int m = first; m < end; m += 16) {
        const int rows = min(16, end - m), done = across && rows < 16 ? 0 : whole;
        for (int r = m; r < m + rows && along && done; r++)
            tsr_bf16_along((ulong)(a + r * down), 128, (ulong)(done / 32), (ulong)(scratch + r * pitch));
        for (int k = 0; k < done && !along; k += 32) {
            uint16 square[16];
            tsr_bf16_across((ulong)(a + m + k * right), (ulong)right * 4, 16, (ulong)square);
            tsr_bf16_turn(square, (ulong)(scratch + m * pitch + k * 2), pitch);
        }
        for (int r = m; r < m + rows; r++) {
            __global ushort *row = (__global ushort *)(scratch + r * pitch);
            for (int k = done; k < (depth + 1) / 2 * 2; k++)
                row[k] = k < depth ? tsr_bf16(a[r * down + k * right]) : 0;
        }
    }
}

#undef ROWS
