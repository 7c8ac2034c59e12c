/* probe/dot.cl - whether the device's compiler has an instruction for dot products of four bytes,
 * and it is right. Run in a process of its own (helper/probe.c): out[0] becomes 0x600d.
 *
 *   grid    (1)
 *   paid    not a kernel of an op: it is run once, before a variant with DOT 1 is offered */
#include "matmul/dot.clh"
#ifdef DOT4_SLOW
#error "this compiler has no dot product of bytes"
#endif

__kernel void KERNEL(__global int *out)
{
    uint a = (uint)out[0] + 0x80ff7f01u, b = (uint)out[1] + 0x807f80ffu; /* the host has left zeros there */
    int wrong = 0;
    for (int i = 0; i < 64; i++) {
        int sum = i - 32;
        for (int j = 0; j < 4; j++)
            sum += (int)(char)(a >> 8 * j) * (int)(char)(b >> 8 * j);
        wrong += DOT4_1(a, b, i - 32) != sum;
        a = a * 1664525u + 1013904223u;
        b = b * 22695477u + 1u;
    }
    out[0] = wrong ? wrong : 0x600d;
}
