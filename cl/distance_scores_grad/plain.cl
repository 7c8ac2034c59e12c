/* distance_scores_grad/plain.cl - sums of dy [B,H,T,S] over the keys of a query, and over the queries of a key,
 * that have the same place: p = place[clamp(s - t, -R, R) + R].
 *
 *   grid    (max(T, S), B * H), one work-item each: row i of both results, if they have it
 *   order   ascending keys, or queries. A run of equal places, as distances far away have, is one sum in a register
 *   dy      packed, as are both results and place: a number below 0 counts as the first place, one past the end as the last
 *   needs   nothing beyond OpenCL C 1.1 */

ENTRY KERNEL(PLACE __global const int *place, int place0, __global const float *dy, int dy0, __global float *dby_query,
             int dby_query0, __global float *dby_key, int dby_key0, __global const int *dims, int B, int B_set, int T,
             int T_set, int S, int S_set, int H, int P, int R)
{
    const int i = ITEM(0), bh = ITEM(1), queries = SIZE(T), keys = SIZE(S);
    if (bh >= SIZE(B) * H)
        return;
    for (int side = 0; side < 2; side++) {
        const int rows = side ? keys : queries, n = side ? queries : keys, step = side ? keys : 1;
        if (i >= rows)
            continue;
        __global float *to = side ? dby_key + dby_key0 : dby_query + dby_query0;
        __global const float *from = dy + dy0 + bh * queries * keys + i * (side ? 1 : keys);
        to += (bh * rows + i) * P;
        for (int p = 0; p < P; p++)
            to[p] = 0.0f;
        int last = 0;
        float sum = 0.0f;
        for (int j = 0; j < n; j++) {
            const int d = min(max(side ? i - j : j - i, -R), R), p = min(max(place[place0 + d + R], 0), P - 1);
            if (p != last) {
                to[last] = sum;
                last = p;
                sum = to[p];
            }
            sum = ORDERED_ADD(from[j * step], sum);
        }
        to[last] = sum;
    }
}
