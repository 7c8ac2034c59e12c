/* sumsq/group.cl - sumsq/plain by a work-group for each run.
 *
 *   grid    (GROUP, parts) in work-groups of GROUP x 1
 *   x       contiguous
 *   adds    over sumsq/plain: GROUP / 16 segments of 1024 elements (BLOCK) at a time. Sixteen
 *           work-items share a segment, and each of them forms one of its sixteen partial sums, so
 *           neighbouring work-items read neighbouring elements
 *   order   as sumsq/plain: the same bytes, whatever GROUP is
 *   needs   a work-group of GROUP, 4 * (GROUP + GROUP / 16) bytes of local memory
 *   tune    GROUP 16..256, a multiple of 16
 *   claims  waves 7
 *   paid    made for GPUs, where it was not measured. A tensor has at most 64 runs, so for 45
 *           million elements a work-item of plain reads 704 thousand one after the other, 2.8 MB
 *           from those of its neighbour */
#define BLOCK 1024

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
KERNEL(__global float *sums, int sums0, __global const float *x, int x0, __global const int *dims, int N, int N_set,
       int first, int parts)
{
    __local float share[GROUP], whole[GROUP / 16];
    const int lane = (int)get_local_id(0), segment = lane / 16, j = (int)get_global_id(1);
#include "sumsq/run.clh"
    float total = 0.0f;
    x += x0 + begin;
    for (int at = 0; at < end - begin; at += GROUP / 16 * BLOCK) {
        const int left = end - begin - at, own = segment * BLOCK + REST(lane, 16);
        float part = 0.0f;
#pragma unroll 8
        for (int i = 0; i < BLOCK; i += 16) {
            const float v = own + i < left ? x[at + own + i] : 0.0f;
            part = fma(v, v, part); /* adding 0 changes no sum of squares */
        }
        share[lane] = part;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < GROUP / 16)
            whole[lane] = SUM16(share + lane * 16);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int s = 0; lane == 0 && s < GROUP / 16 && s * BLOCK < left; s++)
            total = ORDERED_ADD(whole[s], total);
    }
    if (lane == 0)
        sums[sums0 + first + j] = total;
}

#undef BLOCK
