/* activation_grad/plain.cl - dx = dy * act'(x), element by element.
 *
 *   grid    (elements), one work-item each
 *   x, dy, dx at any strides, given in elements for the last eight dimensions; all contiguous where
 *           FLAT
 *   alias   dx may be x or dy
 *   needs   nothing beyond OpenCL C 1.1
 *   build   ACT; FLAT
 *   paid    see elementwise/unary.cl */
#define VECTOR float
#include "elementwise/slope.clh"

ENTRY KERNEL(PLACE __global const float *x, int x0, __global const float *dy, int dy0, __global float *dx, int dx0,
             __global const int *dims, int N, int N_set
#if !FLAT
             , int8 size, int8 size_set, int8 x_step, int8 x_set, int8 dy_step, int8 dy_set, int8 dx_step,
             int8 dx_set
#endif
)
{
    const int i = ITEM(0);
    if (i >= SIZE(N))
        return;
#if FLAT
    const int xi = x0 + i, dyi = dy0 + i, dxi = dx0 + i;
#else
    int xi = x0, dyi = dy0, dxi = dx0, left = i;
#define AXIS(c)                                               \
    {                                                         \
        const int n = size.c * dims[size_set.c];              \
        const int above = left / n, along = left - above * n; \
        xi += along * (x_step.c * dims[x_set.c]);             \
        dyi += along * (dy_step.c * dims[dy_set.c]);          \
        dxi += along * (dx_step.c * dims[dx_set.c]);          \
        left = above;                                         \
    }
    AXIS(s7) AXIS(s6) AXIS(s5) AXIS(s4) AXIS(s3) AXIS(s2)
#endif
    dx[dxi] = dy[dyi] * SLOPE(x[xi]);
}

#undef AXIS
#undef SLOPE
#undef VECTOR
