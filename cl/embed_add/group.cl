/* embed_add/group.cl - embed_add/plain by a work-group for each token, whose work-items share its
 * columns.
 *
 *   grid    (GROUP, N) in work-groups of GROUP x 1; work-item i has columns i, i + GROUP, ..
 *   operands, order as embed_add/plain
 *   needs   a work-group of GROUP, 4 * GROUP bytes of local memory
 *   tune    GROUP 16..256
 *   claims  waves 7
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain. Meant for GPUs, where it was not
 *           measured.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=2 T=256 V=32000 C=768 scale 1
 *           plain           59.8     78.9    1.00     166.3     28.4    1.00
 *           group           1550      3.0    0.04     326.3     14.5    0.51 */

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
KERNEL(__global float *state, int state0, __global const int *ids, int ids0, __global const float *dy, int dy0,
       __global const int *dims, int N, int N_set, int V, int C, int dy_row, float scale, int skip)
{
    __local int share[GROUP];
    const int lane = (int)get_local_id(0), n = (int)get_global_id(1), tokens = SIZE(N);
    ids += ids0;
    const int id = ids[n];
    int earlier = id < 0 || id >= V || id == skip;
    for (int i = lane; i < n; i += GROUP)
        earlier |= ids[i] == id;
    share[lane] = earlier;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < GROUP; i++)
        earlier |= share[i];
    if (earlier)
        return;
    state += state0 + id * C;
    for (int i = n; i < tokens; i++)
        if (ids[i] == id)
            for (int c = lane; c < C; c += GROUP)
                state[c] = fma(scale, dy[dy0 + i * dy_row + c], state[c]);
}
