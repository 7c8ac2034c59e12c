/* peak/fma.cl - multiply-adds in registers and nothing else: the most that a device can do.
 *
 *   a <- a * x + y, ten independent vectors of LANES numbers, ROUNDS times
 *   grid    any number of work-items; 20 * LANES flops a round each
 *   out     one number for each work-item, so that the compiler removes nothing
 *   needs   T half: cl_khr_fp16
 *   tune    T float|half and LANES 1|4|8|16: as many as a register has; ten vectors hide a latency
 *           of five at two a cycle
 *   paid    236 GFLOP/s on 2 AVX-512 cores, where a loop in assembly reaches 236. f16 through fma()
 *           is a function call on Intel's CPU runtime, ten times slower than a * x + y */
#ifdef HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT ON
#define MAD(a) a = a * x + y
#else
#define MAD(a) a = fma(a, x, y)
#endif

__kernel GROUP void peak_fma(__global float *out, float sx, float sy, int rounds)
{
    /* Each work-item has numbers of its own, because a compiler may compute once what is the same
     * for all. */
    const T x = (T)(S)(sx - 1e-6f * get_global_id(0)), y = (T)(S)sy;
    T a0 = x * (S)0.1f, a1 = x * (S)0.2f, a2 = x * (S)0.3f, a3 = x * (S)0.4f, a4 = x * (S)0.5f;
    T a5 = x * (S)0.6f, a6 = x * (S)0.7f, a7 = x * (S)0.8f, a8 = x * (S)0.9f, a9 = x;
    for (int i = 0; i < rounds; i++) {
        MAD(a0); MAD(a1); MAD(a2); MAD(a3); MAD(a4);
        MAD(a5); MAD(a6); MAD(a7); MAD(a8); MAD(a9);
    }
    const T sum = ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7)) + (a8 + a9);
    out[get_global_id(0)] = (float)FIRST(sum);
}
