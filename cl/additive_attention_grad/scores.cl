/* additive_attention_grad/scores.cl - the stage before the variants of additive_attention_grad: the
 * gradients of the scores.
 *
 *     ds[s] = p[s] (<dy, values[s]> - sum over j of p[j] <dy, values[j]>)
 *
 *   grid    (T, B), one work-item each: a query
 *   gives   scratch[(b*T + t)*S + s], for s < len[b]
 *   order   each sum by fma, ascending; those of 8 keys are formed together, because a single sum
 *           waits for the latency of fma
 *   needs   nothing beyond OpenCL C 1.1
 *   build   HAS_LEN
 *   paid    its time is part of the figures of both variants of additive_attention_grad; it was not
 *           timed alone */

ENTRY KERNEL(PLACE
#include "additive_attention_grad/operands.clh"
    , __global float *scratch)
{
    const int t = ITEM(0), b = ITEM(1);
    const int queries = FAR_IN(T), keys = FAR_IN(S);
    int n = keys;
    if (t >= queries || b >= FAR_IN(B))
        return;
#if HAS_LEN
    n = min(n, len[len0 + b]);
#endif
    dy += dy0 + b * FAR_IN(db) + t * FAR_IN(dt);
    values += values0 + b * FAR_IN(vb);
    probabilities += probabilities0 + b * FAR_IN(pb) + t * FAR_IN(pt);
    scratch += (b * queries + t) * keys;
    float mean = 0.0f;
    const int step = FAR_IN(vs);
    for (int s = 0; s < n; s += 8) {
        float dot[8];
        int row[8];
        for (int i = 0; i < 8; i++) {
            dot[i] = 0.0f;
            row[i] = min(s + i, n - 1) * step;
        }
        for (int e = 0; e < E; e++)
            for (int i = 0; i < 8; i++)
                dot[i] = fma(values[row[i] + e], dy[e], dot[i]);
        for (int i = 0; i < 8 && s + i < n; i++) {
            scratch[s + i] = dot[i];
            mean = fma(probabilities[s + i], dot[i], mean);
        }
    }
    for (int s = 0; s < n; s++)
        scratch[s] = probabilities[s] * (scratch[s] - mean);
}
