/* argmax/lanes.cl - argmax/plain for CPUs: sixteen elements are skipped at once if none beats the
 * largest so far.
 *
 *   grid    (R), work-groups of one work-item
 *   operands as argmax/plain, x of f32
 *   needs   float16 in registers (a CPU)
 *   build   X_DTYPE
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           R=1 V=32000
 *           plain           11.3     11.4    1.00      11.3     11.3    1.00
 *           lanes           4.73     27.1    2.38      1.15    111.2    9.81
 *
 *           R=8 V=128256
 *           plain          372.7     11.0    1.00     368.2     11.1    1.00
 *           lanes           75.9     54.1    4.91      30.4    134.9   12.10 */
#include "elementwise/sixteen.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const ELEMENT(X_DTYPE) *x, int x0, __global int *y, int y0, __global const int *dims,
                    int R, int R_set, int V, int V_set, int x_row)
{
    const int r = ITEM(0), n = SIZE(V);
    if (r >= SIZE(R))
        return;
    x += x0 + r * x_row;
    int best = 0;
    float largest = x[0];
    for (int v = 0; v < n; v += 16) {
        /* All are at most the largest: false if there is a NaN on either side, which is then
         * examined. */
        if (v + 16 <= n && all(SIXTEEN_OF(x + v) <= (float16)(largest)))
            continue;
        for (int i = v; i < min(v + 16, n); i++)
            if (x[i] > largest || (isnan(largest) && !isnan(x[i]))) {
                largest = x[i];
                best = i;
            }
    }
    y[y0 + r] = isfinite(largest) ? best : isnan(largest) ? -1 : largest > 0.0f ? -3 : -2;
}

#undef SIXTEEN
#undef SIXTEEN_OF
