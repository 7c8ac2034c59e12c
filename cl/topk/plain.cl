/* topk/plain.cl - the k largest of each row, largest first, equal ones by index; and log sum exp
 * of the whole row.
 *
 *   grid    (R), work-groups of one work-item: a row each. The compiler of Intel's FPGA emulator, given
 *           16 rows side by side, made code that reads from address 0
 *   x[r,v]  at x0 + r*x_row + v; values and indices [R,k] and lse [R] contiguous
 *   keeps   the best so far, sorted, in the outputs; a candidate that beats the last of them is
 *           moved up to its place, which happens about k * ln(V/k) times for values in random
 *           order. NaN counts as smallest
 *   order   the exponentials in eight partial sums, then the tail
 *   needs   nothing beyond OpenCL C 1.1
 *   build   X_DTYPE; HAS_LSE
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           R=1 V=32000 k=40
 *           plain           20.0      6.4    1.00      19.5      6.6    1.00
 *           lanes           8.04     16.0    2.49      4.71     27.3    4.15
 *
 *           R=8 V=128256 k=40 lse
 *           plain           1407      2.9    1.00      3179      1.3    1.00
 *           lanes          309.0     13.3    4.55     200.5     20.5   15.85 */

#define BEATS(u, v) ((u) > (v) || (isnan(v) && !isnan(u)))

ENTRY_OF_ONE KERNEL(PLACE __global const ELEMENT(X_DTYPE) *x, int x0, __global float *values, int values0,
                    __global int *indices, int indices0, __global float *lse, int lse0, __global const int *dims, int R,
                    int R_set, int V, int V_set, int k, int x_row)
{
    const int r = ITEM(0), n = SIZE(V);
    if (r >= SIZE(R))
        return;
    x += x0 + r * x_row;
    values += values0 + r * k;
    indices += indices0 + r * k;

    float last = 0.0f; /* the smallest of those kept */
    for (int v = 0; v < n; v++) {
        const float candidate = LOAD(X_DTYPE, x, v);
        if (v >= k && !BEATS(candidate, last))
            continue;
        int at = min(v, k - 1);
        for (; at > 0 && BEATS(candidate, values[at - 1]); at--) {
            values[at] = values[at - 1];
            indices[at] = indices[at - 1];
        }
        values[at] = candidate;
        indices[at] = v;
        last = values[min(v, k - 1)];
    }

#if HAS_LSE
    const float top = values[0];
    float part[8];
    const int whole = n / 8 * 8;
    for (int j = 0; j < 8; j++)
        part[j] = 0.0f;
    for (int v = 0; v < whole; v += 8)
        for (int j = 0; j < 8; j++)
            part[j] = ORDERED_ADD(tsr_exp_float(LOAD(X_DTYPE, x, v + j) - top), part[j]);
    float total = SUM8(part);
    for (int v = whole; v < n; v++)
        total = ORDERED_ADD(tsr_exp_float(LOAD(X_DTYPE, x, v) - top), total);
    lse[lse0 + r] = top == -INFINITY ? top : top + log(total);
#endif
}

#undef BEATS
