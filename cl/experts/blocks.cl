/* experts/blocks.cl - the products of experts/plain on CPUs, from weights of blocks in panels.
 *
 *   grid    (N/64, E or pairs), work-groups of one work-item: all pairs of an expert by 64 outputs, as
 *           experts/packed
 *   x, y    as experts/plain
 *   w       of each expert in panels as weighted/vnni.clh says or, with WIDE,
 *           weighted/wide.clh; its outputs (gates) are a multiple of 64
 *   adds    over experts/plain: panels and float16 lanes; a part of a weight is read from memory once
 *           for MR pairs, and an expert that no row takes is not read
 *   order   as experts/plain: the same bytes
 *   needs   float16 in registers (a CPU), no special instruction
 *   build   W_DTYPE, BIAS_DTYPE; HAS_BIAS, GATED, WIDE; ACT; INT8; BY_PAIR
 *   tune    MR 1..6 pairs at a time */
#define HAS_RESIDUAL 0
#if WIDE
#ifndef MR
#define MR 3
#endif
#include "weighted/wide_float.clh"
#define PANEL_BYTES(K) ((size_t)WIDE_PANEL(W_DTYPE, K))
#else
#include "weighted/blocks.clh"
#define PANEL_BYTES(K) ((size_t)(K) / 32 * SMALL_BLOCK(W_DTYPE))
#endif
#if GATED
#include "glu_linear/finish64.clh"
#else
#include "linear/finish64.clh"
#endif
#include "experts/pairs.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const int *experts, int experts0, __global const ELEMENT(BIAS_DTYPE) *bias, int bias0,
                    __global float *y, int y0, __global const int *dims, int P, int P_set, int E, int N, int K,
                    int share, int x_row, int y_row)
{
    const int pairs = SIZE(P), n = ITEM(0) * 64;
    int at = 0, pair[MR];
    experts += experts0;
    if (n >= N)
        return;
    const int e = LOCAL_NAME(expert)(experts, pairs, ITEM(1), &at);
    if (e < FIRST_EXPERT || e - FIRST_EXPERT >= E)
        return;
    const size_t outputs = (size_t)(e - FIRST_EXPERT) * N * (GATED + 1); /* before the expert's */
    __global const uchar *panel = w + (outputs + n) / 64 * PANEL_BYTES(K);
    bias += bias0 + outputs;

    for (int count; (count = LOCAL_NAME(pairs)(experts, pairs, e, &at, pair)) > 0;) {
        __global const float *left[MR];
        float16 sum[GATED + 1][MR][4];
        for (int r = 0; r < MR; r++)
            left[r] = x + x0 + pair[min(r, count - 1)] / share * x_row;
        for (int part = 0; part <= GATED; part++)
            LOCAL_NAME(tile)(left, panel + part * (size_t)(N / 64) * PANEL_BYTES(K), K, sum[part]);
        for (int r = 0; r < count; r++)
            LOCAL_NAME(finish)
            ((const float *)sum[0][r],
#if GATED
             (const float *)sum[1][r], bias,
#else
             bias, y,
#endif
             y + y0 + pair[r] * y_row, n, N);
    }
}

#undef MR
#undef HAS_RESIDUAL
#undef PANEL_BYTES
#undef FIRST_EXPERT
#undef GROUPS
#undef OFFSET
