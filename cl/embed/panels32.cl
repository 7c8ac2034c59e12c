/* embed/panels32.cl - embed/plain for a table that a linear op reads as panels32_blocks, on GPUs.
 *
 *   grid    (C, N), one work-item per element
 *   table   as panels32_blocks (weighted/panels32.clh), table0 0; ids, y as embed/plain
 *   needs   nothing beyond OpenCL C 1.1
 *   build   TABLE_DTYPE of blocks
 *   paid    see embed/lanes */
#define W_DTYPE TABLE_DTYPE
#define HIDDEN 0u
#include "matmul/pieces_wide.clh"
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
    const int block = c / 32, i = REST(c, 32);
    const uint4 head = HEAD(id, block);
    const float number = (float)NUMBER(id, block, i);
#if MINIMA
    y[y0 + n * y_row + c] = scale * fma(number, FACTOR(head, block, i / (32 / SUMS)), -LEAST(head, block, i / (32 / SUMS)));
#else
    y[y0 + n * y_row + c] = scale * (number * FACTOR(head, block, i / (32 / SUMS)));
#endif
}

#include "weighted/panels32_end.clh"
#undef W_DTYPE
