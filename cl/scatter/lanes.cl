/* scatter/lanes.cl - scatter/plain for CPUs: sixteen numbers are compared at once.
 *
 *   grid    (R), work-groups of one work-item
 *   operands as scatter/plain
 *   needs   float16 in registers (a CPU)
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           R=100 N=17 C=257
 *           plain           1.67     71.9    1.00      21.2      5.7    1.00
 *           lanes           2.04     58.9    0.82      5.79     20.8    3.67 */
#include "embed_add/find.clh"

ENTRY_OF_ONE KERNEL(PLACE
#include "scatter/names.clh"
)
{
    const int r = ITEM(0), columns = SIZE(C), n = SIZE(N);
    if (r >= SIZE(R))
        return;
    index += index0;
    dy += dy0;
    dx += dx0 + r * dx_row;
    const int whole = columns / 16 * 16;
    for (int c = 0; c < whole; c += 16)
        SIXTEEN(dx + c) = 0.0f;
    for (int c = whole; c < columns; c++)
        dx[c] = 0.0f;
    for (int i = LOCAL_NAME(find)(index, 0, n, r); i < n; i = LOCAL_NAME(find)(index, i + 1, n, r)) {
        __global const float *row = dy + i * dy_row;
        for (int c = 0; c < whole; c += 16)
            SIXTEEN(dx + c) = ORDERED_ADD(SIXTEEN_OF(row + c), SIXTEEN(dx + c));
        for (int c = whole; c < columns; c++)
            dx[c] = ORDERED_ADD(row[c], dx[c]);
    }
}

#undef SIXTEEN_OF
#undef SIXTEEN
