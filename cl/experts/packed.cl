/* experts/packed.cl - the products of experts/plain on CPUs, from weights in panels.
 *
 *   grid    (N/LANES, E or pairs), work-groups of one work-item: all pairs of an expert by 64 sums:
 *           64 outputs, or with GATED 32 gates and their ups. Dimension 0 walks the outputs, so that
 *           consecutive work-groups read an expert's weight in order
 *   x, y    as experts/plain
 *   w       of each expert as in linear/packed and glu_linear/packed; its outputs (gates) are a multiple
 *           of 64, so a panel belongs to one expert
 *   adds    over experts/plain: panels and float16 lanes; a part of a weight is read from memory once
 *           for all pairs, and an expert that no row takes is not read
 *   order   as experts/plain: the same bytes
 *   needs   float16 in registers (a CPU)
 *   build   W_DTYPE, BIAS_DTYPE; HAS_BIAS, GATED; ACT; BY_PAIR
 *   tune    MR 1..7 pairs at a time, as the rows of linear/packed */
#ifndef MR
#define MR 6
#endif
#include "elementwise/math16.clh"
#include "experts/pairs.clh"
#ifndef FLOAT16_ANY
#define FLOAT16_ANY /* 16 floats at any address: pocl 3.1 compiles vload16 to four loads and three inserts */
typedef float float16_any __attribute__((ext_vector_type(16), aligned(4)));
#endif

#define HALF_PANEL (GATED ? 2 : 4) /* vectors of outputs */

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
                    __global const int *experts, int experts0, __global const ELEMENT(BIAS_DTYPE) *bias, int bias0,
                    __global float *y, int y0, __global const int *dims, int P, int P_set, int E, int N, int K,
                    int share, int x_row, int y_row)
{
    const int pairs = SIZE(P), n = ITEM(0) * HALF_PANEL * 16;
    int at = 0, pair[MR];
    experts += experts0;
    if (n >= N)
        return;
    const int e = LOCAL_NAME(expert)(experts, pairs, ITEM(1), &at);
    if (e < FIRST_EXPERT || e - FIRST_EXPERT >= E)
        return;
    const size_t outputs = (size_t)(e - FIRST_EXPERT) * N * (GATED + 1); /* before the expert's */
    __global const ELEMENT(W_DTYPE) *gates = w + w0 + (outputs + n / 64 * 64) * K + n % 64;
    __global const ELEMENT(W_DTYPE) *ups = gates + (size_t)N * K; /* where GATED */
    bias += bias0 + outputs + n;

    for (int count; (count = LOCAL_NAME(pairs)(experts, pairs, e, &at, pair)) > 0;) {
        if (count == 1) {
#define TILE 1
#include "experts/packed_tile.clh"
#undef TILE
        } else if (MR > 3 && count <= 3) {
#define TILE 3
#include "experts/packed_tile.clh"
#undef TILE
        } else {
#define TILE MR
#include "experts/packed_tile.clh"
#undef TILE
        }
    }
}

#undef MR
#undef HALF_PANEL
#undef FIRST_EXPERT
