/* scatter/plain.cl - dx[r,:] = sum over i with index[i] = r of dy[i,:], ascending i.
 *
 *   grid    (R), one work-item per row, which searches the index for its own number
 *   dx      dx[r,c] at dx0 + r*dx_row + c; dy likewise; index contiguous: a number outside dx adds
 *           nothing
 *   needs   nothing beyond OpenCL C 1.1
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           R=100 N=17 C=257
 *           plain           1.67     71.9    1.00      21.2      5.7    1.00
 *           lanes           2.04     58.9    0.82      5.79     20.8    3.67 */

ENTRY KERNEL(PLACE
#include "scatter/names.clh"
)
{
    const int r = ITEM(0), columns = SIZE(C), n = SIZE(N);
    if (r >= SIZE(R))
        return;
    index += index0;
    dx += dx0 + r * dx_row;
    for (int c = 0; c < columns; c++)
        dx[c] = 0.0f;
    for (int i = 0; i < n; i++)
        if (index[i] == r)
            for (int c = 0; c < columns; c++)
                dx[c] = ORDERED_ADD(dy[dy0 + i * dy_row + c], dx[c]);
}
