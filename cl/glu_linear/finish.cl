/* glu_linear/finish.cl - y[r,f] = act(p[r,f] + bias[f]) * (p[r,F+f] + bias[F+f]), where p is a
 * product that a provider (CLBlast) left in scratch.
 *
 *   grid    (F, R), one work-item per element
 *   needs   nothing beyond OpenCL C 1.1
 *   build   HAS_BIAS; ACT
 *   paid    no figures: the device times of clblast can't be right on Intel's runtime (2212 GFLOP/s
 *           of 128x2048x2048 on 2 Zen 5 cores), so none are given; meant for GPUs, where it was not
 *           measured */
ENTRY KERNEL(PLACE __global const float *p, __global const float *bias, int bias0, __global float *y, int y0,
             __global const int *dims, int R, int R_set, int F, int y_row)
{
    const int f = ITEM(0), r = ITEM(1);
    if (f >= F || r >= SIZE(R))
        return;
    float gate = p[r * 2 * F + f], up = p[r * 2 * F + F + f];
#if HAS_BIAS
    gate += bias[bias0 + f];
    up += bias[bias0 + F + f];
#endif
    y[y0 + r * y_row + f] = GLU(float, gate, up);
}
