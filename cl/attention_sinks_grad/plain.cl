/* attention_sinks_grad/plain.cl - what each query adds to the gradient of attention's sinks,
 * -e^(sink - lse) <dy, y>: its sink's share of the probabilities, times what all of them lose by it.
 *
 *   grid    (H, T, B), one work-item each: one query of one head
 *   y, dy   [B,T,H,VALUE], packed, as are sinks [H], lse [B,H,T] and the result [B,T,H]
 *   order   a sum by fma over ascending elements
 *   needs   nothing beyond OpenCL C 1.1 */
#include "attention/order.clh"

float LOCAL_NAME(exp2)(float x)
{
    TSR_EXP2_DOWN(float, int, x)
    return x;
}

ENTRY KERNEL(PLACE __global const float *sinks, int sinks0, __global const float *y, int y0, __global const float *lse, int lse0,
             __global const float *dy, int dy0,
#if HAS_PAST
             __global const int *past, int past0,
#endif
#if HAS_LEN
             __global const int *len, int len0,
#endif
             __global float *dsinks, int dsinks0, __global const int *dims, int B, int B_set, int T, int T_set, int H)
{
    const int h = ITEM(0), t = ITEM(1), b = ITEM(2), queries = SIZE(T);
    if (h >= H || t >= queries || b >= SIZE(B))
        return;
    const int row = (b * queries + t) * H + h;
    bool counts = true;
#if CAUSAL && HAS_LEN
#if HAS_PAST
    counts = past[past0 + b] + t < len[len0 + b];
#else
    counts = t < len[len0 + b];
#endif
#endif
    float own = 0.0f;
    for (int d = 0; counts && d < VALUE; d++)
        own = fma(dy[dy0 + row * VALUE + d], y[y0 + row * VALUE + d], own);
    dsinks[dsinks0 + row] =
        counts ? -LOCAL_NAME(exp2)((sinks[sinks0 + h] - lse[lse0 + (b * H + h) * queries + t]) * LOG2_E) * own : 0.0f;
}

#undef BLOCK
