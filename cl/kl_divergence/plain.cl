/* kl_divergence/plain.cl - loss = T^2 * sum over v of pt (log pt - log ps), p = softmax(logits /
 * T), pt the teacher's, ps the student's; without a teacher pt is 1 / V and T is 1. Picture and
 * ladder: cross_entropy/plain.cl.
 *
 *   grid    (R), one work-item each: a row
 *   x       logits[r,v] at logits0 + r*row + v, teacher likewise; targets, loss contiguous
 *   ignored where there are targets, a row whose target is not in 0 .. V-1: loss is 0
 *   order   as row.clh
 *   needs   nothing beyond OpenCL C 1.1
 *   build   HAS_TARGETS, HAS_TEACHER
 *   paid    33.2 ms for 64 rows of 50257 classes with a teacher, pocl 3.1, 2 Zen 4 cores */
#include "kl_divergence/row.clh"

ENTRY KERNEL(PLACE __global const float *logits, int logits0, __global const int *targets, int targets0,
             __global const float *teacher, int teacher0, __global float *loss, int loss0, __global const int *dims,
             int R, int R_set, int V, int row, int teacher_row, float temperature)
{
    const int r = ITEM(0);
    if (r >= SIZE(R))
        return;
#if HAS_TARGETS
    if (targets[targets0 + r] < 0 || targets[targets0 + r] >= V) {
        loss[loss0 + r] = 0.0f;
        return;
    }
#endif
    const float inverse = 1.0f / temperature;
    float top, teacher_top = 0.0f, total = 0.0f;
    logits += logits0 + r * row;
    const float log_s = LOCAL_NAME(log_sum)(logits, V, inverse, &top);
#if HAS_TEACHER
    teacher += teacher0 + r * teacher_row;
    const float log_t = LOCAL_NAME(log_sum)(teacher, V, inverse, &teacher_top);
#endif
    for (int first = 0; first < V; first += BLOCK) {
        float part[16];
        for (int j = 0; j < 16; j++)
            part[j] = 0.0f;
        for (int v = first; v < min(first + BLOCK, V); v++) {
            const float s = (logits[v] - top) * inverse - log_s;
#if HAS_TEACHER
            const float t = (teacher[v] - teacher_top) * inverse - log_t, p = tsr_exp_float(t);
            const float term = p > 0.0f ? p * (t - s) : 0.0f;
#else
            const float term = s;
#endif
            part[v & 15] = ORDERED_ADD(term, part[v & 15]);
        }
        total = ORDERED_ADD(SUM16(part), total);
    }
#if HAS_TEACHER
    loss[loss0 + r] = temperature * temperature * total;
#else
    loss[loss0 + r] = -log((float)V) - total / (float)V;
#endif
}

#undef BLOCK
