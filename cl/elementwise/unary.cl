/* elementwise/unary.cl - y = alpha * act(x), element by element; or x's elements moved unchanged to
 * other places.
 *
 * Who owns what, in all elementwise ops:
 *
 *      x  | 0 | 1 | 2 | 3 | 4 | 5 | ..      plain   a work-item: 1 element, at any strides
 *      y  | 0 | 1 | 2 | 3 | 4 | 5 | ..              (dropout: the 4 of a counter)
 *         |<-- 2048 elements ---->|         lanes   a work-item (CPUs): 2048 contiguous ones,
 *                                                   16 to a vector: the same bytes
 *
 * The ladder, 4 million elements, pocl 3.1, 2 Zen 4 cores, chained, ms (GB/s of the bytes that
 * cross memory):
 *
 *   op                       plain   lanes
 *   accumulate               3.76    0.90 (53)
 *   add                      3.78    1.42 (34)
 *   activation_grad, gelu    27.55   3.39 (14); 2.0 since slope.clh spends one exponential
 *   dropout                  29.20   3.24 (10)
 *
 *   grid    (elements), one work-item each
 *   x, y    at any strides, given in elements for the last eight dimensions; both contiguous where
 *           FLAT
 *   alias   y may be x
 *   needs   nothing beyond OpenCL C 1.1
 *   build   X_DTYPE, Y_DTYPE; ACT; MOVE 1: the bits of x are kept (same dtypes); FLAT; SCALE 1:
 *           times alpha
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain. The op is gelu.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           [512,2048]
 *           plain           4795      1.7    1.00     594.0     14.1    1.00
 *           lanes          323.6     25.9   14.82     202.9     41.4    2.93 */

#if MOVE
#define X_TYPE BITS(X_DTYPE)
#define Y_TYPE BITS(Y_DTYPE)
#else
#define X_TYPE ELEMENT(X_DTYPE)
#define Y_TYPE ELEMENT(Y_DTYPE)
#endif

ENTRY KERNEL(PLACE __global const X_TYPE *x, int x0, __global Y_TYPE *y, int y0, __global const int *dims, int N,
             int N_set, float alpha
#if !FLAT
             , int8 size, int8 size_set, int8 x_step, int8 x_set, int8 y_step, int8 y_set
#endif
)
{
    const int i = ITEM(0);
    if (i >= SIZE(N))
        return;
#if FLAT
    const int xi = x0 + i, yi = y0 + i;
#else
    int xi = x0, yi = y0, left = i;
#define AXIS(c)                                              \
    {                                                        \
        const int n = size.c * dims[size_set.c];             \
        const int above = left / n, along = left - above * n; \
        xi += along * (x_step.c * dims[x_set.c]);            \
        yi += along * (y_step.c * dims[y_set.c]);            \
        left = above;                                        \
    }
    AXIS(s7) AXIS(s6) AXIS(s5) AXIS(s4) AXIS(s3) AXIS(s2)
#endif
#if MOVE
    y[yi] = x[xi];
#else
    float v = LOAD(X_DTYPE, x, xi);
    v = ACTIVATE(ACT, float, v);
#if SCALE
    v *= alpha;
#endif
    STORE(Y_DTYPE, y, yi, v);
#endif
}

#undef X_TYPE
#undef Y_TYPE
#undef AXIS
