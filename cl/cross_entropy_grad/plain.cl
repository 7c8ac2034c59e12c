/* cross_entropy_grad/plain.cl - dlogits = addend + scale * (exp(x - lse) - (1 - e) [v = target] - e
 * / V) for each element x of a row of logits.
 *
 *   grid    (V, R), one work-item each: an element
 *   x       logits[r,v] at logits0 + r*row + v, addend and dlogits likewise; targets, lse
 *           contiguous
 *   scale   one number
 *   ignored a row whose target is not in 0 .. V-1: dlogits is the addend, or 0
 *   alias   dlogits may be logits or addend
 *   needs   nothing beyond OpenCL C 1.1
 *   build   HAS_ADDEND
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=4 T=32 V=32000
 *           plain           7868      4.2    1.00      3963      8.3    1.00
 *           lanes          912.4     35.9    8.62     611.3     53.6    6.48 */

ENTRY KERNEL(PLACE __global const float *logits, int logits0, __global const int *targets, int targets0,
             __global const float *lse, int lse0, __global const float *scale, int scale0, __global const float *addend,
             int addend0, __global float *dlogits, int dlogits0, __global const int *dims, int R, int R_set, int V,
             int row, int addend_row, int d_row, float smoothing)
{
    const int v = ITEM(0), r = ITEM(1);
    if (v >= V || r >= SIZE(R))
        return;
    const int target = targets[targets0 + r];
    float d = 0.0f;
    if (target >= 0 && target < V) {
        const float p = tsr_exp_float(logits[logits0 + r * row + v] - lse[lse0 + r]);
        d = scale[scale0] * (p - (v == target ? 1.0f - smoothing : 0.0f) - smoothing / (float)V);
    }
#if HAS_ADDEND
    d += addend[addend0 + r * addend_row + v];
#endif
    dlogits[dlogits0 + r * d_row + v] = d;
}
