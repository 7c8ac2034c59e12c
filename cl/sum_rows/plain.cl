/* sum_rows/plain.cl - adds the sums that sum_rows/blocks or norm_weight_grad/blocks left: y[c] =
 * sum over b of sums[b,c]; z likewise from the columns past y's.
 *
 *   grid    (C), one work-item per column
 *   sums    [ceil(R / BLOCK), PARTS * C], scratch; y and z contiguous
 *   order   ascending b, so that the number of rows alone decides
 *   needs   nothing beyond OpenCL C 1.1
 *   build   BLOCK; PARTS 1|2: without | with z
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           R=4x128 C=2048
 *           plain          883.8      4.8    1.00     101.6     41.4    1.00
 *           lanes           33.1    126.9   26.69      50.5     83.2    2.01 */

ENTRY KERNEL(PLACE __global const float *sums, __global float *y, int y0, __global float *z, int z0,
             __global const int *dims, int R, int R_set, int C, int C_set)
{
    const int c = ITEM(0), columns = SIZE(C), blocks = (SIZE(R) + BLOCK - 1) / BLOCK;
    if (c >= columns)
        return;
    float total = 0.0f;
    for (int b = 0; b < blocks; b++)
        total = ORDERED_ADD(sums[b * PARTS * columns + c], total);
    y[y0 + c] = total;
#if PARTS == 2
    total = 0.0f;
    for (int b = 0; b < blocks; b++)
        total = ORDERED_ADD(sums[b * PARTS * columns + columns + c], total);
    z[z0 + c] = total;
#endif
}
