/* peak/write.cl - writes memory once, in order, and nothing else.
 *
 *   grid    as peak/read.cl
 *   data    vectors of T, aligned
 *   tune    T uint4|uint16
 *   paid    not a kernel of an op: what it measures is the scale that kernels which write much are
 *           held against. The driver's own fill is measured beside it, and the better one counts:
 *           stores that pass the caches save the reads that ordinary stores begin with */
__kernel GROUP void peak_write(__global T *data, uint value, int count)
{
    const int item = get_global_id(0);
#ifdef SPANS
    __global T *p = data + item * count;
    const int step = 1;
#else
    __global T *p = data + item;
    const int step = get_global_size(0);
#endif
    const T v = (T)(value + (uint)item);
    for (int i = 0; i < count; i++)
        p[i * step] = v;
}
