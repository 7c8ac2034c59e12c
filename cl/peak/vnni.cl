/* peak/vnni.cl - sums of products of bytes in registers by vpdpbusd: the most that a CPU with
 * AVX512-VNNI can do.
 *
 *   24 registers of 16 sums, ROUNDS times; 64 multiply-adds each
 *   grid    any number of work-items
 *   out     16 numbers for each work-item
 *   needs   as weighted/vnni.clh, whose form of inline assembly it has for the same reasons:
 *           registers named in the text, alone in a function
 *   paid    934 Gop/s on 2 Zen 4 cores */
#define PEAK_SUM(n) "vpdpbusd %%zmm1, %%zmm0, %%zmm" #n "\n\t"
#define PEAK_ZERO(n) "vpxord %%zmm" #n ", %%zmm" #n ", %%zmm" #n "\n\t"
#define PEAK_ADD(n) "vpaddd %%zmm" #n ", %%zmm8, %%zmm8\n\t"
#define PEAK_ALL(X)                                                                                                    \
    X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) \
    X(28) X(29) X(30) X(31)

static __attribute__((noinline)) void peak_chains(ulong rounds, ulong out)
{
    __asm__ volatile("vpternlogd $255, %%zmm0, %%zmm0, %%zmm0\n\t"
                     "vpternlogd $255, %%zmm1, %%zmm1, %%zmm1\n\t" PEAK_ALL(PEAK_ZERO) "1:\n\t" PEAK_ALL(PEAK_SUM) "dec %0\n\t"
                     "jnz 1b\n\t" PEAK_ALL(PEAK_ADD) "vmovdqu32 %%zmm8, (%1)\n\t"
                     : "+r"(rounds)
                     : "r"(out)
                     : "memory");
}

__kernel GROUP void peak_vnni(__global int *out, int rounds)
{
    peak_chains((ulong)rounds, (ulong)(out + get_global_id(0) * 16));
}
