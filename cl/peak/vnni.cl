/* peak/vnni.cl - sums of products of bytes in registers by vpdpbusd: the most that a CPU with
 * AVX512-VNNI can do.
 *
 *   24 registers of 16 sums, ROUNDS times; 64 multiply-adds each
 *   grid    any number of work-items
 *   out     16 numbers for each work-item
 *   needs   as weighted/vnni.clh
 *   paid    934 Gop/s on 2 Zen 4 cores */
#include "peak/registers.clh"

#define PEAK_ONES "vpternlogd $255, %%zmm0, %%zmm0, %%zmm0\n\tvpternlogd $255, %%zmm1, %%zmm1, %%zmm1\n\t"
#define PEAK_SUM(n) "vpdpbusd %%zmm1, %%zmm0, %%zmm" #n "\n\t"
#define PEAK_ADD(n) "vpaddd %%zmm" #n ", %%zmm8, %%zmm8\n\t"
ZMM_CHAINS(peak_chains, PEAK_ONES, PEAK_SUM, PEAK_ADD)

__kernel GROUP void peak_vnni(__global int *out, int rounds)
{
    peak_chains((ulong)rounds, (ulong)(out + get_global_id(0) * 16));
}
