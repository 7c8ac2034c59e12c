/* embed_add/lanes.cl - embed_add/plain for CPUs: sixteen ids are compared at once.
 *
 *   grid    (N), work-groups of one work-item
 *   operands, order as embed_add/plain
 *   needs   float16 in registers (a CPU)
 *   paid    pocl 3.1, 2 Zen 4 cores, us; the last line is the search, N^2/2 comparisons. Failed: 64
 *           columns in registers, the ids searched anew for each 64
 *
 *           tokens of ids, C         plain    lanes    64 columns in registers
 *           4096 of 65, 384          197      153      315
 *           2048 of 8000, 512        824      409      736
 *           16384 of 8000            28400    13600    34400 */
#include "embed_add/find.clh"

ENTRY_OF_ONE KERNEL(PLACE __global float *state, int state0, __global const int *ids, int ids0,
                    __global const float *dy, int dy0, __global const int *dims, int N, int N_set, int V, int C,
                    int dy_row, float scale, int skip)
{
    const int n = ITEM(0), tokens = SIZE(N);
    ids += ids0;
    if (n >= tokens || ids[n] < 0 || ids[n] >= V || ids[n] == skip || LOCAL_NAME(find)(ids, 0, n, ids[n]) < n)
        return;
    const int id = ids[n], whole = C / 16 * 16;
    state += state0 + id * C;
    for (int i = n; i < tokens; i = LOCAL_NAME(find)(ids, i + 1, tokens, id)) {
        __global const float *row = dy + dy0 + i * dy_row;
        for (int c = 0; c < whole; c += 16)
            SIXTEEN(state + c) = fma((float16)(scale), SIXTEEN_OF(row + c), SIXTEEN_OF(state + c));
        for (int c = whole; c < C; c++)
            state[c] = fma(scale, row[c], state[c]);
    }
}

#undef SIXTEEN_OF
#undef SIXTEEN
