/* weighted/bf16_rows.cl - the stage before linear/bf16 and glu_linear/bf16: rounds the rows of x
 * into scratch.
 *
 *   grid    (R/4), work-groups of one work-item: four rows each, because a work-group costs as much
 *           as a short row
 *   x[r,k]  at x0 + r*x_row + k; row r of scratch at r * BF16_ROW_BYTES(K), as weighted/bf16.clh says
 *   needs   as weighted/bf16.clh
 *   paid    its time is part of the figures of linear/bf16 and glu_linear/bf16, the variants that it
 *           precedes */
#include "weighted/bf16.clh"

#define STAGE_ROWS 4 /* of a work-item */

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global uchar *scratch, __global const int *dims, int R,
                    int R_set, int K, int x_row)
{
    const int end = min(SIZE(R), (ITEM(0) + 1) * STAGE_ROWS);
    for (int r = ITEM(0) * STAGE_ROWS; r < end; r++)
        tsr_bf16_row(x + x0 + r * x_row, K, (ulong)(scratch + (size_t)r * BF16_ROW_BYTES(K)));
}

#undef STAGE_ROWS
