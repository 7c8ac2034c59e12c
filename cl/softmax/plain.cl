/* softmax/plain.cl - y = softmax of scale * x + bias + relative over the visible part of the last
 * dimension; 0 elsewhere. Picture: norm/plain.cl.
 *
 *   grid    (rows), one work-item each: x is [B,..,T,S], so a row is a query of a sequence
 *   x, y, bias at any strides, given in elements for the last eight dimensions; 0 repeats
 *           (broadcast)
 *   visible s < len[b]; causal: s <= past[b] + t; WINDOW > 0: |past[b] + t - s| < WINDOW. A row that
 *           sees nothing is 0; one with a score of NaN or inf is NaN
 *   alias   y may be x
 *   needs   nothing beyond OpenCL C 1.1
 *   build   X_DTYPE, Y_DTYPE, BIAS_DTYPE; BATCH_AXIS 0..6 the position of B among the eight
 *           dimensions; CAUSAL, WINDOW; HAS_PAST, HAS_LEN, HAS_BIAS, HAS_RELATIVE, HAS_SINKS
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                               pocl                      Intel
 *           variant              us     GB/s   ratio        us     GB/s   ratio
 *           B=4 T=256 S=256 causal
 *           plain              1771      3.6    1.00     718.9      8.8    1.00
 *           group              4788      1.3    0.37      1539      4.1    0.47
 *           sub_groups            -        -       -      2539      2.5    0.28
 *
 *           B=4 T=1 S=1024
 *           plain              99.9      1.0    1.00      81.4      1.2    1.00
 *           group              70.5      1.4    1.42      23.6      4.2    3.45
 *           sub_groups            -        -       -      26.3      3.7    3.09 */

ENTRY KERNEL(PLACE __global const ELEMENT(X_DTYPE) *x, int x0, __global const int *past, int past0,
             __global const int *len, int len0, __global const ELEMENT(BIAS_DTYPE) *bias, int bias0,
             __global const float *relative, int relative0, int reach, __global const float *sinks, int sinks0,
             __global ELEMENT(Y_DTYPE) *y, int y0, __global const int *dims, int R, int R_set, int8 size, int8 size_set, int8 x_step, int8 x_set,
             int8 bias_step, int8 bias_set, int8 y_step, int8 y_set, float scale)
{
    const int row = ITEM(0);
    if (row >= SIZE(R))
        return;
#include "softmax/row.clh"

    float top = -INFINITY;
    for (int s = first; s < end; s++)
        top = fmax(top, SCORE(s));
#if HAS_SINKS
    top = fmax(top, sinks[sinks0 + n[5]]);
#endif
    top = top == -INFINITY ? 0.0f : top; /* no visible element, a bias of -inf everywhere, or only NaN */
    for (int s = 0; s < min(first, S); s++)
        STORE(Y_DTYPE, y, yi + s * y7, 0.0f);
    for (int s = max(first, end); s < S; s++)
        STORE(Y_DTYPE, y, yi + s * y7, 0.0f);

    float total = 0.0f;
    for (int s = first; s < end; s++)
        total = ORDERED_ADD(tsr_exp_float(SCORE(s) - top), total);
#if HAS_SINKS
    total = ORDERED_ADD(tsr_exp_float(sinks[sinks0 + n[5]] - top), total);
#endif
    const float share = total == 0.0f ? 0.0f : 1.0f / total;
    for (int s = first; s < end; s++)
        STORE(Y_DTYPE, y, yi + s * y7, tsr_exp_float(SCORE(s) - top) * share);
}

#undef SCORE
#undef BIAS
#undef BY_DISTANCE
#undef ROW_AT
