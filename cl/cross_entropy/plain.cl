/* cross_entropy/plain.cl - loss = (1 - e) * (lse - x[target]) + e * (lse - mean of x), lse = log
 * sum exp of a row x.
 *
 *      V classes, in segments of 1024          a row of logits, over all of V, is owned by
 *      +----------------+----------------+--
 *      | 0 1 .. 15 0 1  | 0 1 .. 15 0 1  | ..  plain   a work-item; partial sums in an array
 *      +----------------+----------------+--   lanes   a work-item (CPUs); they lie in lanes
 *        16 partial       then 16 new          group   a work-group (GPUs), of which each
 *        sums, added      ones: errors                 work-item has one partial sum
 *        in pairs         grow slowly
 *
 * The ladder, with figures of kl_divergence, which has the same rows: 64 rows of 50257 classes with a
 * teacher, pocl 3.1, 2 Zen 4 cores. Those of cross_entropy are under `paid`.
 *
 *   variant      adds over the one before it                              ms (kl_divergence)
 *   plain        a fixed order: about 100 roundings for 50257 terms       33.2
 *   lanes        CPUs: exponentials and sums by float16, the same bytes   3.8
 *   group        GPUs: a work-group for each row                          -
 *   sub_groups   GPUs: group with the driver's sub-group functions        -
 *
 *   grid    (R), one work-item each: a row
 *   x       logits[r,v] at logits0 + r*row + v; targets, loss, lse contiguous
 *   ignored a row whose target is not in 0 .. V-1: loss and lse are 0, and the row is not read
 *   order   16 partial sums over segments of 1024 elements (BLOCK), then these in pairs, then the
 *           segments; the largest element is subtracted from each first
 *   needs   nothing beyond OpenCL C 1.1
 *   build   SMOOTH 0|1: e is not 0
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                               pocl                      Intel
 *           variant              us     GB/s   ratio        us     GB/s   ratio
 *           B=4 T=32 V=32000
 *           plain             12211      1.3    1.00      4401      3.7    1.00
 *           lanes              1020     16.1   11.97     704.4     23.3    6.25
 *           group             12852      1.3    0.95      5195      3.2    0.85
 *           sub_groups            -        -       -      5353      3.1    0.82 */
#define BLOCK 1024

ENTRY KERNEL(PLACE __global const float *logits, int logits0, __global const int *targets, int targets0,
             __global float *loss, int loss0, __global float *lse, int lse0, __global const int *dims, int R, int R_set,
             int V, int row, float smoothing)
{
    const int r = ITEM(0);
    if (r >= SIZE(R))
        return;
    const int target = targets[targets0 + r];
    if (target < 0 || target >= V) {
        loss[loss0 + r] = 0.0f;
        lse[lse0 + r] = 0.0f;
        return;
    }
    logits += logits0 + r * row;
    float top = -INFINITY, total = 0.0f;
    for (int v = 0; v < V; v++)
        top = fmax(top, logits[v]);
#if SMOOTH
    float all = 0.0f;
#endif
    for (int first = 0; first < V; first += BLOCK) {
        float part[16];
#if SMOOTH
        float mean[16];
#endif
        for (int j = 0; j < 16; j++) {
            part[j] = 0.0f;
#if SMOOTH
            mean[j] = 0.0f;
#endif
        }
        for (int v = first; v < min(first + BLOCK, V); v++) {
            const float d = logits[v] - top;
            part[v & 15] = ORDERED_ADD(tsr_exp_float(d), part[v & 15]);
#if SMOOTH
            mean[v & 15] = ORDERED_ADD(d, mean[v & 15]);
#endif
        }
        total = ORDERED_ADD(SUM16(part), total);
#if SMOOTH
        all = ORDERED_ADD(SUM16(mean), all);
#endif
    }
#include "cross_entropy/finish.clh"
}

#undef BLOCK
