/* expert_matmul_add/plain.cl - state[e,m,n] = beta * state[e,m,n] + sum over the pairs p with experts[p] = e
 * of a[p,m] b[p,n].
 *
 *   grid    (N, M, E), one work-item each: an element, whose pairs it finds by reading `experts` in order
 *   a[p,m]  at a0 + p/a_share*a_row + m: a_share pairs have one row; b likewise; state packed
 *   order   each sum is accumulated by fma, ascending p, and added to beta * state at its end
 *   needs   nothing beyond OpenCL C 1.1
 *   build   HAS_BETA */

ENTRY KERNEL(PLACE __global float *state, int state0, __global const float *a, int a0, __global const float *b, int b0,
             __global const int *experts, int experts0, __global const float *beta, int beta0, __global const int *dims,
             int P, int P_set, int E, int M, int N, int a_share, int b_share, int a_row, int b_row)
{
    const int n = ITEM(0), m = ITEM(1), e = ITEM(2), pairs = SIZE(P);
    if (n >= N || m >= M || e >= E)
        return;
    float sum = 0.0f;
    for (int p = 0; p < pairs; p++)
        if (experts[experts0 + p] == e)
            sum = fma(a[a0 + p / a_share * a_row + m], b[b0 + p / b_share * b_row + n], sum);
    __global float *to = state + state0 + (e * M + m) * N + n;
#if HAS_BETA
    const float factor = beta[beta0];
    *to = factor == 0.0f ? sum : fma(factor, *to, sum);
#else
    *to += sum;
#endif
}
