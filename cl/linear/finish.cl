/* linear/finish.cl - y[r,n] = act(p[r,n] + bias[n]) + residual[r,n], where p is a product that a
 * provider (CLBlast) left in scratch.
 *
 *   grid    (N, R), one work-item per element
 *   p[r,n]  at r*N + n; y and residual as in linear/plain
 *   needs   nothing beyond OpenCL C 1.1
 *   build   HAS_BIAS, HAS_RESIDUAL; ACT
 *   paid    no figures: the device times of clblast can't be right on Intel's runtime (2212 GFLOP/s
 *           of 128x2048x2048 on 2 Zen 5 cores), so none are given; meant for GPUs, where it was not
 *           measured */
ENTRY KERNEL(PLACE __global const float *p, __global const float *bias, int bias0, __global const float *residual,
             int residual0, __global float *y, int y0, __global const int *dims, int R, int R_set, int N,
             int residual_row, int y_row)
{
    const int n = ITEM(0), r = ITEM(1);
    if (n >= N || r >= SIZE(R))
        return;
    float v = p[r * N + n];
#if HAS_BIAS
    v += bias[bias0 + n];
#endif
    v = ACTIVATE(ACT, float, v);
#if HAS_RESIDUAL
    v += residual[residual0 + r * residual_row + n];
#endif
    y[y0 + r * y_row + n] = v;
}
