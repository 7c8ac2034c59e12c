/* kl_divergence_grad/lanes.cl - kl_divergence_grad/plain for CPUs: its sixteen partial sums are the
 * lanes of a vector.
 *
 *   grid    (R), work-groups of one work-item: a row each
 *   operands, ignored, alias, order, build as kl_divergence_grad/plain
 *   needs   float16 in registers (a CPU)
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=4 T=32 V=32000
 *           plain          30986      1.6    1.00     11607      4.2    1.00
 *           lanes           4310     11.4    7.19      2661     18.5    4.36 */
#include "kl_divergence/row_lanes.clh"
#if HAS_TEACHER
#define WANTED(T, GET) TSR_PASTE(tsr_exp_, T)((GET(teacher + v) - teacher_top) * inverse - log_t)
#else
#define WANTED(T, GET) share
#endif
#if HAS_ADDEND
#define MORE(GET) +GET(addend + v)
#else
#define MORE(GET)
#endif
#define ONE(p) (*(p))

ENTRY_OF_ONE KERNEL(PLACE __global const float *logits, int logits0, __global const int *targets, int targets0,
                    __global const float *teacher, int teacher0, __global const float *scale, int scale0,
                    __global const float *addend, int addend0, __global float *dlogits, int dlogits0,
                    __global const int *dims, int R, int R_set, int V, int row, int teacher_row, int addend_row,
                    int d_row, float temperature)
{
    const int r = ITEM(0);
    if (r >= SIZE(R))
        return;
#include "kl_divergence_grad/begin.clh"
    int v = 0;
    if (factor == 0.0f) {
        for (; v < V; v++)
            dlogits[v] = 0.0f MORE(ONE);
        return;
    }
    const float share = 1.0f / (float)V;
#include "kl_divergence/logs.clh"
    for (; v + 16 <= V; v += 16) {
        const float16 s = tsr_exp_float16((SIXTEEN_OF(logits + v) - top) * inverse - log_s);
        SIXTEEN(dlogits + v) = factor * (s - WANTED(float16, SIXTEEN_OF)) MORE(SIXTEEN_OF);
    }
    for (; v < V; v++) {
        const float s = tsr_exp_float((logits[v] - top) * inverse - log_s);
        dlogits[v] = factor * (s - WANTED(float, ONE)) MORE(ONE);
    }
}

#undef WANTED
#undef MORE
#undef ONE
#undef SIXTEEN
#undef SIXTEEN_OF
#undef BLOCK
#undef LOG_SUM
