/* sum_rows/lanes.cl - sum_rows/plain for CPUs, 16 columns in lanes.
 *
 *   grid    (C/16), work-groups of one work-item
 *   operands, order, build as sum_rows/plain
 *   needs   float16 in registers (a CPU)
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           R=4x128 C=2048
 *           plain          883.8      4.8    1.00     101.6     41.4    1.00
 *           lanes           33.1    126.9   26.69      50.5     83.2    2.01 */
typedef float16 __attribute__((aligned(4))) LOCAL_NAME(loose);

static inline __attribute__((always_inline)) void
LOCAL_NAME(add)(__global const float *sums, int blocks, int pitch, int width, __global float *y)
{
    if (width >= 16) {
        float16 total = 0.0f;
        for (int b = 0; b < blocks; b++)
            total = ORDERED_ADD(*(__global const LOCAL_NAME(loose) *)(sums + b * pitch), total);
        *(__global LOCAL_NAME(loose) *)y = total;
        return;
    }
    for (int c = 0; c < width; c++) {
        float total = 0.0f;
        for (int b = 0; b < blocks; b++)
            total = ORDERED_ADD(sums[b * pitch + c], total);
        y[c] = total;
    }
}

ENTRY_OF_ONE KERNEL(PLACE __global const float *sums, __global float *y, int y0, __global float *z, int z0,
                    __global const int *dims, int R, int R_set, int C, int C_set)
{
    const int c = ITEM(0) * 16, columns = SIZE(C), blocks = (SIZE(R) + BLOCK - 1) / BLOCK;
    if (c >= columns)
        return;
    LOCAL_NAME(add)(sums + c, blocks, PARTS * columns, columns - c, y + y0 + c);
#if PARTS == 2
    LOCAL_NAME(add)(sums + columns + c, blocks, PARTS * columns, columns - c, z + z0 + c);
#endif
}
