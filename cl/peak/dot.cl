/* peak/dot.cl - dot products of four bytes in registers: the most that the integer unit of a device
 * can do.
 *
 *   a <- a + dot(w, a), eight independent sums, ROUNDS times
 *   grid    any number of work-items; 64 operations a round each (a multiply and an add for each
 *           byte)
 *   out     one number for each work-item, so that the compiler removes nothing
 *   needs   a compiler with dot products of bytes (matmul/dot.clh)
 *   paid    not a kernel of an op: what it measures is the scale that products of bytes are held
 *           against
 *   source  the Khronos extension's specification, version 2 */
#include "matmul/dot.clh"
#define DOT(a) a = DOT4_1(w, as_uint(a), a)

__kernel void peak_dot(__global int *out, uint w, int start, int rounds)
{
    start += get_global_id(0); /* else a compiler may compute it once for all work-items */
    int a0 = start, a1 = start + 1, a2 = start + 2, a3 = start + 3, a4 = start + 4, a5 = start + 5, a6 = start + 6, a7 = start + 7;
    for (int i = 0; i < rounds; i++) {
        DOT(a0); DOT(a1); DOT(a2); DOT(a3);
        DOT(a4); DOT(a5); DOT(a6); DOT(a7);
    }
    out[get_global_id(0)] = a0 ^ a1 ^ a2 ^ a3 ^ a4 ^ a5 ^ a6 ^ a7;
}
