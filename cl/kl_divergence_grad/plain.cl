/* kl_divergence_grad/plain.cl - dlogits = addend + scale * T * (ps - pt), with ps and pt as in
 * kl_divergence.
 *
 *   grid    (R), one work-item each: a row
 *   x       logits[r,v] at logits0 + r*row + v, teacher, addend and dlogits likewise; targets
 *           contiguous
 *   scale   one number
 *   ignored where there are targets, a row whose target is not in 0 .. V-1: dlogits is the addend,
 *           or 0
 *   alias   dlogits may be logits or addend
 *   order   as kl_divergence/row.clh
 *   needs   nothing beyond OpenCL C 1.1
 *   build   HAS_TARGETS, HAS_TEACHER, HAS_ADDEND
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=4 T=32 V=32000
 *           plain          30986      1.6    1.00     11607      4.2    1.00
 *           lanes           4310     11.4    7.19      2661     18.5    4.36 */
#include "kl_divergence/row.clh"

ENTRY KERNEL(PLACE __global const float *logits, int logits0, __global const int *targets, int targets0,
             __global const float *teacher, int teacher0, __global const float *scale, int scale0,
             __global const float *addend, int addend0, __global float *dlogits, int dlogits0, __global const int *dims,
             int R, int R_set, int V, int row, int teacher_row, int addend_row, int d_row, float temperature)
{
    const int r = ITEM(0);
    if (r >= SIZE(R))
        return;
#include "kl_divergence_grad/begin.clh"
#include "kl_divergence/logs.clh"
    for (int v = 0; v < V; v++) {
#include "kl_divergence_grad/slope.clh"
    }
}

#undef BLOCK
#undef LOG_SUM
