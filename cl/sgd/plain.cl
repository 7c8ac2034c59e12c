/* sgd/plain.cl - g = rates[3] gradient + decay p; velocity = momentum velocity + g; p -= lr
 * velocity, or where NESTEROV lr (g + momentum velocity), lr = rates[0]. Picture: adamw/plain.cl.
 *
 *   grid    (N), one work-item per element
 *   p, velocity, gradient, rounded: contiguous
 *   needs   nothing beyond OpenCL C 1.1
 *   build   HAS_VELOCITY; NESTEROV; HAS_ROUNDED: rounded, bf16, receives p
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain. It has no other
 *           variant.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           N=4194304 decay rounded
 *           plain           3715     15.8    1.00      1352     43.4    1.00
 *
 *           N=4194304 decay momentum rounded
 *           plain           3900     23.7    1.00      1654     55.8    1.00
 *
 *           N=4194304 decay nesterov rounded
 *           plain           4030     22.9    1.00      1597     57.8    1.00 */

ENTRY KERNEL(PLACE __global float *p, int p0, __global float *velocity, int velocity0, __global const float *gradient,
             int gradient0, __global const float *rates, int rates0, __global ushort *rounded, int rounded0,
             __global const int *dims, int N, int N_set, float momentum, float decay)
{
    const int i = ITEM(0);
    if (i >= SIZE(N))
        return;
    const float old = p[p0 + i], g = fma(decay, old, gradient[gradient0 + i] * rates[rates0 + 3]);
    float step = g;
#if HAS_VELOCITY
    const float moved = fma(momentum, velocity[velocity0 + i], g);
    velocity[velocity0 + i] = moved;
#if NESTEROV
    step = fma(momentum, moved, g);
#else
    step = moved;
#endif
#endif
    const float now = old - rates[rates0] * step;
    p[p0 + i] = now;
#if HAS_ROUNDED
    rounded[rounded0 + i] = tsr_bf16(now);
#endif
}
