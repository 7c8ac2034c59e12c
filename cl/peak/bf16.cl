/* peak/bf16.cl - sums of products of bf16 in registers: the most that a CPU can do by vdpbf16ps or,
 * with TILES, by the tiles of AMX.
 *
 *   24 registers of 16 sums, ROUNDS times; 32 multiply-adds each. TILES: 4 tiles of 256 sums; 8192
 *   multiply-adds each
 *   grid    any number of work-items
 *   out     16 numbers for each work-item
 *   needs   as weighted/bf16.clh; TILES: as weighted/amx.clh
 *   paid    TILES: 6.2 TFLOP/s on 2 cores of Granite Rapids class */
#ifdef TILES
static __attribute__((noinline)) void peak_chains(ulong rounds, ulong out)
{
    uchar shape[64] __attribute__((aligned(64))) = {1};
    for (int tile = 0; tile < 8; tile++) {
        shape[16 + 2 * tile] = 64;
        shape[48 + tile] = 16;
    }
    __asm__ volatile("ldtilecfg (%2)\n\t1:\n\t"
                     "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\ttdpbf16ps %%tmm7, %%tmm4, %%tmm1\n\t"
                     "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\ttdpbf16ps %%tmm7, %%tmm5, %%tmm3\n\t"
                     "dec %0\n\tjnz 1b\n\ttilerelease\n\tmovl $0, (%1)\n\t"
                     : "+r"(rounds)
                     : "r"(out), "r"(shape)
                     : "memory");
}
#else
#include "peak/registers.clh"

#define PEAK_ZEROS "vpxord %%zmm0, %%zmm0, %%zmm0\n\tvpxord %%zmm1, %%zmm1, %%zmm1\n\t"
#define PEAK_SUM(n) "vdpbf16ps %%zmm1, %%zmm0, %%zmm" #n "\n\t"
#define PEAK_ADD(n) "vaddps %%zmm" #n ", %%zmm8, %%zmm8\n\t"
ZMM_CHAINS(peak_chains, PEAK_ZEROS, PEAK_SUM, PEAK_ADD)
#endif

__kernel GROUP void peak_bf16(__global int *out, int rounds)
{
    peak_chains((ulong)rounds, (ulong)(out + get_global_id(0) * 16));
}
