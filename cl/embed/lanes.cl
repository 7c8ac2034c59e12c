/* embed/lanes.cl - embed/plain for CPUs: a row of the table at a time.
 *
 *   grid    (N), work-groups of one work-item
 *   operands as embed/plain, the table in plain rows
 *   needs   a CPU whose compiler vectorises the loop
 *   build   TABLE_DTYPE
 *   paid    1700 rows of 384, pocl 3.1, 2 Zen 4 cores, us: f32 496, plain 1067; q8_0 737, plain
 *           1940 */
ENTRY_OF_ONE KERNEL(PLACE __global const ELEMENT(TABLE_DTYPE) *table, int table0, __global const int *ids, int ids0,
                    __global float *y, int y0, __global const int *dims, int N, int N_set, int V, int C, int y_row,
                    float scale, int first, int whole)
{
    const int n = ITEM(0);
    if (n >= SIZE(N))
        return;
    const int id = min(max(ids[ids0 + n], 0), whole - 1) - first, from = table0 + id * C;
    if (id < 0 || id >= V)
        return;
    y += y0 + n * y_row;
#if BLOCK_NUMBERS(TABLE_DTYPE) == 32
    for (int c = 0; c < C; c += 32) {
        const float step = BLOCK_SCALE(TABLE_DTYPE, table, from + c);
#if BLOCK_MINIMA(TABLE_DTYPE)
        const float least = BLOCK_MINIMUM(TABLE_DTYPE, table, from + c);
#endif
        for (int i = 0; i < 32; i++)
#if BLOCK_MINIMA(TABLE_DTYPE)
            y[c + i] = scale * fma((float)WHOLE(TABLE_DTYPE, table, from + c + i), step, -least);
#else
            y[c + i] = scale * ((float)WHOLE(TABLE_DTYPE, table, from + c + i) * step);
#endif
    }
#else
    for (int c = 0; c < C; c++)
        y[c] = scale * LOAD(TABLE_DTYPE, table, from + c);
#endif
}
