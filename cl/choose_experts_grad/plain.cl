/* choose_experts_grad/plain.cl - the gradient of scores whose shares of their sum are factors.
 *
 *     dscores[r,e] = (dfactors[r,i] - sum_j dfactors[r,j] factors[r,j]) / (sum_j scores[r,experts[r,j]] + 1e-20)
 *
 * where experts[r,i] = e, else 0
 *
 *   grid    (R), one work-item for a row
 *   order   sums run in the order of increasing j
 *   needs   nothing beyond OpenCL C 1.1; packed operands */

ENTRY KERNEL(PLACE __global const float *scores, int scores0, __global const int *experts, int experts0,
             __global const float *factors, int factors0, __global const float *dfactors, int dfactors0,
             __global float *dscores, int dscores0, __global const int *dims, int R, int R_set, int E, int k)
{
    const int r = ITEM(0);
    if (r >= SIZE(R))
        return;
    scores += scores0 + r * E;
    experts += experts0 + r * k;
    factors += factors0 + r * k;
    dfactors += dfactors0 + r * k;
    dscores += dscores0 + r * E;
    float sum = 0.0f, common = 0.0f;
    for (int i = 0; i < k; i++) {
        sum = ORDERED_ADD(scores[experts[i]], sum);
        common = fma(dfactors[i], factors[i], common);
    }
    for (int e = 0; e < E; e++)
        dscores[e] = 0.0f;
    for (int i = 0; i < k; i++)
        dscores[experts[i]] = (dfactors[i] - common) / (sum + 1e-20f);
}
