/* peak/units.cl - products of a GPU's matrix unit in registers: the most that it can do.
 *
 *   sums <- sums + left right, CHAINS results of the unit, ROUNDS times
 *   grid    work-groups of one sub-group; 2 * UNIT_M * UNIT_N * UNIT_K operations for each result, with INT8
 *           twice as many
 *   out     one number for each work-item, so that the compiler removes nothing
 *   needs   a unit that probe/*.cl found
 *   build   UNIT_MMA|UNIT_MFMA|UNIT_WMMA11|UNIT_WMMA12|UNIT_DPAS8|UNIT_DPAS16 1 (units/*.clh); PRODUCT f16|bf16, INT8
 *   paid    not a kernel of an op: what it measures is the scale that matrix products are held against */
#include "units/unit.clh"
#define CHAINS 4 /* results that do not wait for each other; other sub-groups hide what is left */
#ifdef INT8
#define SUMS_T UNIT_INTS_T
#define MAD UNIT_MAD_INT8
#else
#define SUMS_T UNIT_SUMS_T
#define MAD UNIT_MAD
#endif

UNIT_GROUP __kernel __attribute__((reqd_work_group_size(UNIT_LANES, 1, 1))) void peak_units(__global int *out, int rounds)
{
    const int lane = (int)get_local_id(0);
#ifdef TSR_EMULATED_UNITS
    __local uint UNIT_SHARE[UNIT_SHARE_WORDS];
#endif
    UNIT_LEFT_T left[UNIT_LEFT_PARTS];
    uint right[UNIT_RIGHT_PARTS];
    SUMS_T sums[CHAINS];
    for (int e = 0; e < UNIT_LEFT_PARTS; e++)
        left[e] = (UNIT_LEFT_T)(0x3c003c00 + lane); /* f16: about 1; bf16: about 2^-7 */
    for (int e = 0; e < UNIT_RIGHT_PARTS; e++)
        right[e] = 0x3c003c00 + lane;
    for (int i = 0; i < CHAINS; i++)
        sums[i] = (SUMS_T)(i);
    for (int i = 0; i < rounds; i++) {
#pragma unroll
        for (int c = 0; c < CHAINS; c++)
            MAD(sums[c], left, right);
    }
    int all = 0;
    for (int c = 0; c < CHAINS; c++)
        for (int i = 0; i < UNIT_ROWS * UNIT_COLUMNS; i++)
            all ^= ((__private int *)&sums[c])[i];
    out[get_global_id(0)] = all;
}
