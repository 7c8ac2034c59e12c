/* topk/lanes.cl - topk/plain for CPUs: sixteen elements are skipped at once if none beats the smallest of
 * those kept, and their exponentials are vectors.
 *
 *   grid    (R), work-groups of one work-item
 *   operands, keeps, order as topk/plain, x of f32
 *   needs   float16 in registers (a CPU)
 *   build   X_DTYPE; HAS_LSE
 *   paid    part of docs/performance.md: a search of 4 beams by a Transformer-base, 64 sentences,
 *           with argmax/lanes */
#include "elementwise/math16.clh"
#include "elementwise/sixteen.clh"
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
    for (int v = 0; v < n; v += 16) {
        /* All are at most the last: false if there is a NaN on either side, which is then
         * examined. */
        if (v >= k && v + 16 <= n && all(SIXTEEN_OF(x + v) <= (float16)(last)))
            continue;
        for (int i = v; i < min(v + 16, n); i++) {
            const float candidate = x[i];
            if (i >= k && !BEATS(candidate, last))
                continue;
            int at = min(i, k - 1);
            for (; at > 0 && BEATS(candidate, values[at - 1]); at--) {
                values[at] = values[at - 1];
                indices[at] = indices[at - 1];
            }
            values[at] = candidate;
            indices[at] = i;
            last = values[min(i, k - 1)];
        }
    }

#if HAS_LSE
    const float top = values[0];
    float8 part = 0.0f;
    int v = 0;
    for (; v + 16 <= n; v += 16) {
        const float16 e = tsr_exp_float16(SIXTEEN_OF(x + v) - top);
        part = ORDERED_ADD(e.lo, part);
        part = ORDERED_ADD(e.hi, part);
    }
    for (; v + 8 <= n; v += 8)
        for (int j = 0; j < 8; j++)
            ((float *)&part)[j] = ORDERED_ADD(tsr_exp_float(x[v + j] - top), ((float *)&part)[j]);
    const float *sums = (const float *)&part;
    float total = SUM8(sums);
    for (; v < n; v++)
        total = ORDERED_ADD(tsr_exp_float(x[v] - top), total);
    lse[lse0 + r] = top == -INFINITY ? top : top + log(total);
#endif
}

#undef SIXTEEN
#undef BEATS
#undef SIXTEEN_OF
