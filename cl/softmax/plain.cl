/* softmax/plain.cl - y = softmax of scale * x + bias over the visible part of the last dimension; 0 elsewhere.
 *
 *   grid    (rows), one work-item each: x is [B,..,T,S], so a row is a query of a sequence
 *   x, y, bias at any strides, given in elements for the last eight dimensions; 0 repeats (broadcast)
 *   sees    s < len[b], causal: s <= past[b] + t, WINDOW > 0: past[b] + t - s < WINDOW; a row that sees nothing is 0
 *   alias   y may be x
 *   needs   nothing beyond OpenCL C 1.1
 *   build   X_DTYPE, Y_DTYPE, BIAS_DTYPE; BATCH_AXIS 0..6 the position of B among the eight dimensions;
 *           CAUSAL, WINDOW; HAS_PAST, HAS_LEN, HAS_BIAS */

#define SCORE(s) (scale * LOAD(X_DTYPE, x, xi + (s) * x7) BIAS(s))
#if HAS_BIAS
#define BIAS(s) +LOAD(BIAS_DTYPE, bias, bi + (s) * b7)
#else
#define BIAS(s)
#endif

__kernel void KERNEL(__global const ELEMENT(X_DTYPE) *x, int x0, __global const int *past, int past0,
                     __global const int *len, int len0, __global const ELEMENT(BIAS_DTYPE) *bias, int bias0,
                     __global ELEMENT(Y_DTYPE) *y, int y0, __global const int *dims, int R, int R_set, int8 size,
                     int8 size_set, int8 x_step, int8 x_set, int8 b_step, int8 b_set, int8 y_step, int8 y_set,
                     float scale)
{
    const int row = (int)get_global_id(0);
    if (row >= SIZE(R))
        return;
    const int S = size.s7 * dims[size_set.s7], x7 = x_step.s7 * dims[x_set.s7], y7 = y_step.s7 * dims[y_set.s7];

    int n[7];
    n[0] = size.s0 * dims[size_set.s0];
    n[1] = size.s1 * dims[size_set.s1];
    n[2] = size.s2 * dims[size_set.s2];
    n[3] = size.s3 * dims[size_set.s3];
    n[4] = size.s4 * dims[size_set.s4];
    n[5] = size.s5 * dims[size_set.s5];
    n[6] = size.s6 * dims[size_set.s6];
    for (int axis = 6, left = row; axis >= 0; axis--) { /* n becomes the index along each axis */
        const int above = left / n[axis];
        n[axis] = left - above * n[axis];
        left = above;
    }
#define AT(step, set)                                                                                    \
    (n[0] * step.s0 * dims[set.s0] + n[1] * step.s1 * dims[set.s1] + n[2] * step.s2 * dims[set.s2] +     \
     n[3] * step.s3 * dims[set.s3] + n[4] * step.s4 * dims[set.s4] + n[5] * step.s5 * dims[set.s5] +     \
     n[6] * step.s6 * dims[set.s6])
    const int xi = x0 + AT(x_step, x_set), yi = y0 + AT(y_step, y_set);
#if HAS_BIAS
    const int bi = bias0 + AT(b_step, b_set), b7 = b_step.s7 * dims[b_set.s7];
#endif

    int first = 0, end = S;
#if HAS_LEN
    end = min(end, len[len0 + n[BATCH_AXIS]]);
#endif
#if CAUSAL || WINDOW > 0
    int here = n[6];
#if HAS_PAST
    here += past[past0 + n[BATCH_AXIS]];
#endif
#endif
#if CAUSAL
    end = min(end, here + 1);
#endif
#if WINDOW > 0
    first = max(0, here - WINDOW + 1);
#endif

    float top = -INFINITY;
    for (int s = first; s < end; s++)
        top = fmax(top, SCORE(s));
    if (top == -INFINITY)
        end = first; /* nothing to see, or a bias of -inf everywhere */
    for (int s = 0; s < min(first, S); s++)
        STORE(Y_DTYPE, y, yi + s * y7, 0.0f);
    for (int s = max(first, end); s < S; s++)
        STORE(Y_DTYPE, y, yi + s * y7, 0.0f);

    float total = 0.0f;
    for (int s = first; s < end; s++)
        total = ORDERED_ADD(tsr_exp_float(SCORE(s) - top), total);
    const float share = total > 0.0f ? 1.0f / total : 0.0f;
    for (int s = first; s < end; s++)
        STORE(Y_DTYPE, y, yi + s * y7, tsr_exp_float(SCORE(s) - top) * share);
}

#undef SCORE
#undef BIAS
#undef AT
#undef X_DTYPE
#undef Y_DTYPE
#undef BIAS_DTYPE
#undef BATCH_AXIS
#undef CAUSAL
#undef WINDOW
#undef HAS_PAST
#undef HAS_LEN
#undef HAS_BIAS
