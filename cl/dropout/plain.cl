/* dropout/plain.cl - y = x / (1 - rate) where the random number of an element is not below the rate,
 * else 0.
 *
 *   grid    (elements / 4), one work-item for the four elements of a counter
 *   x, y    at any strides, given in elements for the last eight dimensions; both contiguous where
 *           FLAT
 *   number  of element i: word i % 4 of Philox 4x32-10 with the key (seed[0], seed[1]) and the
 *           counter (i / 4, site, seed[2], seed[3]); it is below the rate where it is less than
 *           `threshold`, the rate times 2^32 rounded up
 *   alias   y may be x
 *   needs   nothing beyond OpenCL C 1.1
 *   build   FLAT
 *   paid    see elementwise/unary.cl
 *   source  Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", SC11 */

ENTRY KERNEL(PLACE __global const float *x, int x0, __global const int *seed, int seed0, __global float *y, int y0,
             __global const int *dims, int N, int N_set, int site, int threshold, float scale
#if !FLAT
             , int8 size, int8 size_set, int8 x_step, int8 x_set, int8 y_step, int8 y_set
#endif
)
{
    const int g = ITEM(0), n = SIZE(N);
    if (4 * g >= n)
        return;
    uint word[4], k0 = (uint)seed[seed0], k1 = (uint)seed[seed0 + 1];
    word[0] = (uint)g;
    word[1] = (uint)site;
    word[2] = (uint)seed[seed0 + 2];
    word[3] = (uint)seed[seed0 + 3];
    for (int round = 0; round < 10; round++) {
        const uint low0 = 0xD2511F53u * word[0], high0 = mul_hi(0xD2511F53u, word[0]), low1 = 0xCD9E8D57u * word[2],
                   high1 = mul_hi(0xCD9E8D57u, word[2]);
        word[0] = high1 ^ word[1] ^ k0;
        word[2] = high0 ^ word[3] ^ k1;
        word[1] = low1;
        word[3] = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int j = 0; j < 4 && 4 * g + j < n; j++) {
#if FLAT
        const int xi = x0 + 4 * g + j, yi = y0 + 4 * g + j;
#else
        int xi = x0, yi = y0, left = 4 * g + j;
#define AXIS(c)                                                     \
    {                                                               \
        const int along_n = size.c * dims[size_set.c];              \
        const int above = left / along_n, along = left - above * along_n; \
        xi += along * (x_step.c * dims[x_set.c]);                   \
        yi += along * (y_step.c * dims[y_set.c]);                   \
        left = above;                                               \
    }
        AXIS(s7) AXIS(s6) AXIS(s5) AXIS(s4) AXIS(s3) AXIS(s2)
#endif
        y[yi] = word[j] >= (uint)threshold ? x[xi] * scale : 0.0f;
    }
}

#undef AXIS
