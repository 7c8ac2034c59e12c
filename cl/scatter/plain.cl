/* scatter/plain.cl - dx[r,:] = sum over i with index[i] = r of dy[i,:], ascending i.
 *
 *   grid    (R), one work-item per row, which searches the index for its own number
 *   dx      dx[r,c] at dx0 + r*dx_row + c; dy likewise; index contiguous: a number outside dx adds
 *           nothing
 *   needs   nothing beyond OpenCL C 1.1 */

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
