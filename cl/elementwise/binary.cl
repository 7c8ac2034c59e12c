/* elementwise/binary.cl - y = a + b or a * b, element by element; b is repeated where its stride is
 * 0.
 *
 *   grid    (elements), one work-item each
 *   a, b, y at any strides, given in elements for the last eight dimensions; all contiguous and of
 *           one shape where FLAT
 *   alias   y may be a, and b unless b is repeated
 *   needs   nothing beyond OpenCL C 1.1
 *   build   A_DTYPE, B_DTYPE, Y_DTYPE; MULTIPLY 0: a + b, 1: a * b; FLAT
 *   paid    see elementwise/unary.cl */

ENTRY KERNEL(PLACE __global const ELEMENT(A_DTYPE) *a, int a0, __global const ELEMENT(B_DTYPE) *b, int b0,
             __global ELEMENT(Y_DTYPE) *y, int y0, __global const int *dims, int N, int N_set
#if !FLAT
             , int8 size, int8 size_set, int8 a_step, int8 a_set, int8 b_step, int8 b_set, int8 y_step,
             int8 y_set
#endif
)
{
    const int i = ITEM(0);
    if (i >= SIZE(N))
        return;
#if FLAT
    const int ai = a0 + i, bi = b0 + i, yi = y0 + i;
#else
    int ai = a0, bi = b0, yi = y0, left = i;
#define AXIS(c)                                              \
    {                                                        \
        const int n = size.c * dims[size_set.c];             \
        const int above = left / n, along = left - above * n; \
        ai += along * (a_step.c * dims[a_set.c]);            \
        bi += along * (b_step.c * dims[b_set.c]);            \
        yi += along * (y_step.c * dims[y_set.c]);            \
        left = above;                                        \
    }
    AXIS(s7) AXIS(s6) AXIS(s5) AXIS(s4) AXIS(s3) AXIS(s2)
#endif
    const float u = LOAD(A_DTYPE, a, ai), v = LOAD(B_DTYPE, b, bi);
#if MULTIPLY
    STORE(Y_DTYPE, y, yi, u * v);
#else
    STORE(Y_DTYPE, y, yi, u + v);
#endif
}

#undef AXIS
