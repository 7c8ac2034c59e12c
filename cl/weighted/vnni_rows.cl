/* weighted/vnni_rows.cl - the stage before linear/vnni and glu_linear/vnni: quantises the rows of x
 * into scratch.
 *
 *   grid    (R/4), work-groups of one work-item: four rows each, because a work-group costs as much
 *           as a short row
 *   x[r,k]  at x0 + r*x_row + k; row r of scratch at r * VNNI_ROW_BYTES(K), as weighted/vnni.clh says
 *   needs   as weighted/vnni.clh
 *   build   W_DTYPE
 *   paid    its time is part of the figures of linear/vnni and glu_linear/vnni, the variants that
 *           it precedes; it was not timed alone */
#include "weighted/vnni.clh"

#define VNNI_ROWS 4 /* of a work-item */

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global uchar *scratch, __global const int *dims, int R,
                    int R_set, int K, int x_row)
{
    const int end = min(SIZE(R), (ITEM(0) + 1) * VNNI_ROWS);
    for (int r = ITEM(0) * VNNI_ROWS; r < end; r++) {
        __global const float *from = x + x0 + r * x_row;
        __global uchar *to = scratch + (size_t)r * VNNI_ROW_BYTES(K);
        tsr_vnni_quantise(from, K / 32, (ulong)to, VNNI_OFFSET(W_DTYPE));
    }
}

#undef VNNI_ROWS
