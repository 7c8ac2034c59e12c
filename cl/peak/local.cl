/* peak/local.cl - reads local memory and nothing else.
 *
 *   grid    any number of work-items; 8 vectors of T a round each
 *   out     one number for each work-item, so that the compiler removes nothing
 *   tune    T uint4|uint16; COUNT vectors, a power of two: neighbours read neighbouring vectors
 *   paid    not a kernel of an op: what it measures is the scale that tiles in local memory are held
 *           against. On CPUs local memory is the cache */
#define COUNT 128

__kernel GROUP void peak_local(__global uint *out, int rounds)
{
    __local T tile[COUNT];
    const int me = get_local_id(0);
    for (int i = me; i < COUNT; i += get_local_size(0))
        tile[i] = (T)(uint)(i * 2654435761u);
    barrier(CLK_LOCAL_MEM_FENCE);
    T a = 0, b = 0, c = 0, d = 0;
    for (int r = 0; r < rounds; r++) {
        const int at = me + 8 * r;
        a ^= tile[at & (COUNT - 1)];
        b ^= tile[(at + 1) & (COUNT - 1)];
        c ^= tile[(at + 2) & (COUNT - 1)];
        d ^= tile[(at + 3) & (COUNT - 1)];
        a += tile[(at + 4) & (COUNT - 1)];
        b += tile[(at + 5) & (COUNT - 1)];
        c += tile[(at + 6) & (COUNT - 1)];
        d += tile[(at + 7) & (COUNT - 1)];
    }
    a = (a ^ b) ^ (c ^ d);
    out[get_global_id(0)] = a.s0 ^ a.s1 ^ a.s2 ^ a.s3;
}
