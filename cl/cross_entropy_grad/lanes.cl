/* cross_entropy_grad/lanes.cl - cross_entropy_grad/plain for CPUs, sixteen elements to a vector.
 *
 *   grid    (V/SPAN, R), work-groups of one work-item
 *   operands, ignored, alias, build as cross_entropy_grad/plain
 *   needs   float16 in registers (a CPU)
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=4 T=32 V=32000
 *           plain           7868      4.2    1.00      3963      8.3    1.00
 *           lanes          912.4     35.9    8.62     611.3     53.6    6.48 */
#include "elementwise/math16.clh"
#include "elementwise/sixteen.clh"
#define SPAN 8192

ENTRY_OF_ONE KERNEL(PLACE __global const float *logits, int logits0, __global const int *targets, int targets0,
                    __global const float *lse, int lse0, __global const float *scale, int scale0,
                    __global const float *addend, int addend0, __global float *dlogits, int dlogits0,
                    __global const int *dims, int R, int R_set, int V, int row, int addend_row, int d_row,
                    float smoothing)
{
    const int first = ITEM(0) * SPAN, r = ITEM(1), end = min(first + SPAN, V);
    if (r >= SIZE(R))
        return;
    const int target = targets[targets0 + r];
    const bool counts = target >= 0 && target < V;
    const float factor = counts ? scale[scale0] : 0.0f, log_sum = lse[lse0 + r], share = smoothing / (float)V;
    logits += logits0 + r * row;
    addend += addend0 + r * addend_row;
    dlogits += dlogits0 + r * d_row;
    int v = first;
    if (!counts) {
        for (; v < end; v++)
#if HAS_ADDEND
            dlogits[v] = addend[v];
#else
            dlogits[v] = 0.0f;
#endif
        return;
    }
    /* The target's element, read before dlogits may overwrite it. */
    const bool here = target >= first && target < end;
    const float picked = here ? logits[target] : 0.0f;
#if HAS_ADDEND
    const float more = here ? addend[target] : 0.0f;
#endif
    for (; v + 16 <= end; v += 16) {
        const float16 d = factor * (tsr_exp_float16(SIXTEEN_OF(logits + v) - log_sum) - share);
#if HAS_ADDEND
        SIXTEEN(dlogits + v) = d + SIXTEEN_OF(addend + v);
#else
        SIXTEEN(dlogits + v) = d;
#endif
    }
    for (; v < end; v++) {
        const float d = factor * (tsr_exp_float(logits[v] - log_sum) - share);
#if HAS_ADDEND
        dlogits[v] = d + addend[v];
#else
        dlogits[v] = d;
#endif
    }
    if (here) {
        const float d = factor * (tsr_exp_float(picked - log_sum) - (1.0f - smoothing) - share);
#if HAS_ADDEND
        dlogits[target] = d + more;
#else
        dlogits[target] = d;
#endif
    }
}

#undef SIXTEEN
#undef SIXTEEN_OF
#undef SPAN
