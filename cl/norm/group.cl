/* norm/group.cl - norm/plain by a work-group for each row.
 *
 *     layer  y = (x - mean) / sqrt(variance + eps) * weight + bias
 *     rms    y = x / sqrt(mean(x^2) + eps) * weight
 *
 *   grid    (GROUP, R) in work-groups of GROUP x 1. HELD 0: work-item i has columns i, i + GROUP, ..:
 *           neighbours read neighbouring words. Else it has four columns from 4*i on, four from
 *           4*(i + GROUP) on, .., HELD times, and keeps them in registers: so all of a row is asked for at
 *           once, which is what takes time where there is one row
 *   x[r,c]  at x0 + GROUPED_ROW(x, r) + c; y, residual and sum at y0 + r*y_row + c, ..
 *   alias   y and sum may each be x or residual, but not the same array: each element belongs to
 *           one work-item
 *   adds    over norm/plain: GROUP work-items share a row
 *   order   GROUP partial sums, added by a tree of halves (SUB_GROUPS: by the driver's functions):
 *           a fixed order, the same in any batch; the variance from differences to the mean, in a
 *           second pass
 *   needs   a work-group of GROUP, 4 * GROUP bytes of local memory; SUB_GROUPS: sub-groups, of any
 *           size
 *   build   RMS 0|1; ADD 0|1; HAS_BIAS; W_DTYPE, BIAS_DTYPE; SUB_GROUPS 0|1; HELD 0..4: 4*GROUP*HELD >= C, C and
 *           all rows and offsets multiples of four
 *   tune    GROUP 16..256, a power of two; SUB the size of a sub-group: 0 for the driver's choice,
 *           else one that the driver offers and lets a kernel ask for
 *           (cl_intel_required_subgroup_size)
 *   claims  waves 7
 *   paid    Intel's runtime, 2 Zen 4 cores, the norms of a Llama of 110 M parameters, ms of all
 *           layers:
 *
 *                                  512 tokens                      1 token
 *                                  GROUP=64   GROUP=16             GROUP=64   GROUP=16
 *           add_norm/sub_groups    6.55       3.01 (SUB=16)        0.034      0.022
 *           rms_norm/sub_groups    0.173      0.072                0.001      0.001
 *           add_norm/group         10.00      5.88                 0.078      0.072
 *           rms_norm/group         0.156      0.106
 *
 *           A work-group is a loop of one thread there, so lanes beyond the vector's only wait at
 *           barriers
 *   source  Ba et al. 2016, arXiv:1607.06450; Zhang, Sennrich 2019, arXiv:1910.07467 */
#include "norm/sub_size.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_SIZE void
KERNEL(__global const float *x, int x0,
#if ADD
       __global const float *residual, int residual0, __global float *sum, int sum0, int residual_row, int sum_row,
#endif
       __global const ELEMENT(W_DTYPE) *weight, int weight0, __global const ELEMENT(BIAS_DTYPE) *bias, int bias0,
       __global float *y, int y0, __global const int *dims, int R, int R_set, int C, int x_row, int x_group, int x_gap,
       int y_row, float eps)
{
    __local float share[GROUP];
    const int lane = (int)get_local_id(0), r = (int)get_global_id(1);
    x += x0 + GROUPED_ROW(x, r);
    y += y0 + r * y_row;
    weight += weight0;
#if ADD
    residual += residual0 + r * residual_row;
    sum += sum0 + r * sum_row;
#endif
    float mean = 0.0f, square = 0.0f;
#if HELD
#define FOUR(at) ((__global float4 *)(at))[part * GROUP + lane]
#define FOUR_OF(at) ((__global const float4 *)(at))[part * GROUP + lane]
#define INSIDE (part * GROUP + lane < C / 4)
    float4 held[HELD], weights[HELD];
#if HAS_BIAS
    float4 biases[HELD];
#endif
#pragma unroll
    for (int part = 0; part < HELD; part++) {
        held[part] = weights[part] = (float4)(0.0f);
        if (INSIDE)
            held[part] = FOUR_OF(x), weights[part] = LOAD4(W_DTYPE, weight, 4 * (part * GROUP + lane));
#if HAS_BIAS
        if (INSIDE)
            biases[part] = LOAD4(BIAS_DTYPE, bias, bias0 + 4 * (part * GROUP + lane));
#endif
#if ADD
        if (INSIDE)
            held[part] += FOUR_OF(residual);
#endif
    }
#if ADD
#pragma unroll
    for (int part = 0; part < HELD; part++)
        if (INSIDE)
            FOUR(sum) = held[part];
#endif
#if !RMS
#pragma unroll
    for (int part = 0; part < HELD; part++) {
        mean = ORDERED_ADD(held[part].x, mean), mean = ORDERED_ADD(held[part].y, mean);
        mean = ORDERED_ADD(held[part].z, mean), mean = ORDERED_ADD(held[part].w, mean);
    }
    GROUP_SUM(SUB_GROUPS, mean, share);
    mean /= (float)C;
#endif
#pragma unroll
    for (int part = 0; part < HELD; part++) {
        held[part] -= INSIDE ? mean : 0.0f;
        square = fma(held[part].x, held[part].x, square), square = fma(held[part].y, held[part].y, square);
        square = fma(held[part].z, held[part].z, square), square = fma(held[part].w, held[part].w, square);
    }
    GROUP_SUM(SUB_GROUPS, square, share);
    const float scale = 1.0f / sqrt(square / (float)C + eps);
#pragma unroll
    for (int part = 0; part < HELD; part++)
        if (INSIDE)
#if HAS_BIAS
            FOUR(y) = fma(held[part] * scale, weights[part], biases[part]);
#else
            FOUR(y) = held[part] * scale * weights[part];
#endif
#undef FOUR
#undef FOUR_OF
#undef INSIDE
#else
#if ADD
    for (int c = lane; c < C; c += GROUP)
        sum[c] = x[c] + residual[c];
#define ROW sum
#else
#define ROW x
#endif
#if !RMS
    for (int c = lane; c < C; c += GROUP)
        mean = ORDERED_ADD(ROW[c], mean);
    GROUP_SUM(SUB_GROUPS, mean, share);
    mean /= (float)C;
#endif
    for (int c = lane; c < C; c += GROUP)
        square = fma(ROW[c] - mean, ROW[c] - mean, square);
    GROUP_SUM(SUB_GROUPS, square, share);
    const float scale = 1.0f / sqrt(square / (float)C + eps);

    for (int c = lane; c < C; c += GROUP) {
        const float v = (ROW[c] - mean) * scale, w = LOAD(W_DTYPE, weight, c);
#if HAS_BIAS
        y[c] = fma(v, w, LOAD(BIAS_DTYPE, bias, bias0 + c));
#else
        y[c] = v * w;
#endif
    }
#undef ROW
#endif
}

#undef SUB_SIZE
