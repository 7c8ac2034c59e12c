/* adamw/plain.cl - AdamW with decoupled decay: g *= rates[3]; p -= lr decay p; m = beta1 m + (1 -
 * beta1) g; v = beta2 v + (1 - beta2) g^2; p -= lr (m / rates[1]) / (sqrt(v / rates[2]) + eps), lr
 * = rates[0].
 *
 * Who owns what, in adamw, sgd and sumsq:
 *
 *      gradient  | 0 | 1 | 2 | 3 | ..      plain   a work-item: 1 element i of all four arrays;
 *      p         | 0 | 1 | 2 | 3 | ..              in sumsq one of `parts` runs of elements
 *      m         | 0 | 1 | 2 | 3 | ..      lanes   a work-item (CPUs): 2048 elements, 16 to a
 *      v         | 0 | 1 | 2 | 3 | ..              vector; in sumsq a run, partial sums in lanes
 *
 * The ladder, 4 million elements, pocl 3.1, 2 Zen 4 cores, chained, ms (GB/s of the bytes that
 * cross memory):
 *
 *   variant   adds over the one before it            adamw          sumsq
 *   plain     one pass over all arrays               9.85           0.87
 *   lanes     CPUs: vectors: the same bytes          1.84 (61)      0.30 (54)
 *
 *   grid    (N), one work-item per element
 *   p, m, v, gradient, rounded: contiguous
 *   needs   nothing beyond OpenCL C 1.1
 *   build   HAS_ROUNDED: rounded, bf16, receives p
 *   paid    see the ladder
 *   source  Loshchilov, Hutter 2019, arXiv:1711.05101 */

ENTRY KERNEL(PLACE __global float *p, int p0, __global float *m, int m0, __global float *v, int v0,
             __global const float *gradient, int gradient0, __global const float *rates, int rates0,
             __global ushort *rounded, int rounded0, __global const int *dims, int N, int N_set, float beta1,
             float rest1, float beta2, float rest2, float eps, float decay)
{
    const int i = ITEM(0);
    if (i >= SIZE(N))
        return;
    const float lr = rates[rates0], g = gradient[gradient0 + i] * rates[rates0 + 3];
    const float first = fma(beta1, m[m0 + i], rest1 * g), second = fma(beta2, v[v0 + i], rest2 * g * g);
    const float down = lr * (first / rates[rates0 + 1]) / (sqrt(second / rates[rates0 + 2]) + eps);
    const float old = p[p0 + i], now = fma(-(lr * decay), old, old) - down;
    m[m0 + i] = first;
    v[v0 + i] = second;
    p[p0 + i] = now;
#if HAS_ROUNDED
    rounded[rounded0 + i] = tsr_bf16(now);
#endif
}
