/* adamw/lanes.cl - adamw/plain for CPUs: one pass over p, m, v and the gradient, sixteen elements
 * to a vector.
 *
 *   grid    (N/SPAN), work-groups of one work-item
 *   operands, build as adamw/plain
 *   needs   float16 in registers (a CPU)
 *   paid    4 million elements, pocl 3.1, 2 Zen 4 cores: 1.84 ms (61 GB/s), plain 9.85 */
#include "elementwise/sixteen.clh"
#define SPAN 2048
/* One step for type T, of the elements from i on. */
#define STEP(T, GET, PUT)                                                                        \
    {                                                                                            \
        const T g = GET(gradient + i) * factor, old = GET(p + i);                                \
        const T first = fma((T)(beta1), GET(m + i), rest1 * g), second = fma((T)(beta2), GET(v + i), rest2 * g * g); \
        const T down = lr * (first / of_m) / (sqrt(second / of_v) + eps);                        \
        const T now = fma((T)(-(lr * decay)), old, old) - down;                                  \
        PUT(m + i) = first;                                                                      \
        PUT(v + i) = second;                                                                     \
        PUT(p + i) = now;                                                                        \
        ROUND_##T                                                                                \
    }
#if HAS_ROUNDED
#define ROUND_float rounded[i] = tsr_bf16(now);
/* as tsr_bf16, NaN included */
#define ROUND_float16                                                                            \
    {                                                                                            \
        const uint16 bits = as_uint16(now);                                                      \
        const uint16 near = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16, kept = (bits >> 16) | 0x40u; \
        vstore16(convert_ushort16((bits & 0x7fffffffu) > 0x7f800000u ? kept : near), 0, rounded + i); \
    }
#else
#define ROUND_float
#define ROUND_float16
#endif
#define ONE(p) (*(p))

ENTRY_OF_ONE KERNEL(PLACE __global float *p, int p0, __global float *m, int m0, __global float *v, int v0,
                    __global const float *gradient, int gradient0, __global const float *rates, int rates0,
                    __global ushort *rounded, int rounded0, __global const int *dims, int N, int N_set, float beta1,
                    float rest1, float beta2, float rest2, float eps, float decay)
{
    const int n = SIZE(N), begin = ITEM(0) * SPAN, end = n - begin < SPAN ? n : begin + SPAN;
    const float lr = rates[rates0], of_m = rates[rates0 + 1], of_v = rates[rates0 + 2], factor = rates[rates0 + 3];
    p += p0;
    m += m0;
    v += v0;
    gradient += gradient0;
    rounded += rounded0;
    int i = begin;
    for (; i + 16 <= end; i += 16)
        STEP(float16, SIXTEEN_OF, SIXTEEN)
    for (; i < end; i++)
        STEP(float, ONE, ONE)
}

#undef SIXTEEN
#undef SIXTEEN_OF
#undef ONE
#undef STEP
#undef ROUND_float
#undef ROUND_float16
#undef SPAN
