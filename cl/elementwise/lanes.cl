/* elementwise/lanes.cl - ops of one and two contiguous operands for CPUs: sixteen elements to a
 * vector.
 *
 *   grid    (N/SPAN), work-groups of one work-item
 *   FORM    1: y = alpha * act(a). 2: y = a + b. 3: y = a * b. 4: y = b * act'(a). 5: y = number *
 *           y + a, where y is a state that is not read where the number is 0; HAS_NUMBER 0: it is 1
 *   alias   y may be a or b
 *   needs   float16 in registers (a CPU)
 *   build   FORM; ACT (FORM 1 and 4); SCALED 1: by alpha (FORM 1); HAS_NUMBER (FORM 5)
 *   paid    see elementwise/unary.cl */
#include "elementwise/math16.clh"
#include "elementwise/sixteen.clh"
#define SPAN 2048
#if FORM == 1
#if SCALED
#define RESULT(T, GET) (alpha * ACTIVATE(ACT, T, u))
#else
#define RESULT(T, GET) ACTIVATE(ACT, T, u)
#endif
#elif FORM == 2
#define RESULT(T, GET) (u + GET(b + i))
#elif FORM == 3
#define RESULT(T, GET) (u * GET(b + i))
#elif FORM == 4
#define VECTOR float16
#include "elementwise/slope.clh"
#undef SLOPE
#undef VECTOR
#define VECTOR float
#include "elementwise/slope.clh"
#undef SLOPE
#undef VECTOR
#define RESULT(T, GET) (GET(b + i) * TSR_PASTE(slope_##T##_, INSTANCE)(u))
#elif HAS_NUMBER
#define RESULT(T, GET) (keep == 0.0f ? u : fma((T)(keep), GET(y + i), u))
#else
#define RESULT(T, GET) (GET(y + i) + u)
#endif
#define ONE(p) (*(p))

ENTRY_OF_ONE KERNEL(PLACE __global const float *a, int a0, __global const float *b, int b0,
                    __global const float *number, int number0, __global float *y, int y0, __global const int *dims,
                    int N, int N_set, float alpha)
{
    const int n = SIZE(N), begin = ITEM(0) * SPAN, end = n - begin < SPAN ? n : begin + SPAN;
#if FORM == 5 && HAS_NUMBER
    const float keep = number[number0];
#endif
    a += a0;
    b += b0;
    y += y0;
    int i = begin;
    for (; i + 16 <= end; i += 16) {
        const float16 u = SIXTEEN_OF(a + i);
        SIXTEEN(y + i) = RESULT(float16, SIXTEEN_OF);
    }
    for (; i < end; i++) {
        const float u = a[i];
        y[i] = RESULT(float, ONE);
    }
}

#undef RESULT
#undef SIXTEEN
#undef SIXTEEN_OF
#undef ONE
#undef SPAN
