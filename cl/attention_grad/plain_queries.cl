/* attention_grad/plain_queries.cl - the stage before attention_grad/plain: dq, and <dy, y> of each
 * query.
 *
 *   grid    (T, H, B), one work-item each: one query of one head
 *   gives   scratch[(b*H + h)*T + t] = <dy, y>; and dq
 *   operands, build as attention_grad/plain; order, visible: pair.clh
 *   needs   nothing beyond OpenCL C 1.1
 *   paid    its time is part of the figures of attention_grad/plain, the variant that it precedes;
 *           it was not timed alone */
#include "attention/order.clh"
#include "attention_grad/pair.clh"

ENTRY KERNEL(PLACE
#include "attention_grad/operands.clh"
    , __global float *scratch)
{
    const int t = ITEM(0), h = ITEM(1), b = ITEM(2);
    const int queries = AT(T), keys = AT(S), g = h / group, k_step = AT(ks), v_step = AT(vs);
    if (t >= queries || h >= H || b >= AT(B))
        return;
    int first, end;
    LOCAL_NAME(visible)(t, keys, BEFORE(b), LENGTH(b), &first, &end);
    q += q0 + b * AT(qb) + t * AT(qt) + h * AT(qh);
    k += k0 + b * AT(kj) + g * AT(kg);
    v += v0 + b * AT(vj) + g * AT(vg);
    dy += dy0 + b * SIZE(db) + t * SIZE(dt) + h * SIZE(dh);
    dq += dq0 + ((b * queries + t) * H + h) * HEAD;

    float sum[HEAD];
    for (int d = 0; d < HEAD; d++)
        sum[d] = 0.0f;
    float own = 0.0f;
    if (first < end)
        own = LOCAL_NAME(dot_values)(dy, y + y0 + b * AT(yb) + t * AT(yt) + h * AT(yh));
    scratch[(b * H + h) * queries + t] = own;
    const float all = lse[lse0 + (b * H + h) * queries + t];
    for (int s = first; s < end; s++) {
        __global const float *key = k + s * k_step;
        float slope;
        const float p = LOCAL_NAME(share)(q, key, scale, SOFT_CAP, BIAS_OF(b, h, t, s), RELATIVE_OF(h, s - BEFORE(b) - t), all, &slope);
        if (p == 0.0f)
            continue;
        const float ds = p * (LOCAL_NAME(dot_values)(dy, v + s * v_step) - own) * slope;
        for (int d = 0; d < HEAD; d++)
            sum[d] = fma(key[d], ds, sum[d]);
    }
    for (int d = 0; d < HEAD; d++)
        dq[d] = sum[d];
}

#include "attention_grad/forget_pair.clh"
