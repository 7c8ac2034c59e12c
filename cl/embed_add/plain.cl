/* embed_add/plain.cl - state[v,:] += scale * sum over n with ids[n] = v of dy[n,:], after
 * embed_add/beta.
 *
 *   grid    (N), one work-item per token: the first token of an id adds all rows of that id, the
 *           others add nothing, so no atomics are needed
 *   state   element (v,c) at state0 + v*C + c; dy[n,c] at dy0 + n*dy_row + c
 *   ids     contiguous; an id outside the table, or `skip`, adds nothing
 *   order   one row after the other, ascending n, onto what the state holds
 *   needs   nothing beyond OpenCL C 1.1
 *   paid    see embed_add/lanes */

ENTRY KERNEL(PLACE __global float *state, int state0, __global const int *ids, int ids0, __global const float *dy,
             int dy0, __global const int *dims, int N, int N_set, int V, int C, int dy_row, float scale, int skip)
{
    const int n = ITEM(0), tokens = SIZE(N);
    if (n >= tokens)
        return;
    ids += ids0;
    const int id = ids[n];
    if (id < 0 || id >= V || id == skip)
        return;
    for (int i = 0; i < n; i++)
        if (ids[i] == id)
            return;
    state += state0 + id * C;
    for (int i = n; i < tokens; i++)
        if (ids[i] == id)
            for (int c = 0; c < C; c++)
                state[c] = fma(scale, dy[dy0 + i * dy_row + c], state[c]);
}
