/* distance_scores/plain.cl - y[b,h,t,s] = by_query[b,h,t,p] + by_key[b,h,s,p] with p = place[clamp(s - t, -R, R) + R].
 *
 *   grid        (S, T, B * H), one work-item per element
 *   by_query    [b,h,t,p] at by_query0 + b*qb + h*qh + t*qt + p; by_key [b,h,s,p] likewise, y packed; place
 *               contiguous: a number below 0 reads the first place, one past the end the last
 *   needs       nothing beyond OpenCL C 1.1
 *   source      He et al. 2021, arXiv:2006.03654 */

ENTRY KERNEL(PLACE __global const float *by_query, int by_query0, __global const float *by_key, int by_key0,
             __global const int *place, int place0, __global float *y, int y0, __global const int *dims, int B,
             int B_set, int T, int T_set, int S, int S_set, int H, int P, int R, int qb, int qb_set, int qh,
             int qh_set, int qt, int qt_set, int kb, int kb_set, int kh, int kh_set, int ks, int ks_set)
{
    const int s = ITEM(0), t = ITEM(1), bh = ITEM(2), b = bh / H, h = REST(bh, H);
    if (s >= SIZE(S) || t >= SIZE(T) || b >= SIZE(B))
        return;
    const int d = min(max(s - t, -R), R), p = min(max(place[place0 + d + R], 0), P - 1);
    by_query += by_query0 + b * SIZE(qb) + h * SIZE(qh) + t * SIZE(qt);
    by_key += by_key0 + b * SIZE(kb) + h * SIZE(kh) + s * SIZE(ks);
    y[y0 + (bh * SIZE(T) + t) * SIZE(S) + s] = by_query[p] + by_key[p];
}
