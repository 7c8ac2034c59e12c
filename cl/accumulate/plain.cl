/* accumulate/plain.cl - state = beta * state + x, element by element.
 *
 *   grid    (elements), one work-item each
 *   state   contiguous; x at any strides, given in elements for the last eight dimensions;
 *           contiguous where FLAT
 *   beta    one number; where it is 0 the state is not read; HAS_BETA 0: it is 1
 *   needs   nothing beyond OpenCL C 1.1
 *   build   HAS_BETA; FLAT
 *   paid    see elementwise/unary.cl */

ENTRY KERNEL(PLACE __global float *state, int state0, __global const float *x, int x0, __global const float *beta,
             int beta0, __global const int *dims, int N, int N_set
#if !FLAT
             , int8 size, int8 size_set, int8 x_step, int8 x_set
#endif
)
{
    const int i = ITEM(0);
    if (i >= SIZE(N))
        return;
#if FLAT
    const int xi = x0 + i;
#else
    int xi = x0, left = i;
#define AXIS(c)                                               \
    {                                                         \
        const int n = size.c * dims[size_set.c];              \
        const int above = left / n, along = left - above * n; \
        xi += along * (x_step.c * dims[x_set.c]);             \
        left = above;                                         \
    }
    AXIS(s7) AXIS(s6) AXIS(s5) AXIS(s4) AXIS(s3) AXIS(s2)
#endif
#if HAS_BETA
    const float keep = beta[beta0];
    state[state0 + i] = keep == 0.0f ? x[xi] : fma(keep, state[state0 + i], x[xi]);
#else
    state[state0 + i] += x[xi];
#endif
}

#undef AXIS
