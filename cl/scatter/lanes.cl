/* scatter/lanes.cl - scatter/plain for CPUs: sixteen numbers are compared at once.
 *
 *   grid    (R), work-groups of one work-item
 *   operands as scatter/plain
 *   needs   float16 in registers (a CPU) */
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
