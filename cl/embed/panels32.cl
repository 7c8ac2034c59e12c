/* embed/panels32.cl - embed/plain for a table that a linear op reads as panels32_blocks, on GPUs.
 *
 *   grid    (C, N), one work-item per element
 *   table   as panels32_blocks (weighted/panels32.clh), table0 0; ids, y as embed/plain
 *   needs   nothing beyond OpenCL C 1.1
 *   build   TABLE_DTYPE q8_0|q4_0
 *   paid    see embed/lanes */
#define W_DTYPE TABLE_DTYPE
#include "weighted/panels32.clh"

__kernel void KERNEL(__global const ELEMENT(TABLE_DTYPE) *table, int table0, __global const int *ids, int ids0,
                     __global float *y, int y0, __global const int *dims, int N, int N_set, int V, int C, int y_row,
                     float scale, int first, int whole)
{
    const int c = (int)get_global_id(0), n = (int)get_global_id(1), depth = C;
    __global const ELEMENT(TABLE_DTYPE) *w = table + table0;
    if (c >= C || n >= SIZE(N))
        return;
    const int id = min(max(ids[ids0 + n], 0), whole - 1) - first;
    if (id < 0 || id >= V)
        return;
    __global const uchar *plane = PANEL(id, c / 32) + (REST(c / 16, PLANES) * 32 + (id & 31)) * 16;
#if PLANES == 2
    const int number = (char)plane[REST(c, 16)];
#else
    const int number = (plane[REST(c, 16)] >> REST(c / 16, 2) * 4 & 15) - 8;
#endif
    y[y0 + n * y_row + c] = scale * ((float)number * SCALE_OF(id, c / 32));
}

#include "weighted/panels32_end.clh"
#undef W_DTYPE
