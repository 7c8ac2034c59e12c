/* peak/again.cl - reads, or writes, the same memory again and again: what caches give.
 *
 *   grid    any number of work-items (SPANS, CPUs), or of whole work-groups
 *   data    vectors of T, aligned. Each work-item, or each work-group together, reads `count`
 *           vectors from its number times `stride` on, ROUNDS times; stride 0: all read the same
 *   out     one number for each work-item, so that the compiler removes nothing; not with WRITES
 *   build   WRITES: stores in place of loads
 *   tune    T uint4|uint16
 *   paid    not a kernel of an op: what it measures is the scale that kernels whose operands stay in
 *           caches are held against */
#ifdef WRITES
__kernel GROUP void peak_again(__global T *data, int count, int stride, int rounds)
#else
__kernel GROUP void peak_again(__global const T *data, __global uint *out, int count, int stride, int rounds)
#endif
{
#ifdef WRITES
    __global T *p;
#else
    __global const T *p;
#endif
#ifdef SPANS
    p = data + (size_t)get_global_id(0) * stride;
    const int first = 0, step = 1;
#else
    p = data + (size_t)get_group_id(0) * stride;
    const int first = get_local_id(0), step = get_local_size(0);
#endif
#ifdef WRITES
    for (int r = 0; r < rounds; r++)
        for (int i = first; i < count; i += step)
            p[i] = (T)(uint)(r + i);
#else
    T a = 0, b = 0, c = 0, d = 0;
    for (int r = 0; r < rounds; r++) {
        int i = first;
        for (; i + 3 * step < count; i += 4 * step) {
            a ^= p[i];
            b ^= p[i + step];
            c ^= p[i + 2 * step];
            d ^= p[i + 3 * step];
        }
        for (; i < count; i += step)
            a ^= p[i];
        a += (T)(uint)r; /* else two rounds cancel each other */
    }
    a = (a ^ b) ^ (c ^ d);
    out[get_global_id(0)] = a.s0 ^ a.s1 ^ a.s2 ^ a.s3;
#endif
}
