/* sgd/plain.cl - g = rates[3] gradient + decay p; velocity = momentum velocity + g; p -= lr
 * velocity, or where NESTEROV lr (g + momentum velocity), lr = rates[0]. Picture: adamw/plain.cl.
 *
 *   grid    (N), one work-item per element
 *   p, velocity, gradient, rounded: contiguous
 *   needs   nothing beyond OpenCL C 1.1
 *   build   HAS_VELOCITY; NESTEROV; HAS_ROUNDED: rounded, bf16, receives p */

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
