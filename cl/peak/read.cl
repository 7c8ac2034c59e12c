/* peak/read.cl - reads memory once, in order, and nothing else.
 *
 *   grid    one work-item for a run of `count` vectors where SPANS (CPUs); else the vectors are
 *           dealt one by one (GPUs: neighbours read neighbouring words)
 *   data    vectors of T, aligned; out: one number for each work-item, so that the compiler removes
 *           nothing
 *   tune    T uint4|uint16
 *   paid    not a kernel of an op: what it measures is the scale that kernels limited by memory are
 *           held against */
__kernel GROUP void peak_read(__global const T *data, __global uint *out, int count)
{
    const int item = get_global_id(0);
#ifdef SPANS
    __global const T *p = data + item * count;
    const int step = 1;
#else
    __global const T *p = data + item;
    const int step = get_global_size(0);
#endif
    T a = 0, b = 0, c = 0, d = 0;
    int i = 0;
    for (; i + 4 <= count; i += 4) {
        a ^= p[i * step];
        b ^= p[(i + 1) * step];
        c ^= p[(i + 2) * step];
        d ^= p[(i + 3) * step];
    }
    for (; i < count; i++)
        a ^= p[i * step];
    a = (a ^ b) ^ (c ^ d);
    out[item] = a.s0 ^ a.s1 ^ a.s2 ^ a.s3;
}
