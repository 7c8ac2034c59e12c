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
 *   build   HAS_TARGETS, HAS_TEACHER, HAS_ADDEND */
#include "kl_divergence/row.clh"

ENTRY KERNEL(PLACE __global const float *logits, int logits0, __global const int *targets, int targets0,
             __global const float *teacher, int teacher0, __global const float *scale, int scale0,
             __global const float *addend, int addend0, __global float *dlogits, int dlogits0, __global const int *dims,
             int R, int R_set, int V, int row, int teacher_row, int addend_row, int d_row, float temperature)
{
#include "kl_divergence_grad/begin.clh"
#include "kl_divergence/logs.clh"
    for (int v = 0; v < V; v++) {
        const float s = tsr_exp_float((logits[v] - top) * inverse - log_s);
#if HAS_TEACHER
        const float t = tsr_exp_float((teacher[v] - teacher_top) * inverse - log_t);
#else
        const float t = 1.0f / (float)V;
#endif
        const float d = factor == 0.0f ? 0.0f : factor * (s - t);
#if HAS_ADDEND
        dlogits[v] = d + addend[v];
#else
        dlogits[v] = d;
#endif
    }
}

#undef BLOCK
