/* rope/plain.cl - rotates pairs of the first `rotary` elements of each head by positions[b,t] *
 * inv_freq[p].
 *
 *   grid    (rotary/2 + D - rotary, H, B*T), one work-item each: a pair, or an element from
 *           `rotary` on, which is copied
 *   x       x[b,t,h,d] at x0 + b*xb + t*xt + h*xh + d; y likewise; positions[b,t] at positions0 +
 *           b*pb + t*pt
 *   pairs   (p, p + rotary/2), or (2p, 2p+1) where INTERLEAVED; both are scaled by `magnitude`
 *   alias   y may be x
 *   needs   nothing beyond OpenCL C 1.1; sin and cos of large angles
 *   build   INTERLEAVED; INVERSE: by minus the angle
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain. It has no other
 *           variant.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=1 T=1 H=32 D=64 rotary=64 a token
 *           plain           32.8      0.5    1.00      5.92      2.8    1.00
 *
 *           B=1 T=512 H=32 D=64 rotary=64 a prompt
 *           plain          10786      0.8    1.00      1059      7.9    1.00
 *
 *           B=1 T=512 H=32 D=64 rotary=64 interleaved a prompt
 *           plain          16879      0.5    1.00      1102      7.6    1.00
 *   source  Su et al. 2021, arXiv:2104.09864 */

ENTRY KERNEL(PLACE __global const float *x, int x0, __global const int *positions, int positions0,
             __global const float *inv_freq, int inv_freq0, __global float *y, int y0, __global const int *dims, int B,
             int B_set, int T, int T_set, int H, int D, int rotary, int xb, int xb_set, int xt, int xt_set, int xh,
             int xh_set, int yb, int yb_set, int yt, int yt_set, int yh, int yh_set, int pb, int pb_set, int pt,
             int pt_set, float magnitude)
{
    const int i = ITEM(0), h = ITEM(1), bt = ITEM(2);
    const int half_size = rotary / 2, queries = SIZE(T);
    if (i >= D - half_size || h >= H || bt >= SIZE(B) * queries)
        return;
    const int b = bt / queries, t = bt - b * queries;
    x += x0 + b * SIZE(xb) + t * SIZE(xt) + h * SIZE(xh);
    y += y0 + b * SIZE(yb) + t * SIZE(yt) + h * SIZE(yh);
    if (i >= half_size) {
        y[i + half_size] = x[i + half_size];
        return;
    }
#if INTERLEAVED
    const int left = 2 * i, right = 2 * i + 1;
#else
    const int left = i, right = i + half_size;
#endif
    const float angle = (float)positions[positions0 + b * SIZE(pb) + t * SIZE(pt)] * inv_freq[inv_freq0 + i];
    const float c = cos(angle) * magnitude, s = sin(angle) * (INVERSE ? -magnitude : magnitude);
    const float u = x[left], v = x[right];
    y[left] = u * c - v * s;
    y[right] = v * c + u * s;
}
