/* embed/plain.cl - y[n,:] = scale * table[ids[n],:].
 *
 *   grid    (C, N), one work-item per element
 *   table   element (v,c) at table0 + v*C + c (of blocks: that element of them); or in
 *           panels of 64 rows, at (v/64 * C + c) * 64 + v%64; or in panels of pairs, where C is
 *           rounded up to a multiple of 32, at (v/64 * C + c - c%2) * 64 + v%64 * 2 + c%2
 *   y[n,c]  at y0 + n*y_row + c
 *   ids     contiguous; an id below the whole table reads its first row, one past it the last; rows
 *           of y whose ids are not among the V from `first` on are left as they are
 *   needs   nothing beyond OpenCL C 1.1
 *   build   TABLE_DTYPE; PANELS 0, 1 or, for pairs, 2
 *   paid    see embed/lanes */

ENTRY KERNEL(PLACE __global const ELEMENT(TABLE_DTYPE) *table, int table0, __global const int *ids, int ids0,
             __global float *y, int y0, __global const int *dims, int N, int N_set, int V, int C, int y_row,
             float scale, int first, int whole)
{
    const int c = ITEM(0), n = ITEM(1);
    if (c >= C || n >= SIZE(N))
        return;
    const int id = min(max(ids[ids0 + n], 0), whole - 1) - first;
    if (id < 0 || id >= V)
        return;
#if PANELS == 2
    const int from = ((id >> 6) * ((C + 31) / 32 * 32) + c - c % 2) * 64 + (id & 63) * 2 + c % 2;
#elif PANELS
    const int from = ((id >> 6) * C + c) * 64 + (id & 63);
#else
    const int from = id * C + c;
#endif
    y[y0 + n * y_row + c] = scale * LOAD(TABLE_DTYPE, table, table0 + from);
}
