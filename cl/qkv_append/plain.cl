/* qkv_append/plain.cl - y = rope(q); keys[slot[b], g, past[b]+t, :] = rope(k), values[slot[b], g,
 * past[b]+t, :] = v where past[b]+t < min(len[b], capacity). With pages: at [pages[b, s/PAGE], g,
 * s%PAGE, :], s = past[b]+t.
 *
 *   grid    (max(HEAD, VALUE), H + 2 G (2 G without ROPE), B*T), one work-item each: a pair or an
 *           element of a head of q, k or v; a block of 32 elements of k or v where its state has blocks
 *   pairs   (p, p + ROTARY/2), or (2p, 2p+1) where INTERLEAVED, rotated by positions[b,t] *
 *           inv_freq[p], times `magnitude`
 *   needs   nothing beyond OpenCL C 1.1; sin and cos of large angles
 *   build   KEYS_DTYPE, VALUES_DTYPE (kv_append/keep.clh); HAS_SLOT; HAS_PAGES, PAGE; ROPE (else q, y and the
 *           operands of the rotation are missing), INTERLEAVED, ROTARY; H, G, HEAD, VALUE
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=1 T=1 capacity=1024 H=32/4 D=64/64 rotary=64 a token
 *           plain           20.9      1.0    1.00      21.1      1.0    1.00
 *           lanes           1.35     15.1   15.42      0.55     37.2   38.31
 *
 *           B=1 T=512 capacity=1024 H=32/4 D=64/64 rotary=64 a prompt
 *           plain          10621      1.0    1.00      8711      1.2    1.00
 *           lanes          347.6     30.2   30.55     147.7     71.0   58.96
 *
 *           B=1 T=512 capacity=1024 H=0/12 D=64/64 rotary=0 a prompt, no rotation
 *           plain           1998      3.1    1.00     959.0      6.6    1.00
 *           lanes           37.2    169.0   53.66      68.0     92.6   14.11
 *   source  Su et al. 2021, arXiv:2104.09864 */
#include "qkv_append/names.clh"
#include "kv_append/keep.clh"
#if !ROPE
#undef ROTARY
#define ROTARY 0
#undef H
#define H 0
#endif

#if BLOCK_NUMBERS(KEYS_DTYPE) > 1
/* Number d of a key at x, as it is kept. */
#if ROPE
#define NUMBER_OF_KEY(x, d) LOCAL_NAME(rotated)(x, d, (float)POSITION(b, t), inv_freq + inv_freq0, magnitude)
float LOCAL_NAME(rotated)(__global const float *x, int d, float position, __global const float *inv_freq, float magnitude)
{
    if (d >= ROTARY)
        return x[d];
    const int p = INTERLEAVED ? d / 2 : d < ROTARY / 2 ? d : d - ROTARY / 2;
    const float angle = position * inv_freq[p], c = cos(angle) * magnitude, w = sin(angle) * magnitude;
    return d == LEFT(p) ? x[LEFT(p)] * c - x[RIGHT(p)] * w : x[RIGHT(p)] * c + x[LEFT(p)] * w;
}
#else
#define NUMBER_OF_KEY(x, d) (x)[d]
#endif
#endif

ENTRY KERNEL(PLACE
#include "qkv_append/body.clh"
)
{
    const int i = ITEM(0), head = ITEM(1), bt = ITEM(2);
    const int queries = QUERIES, half_size = ROTARY / 2;
    if (head >= H + 2 * G || bt >= SIZE_AT(0) * queries)
        return;
    const int b = bt / queries, t = bt - b * queries;
    const int s = past[past0 + b] + t;
    const bool kept = s >= 0 && s < min(len[len0 + b], CAPACITY);
    if (head >= H + G) {
        const int g = head - H - G, d = i * BLOCK_NUMBERS(VALUES_DTYPE);
        if (kept && d < VALUE)
            KEEP_KV(VALUES_DTYPE, values, VALUES_AT(b, g, s) + d, v + V_AT(b, t, g) + d);
        return;
    }
#if BLOCK_NUMBERS(KEYS_DTYPE) > 1
    if (head >= H) { /* each number is made twice: 32 of them would need scratch memory */
        const int g = head - H, first = i * BLOCK_NUMBERS(KEYS_DTYPE);
        if (!kept || first >= HEAD)
            return;
        __global const float *x = k + K_AT(b, t, g);
        __global ELEMENT(KEYS_DTYPE) *block = keys + DISTANCE(KEYS_DTYPE, KEYS_AT(b, g, s) + first);
        int most = 0;
        for (int d = first; d < first + BLOCK_NUMBERS(KEYS_DTYPE); d++)
            most = max(most, as_int(NUMBER_OF_KEY(x, d)) & 0x7fffffff);
        const float scale = tsr_keep_scale_q8_0(block, most);
        for (int d = first; d < first + BLOCK_NUMBERS(KEYS_DTYPE); d++)
            block[2 + d - first] = tsr_keep_byte_q8_0(NUMBER_OF_KEY(x, d), scale);
        return;
    }
#endif
    if (i >= HEAD - half_size)
        return;
    const int g = head - H;
#if ROPE
    __global const float *x = head < H ? q + Q_AT(b, t, head) : k + K_AT(b, t, g);
#else
    __global const float *x = k + K_AT(b, t, g);
#endif
    int left = i + half_size, right = left;
    float u = x[left], w = u;
#if ROPE
    if (i < half_size) {
        left = LEFT(i);
        right = RIGHT(i);
        const float angle = (float)POSITION(b, t) * inv_freq[inv_freq0 + i];
        const float c = cos(angle) * magnitude, d = sin(angle) * magnitude;
        u = x[left] * c - x[right] * d;
        w = x[right] * c + x[left] * d;
    }
    if (head < H) {
        y[Y_AT(b, t, head) + left] = u;
        y[Y_AT(b, t, head) + right] = w;
        return;
    }
#endif
#if BLOCK_NUMBERS(KEYS_DTYPE) == 1
    if (kept) {
        STORE(KEYS_DTYPE, keys, KEYS_AT(b, g, s) + left, u);
        STORE(KEYS_DTYPE, keys, KEYS_AT(b, g, s) + right, w);
    }
#endif
}

#undef NUMBER_OF_KEY
#include "qkv_append/forget.clh"
