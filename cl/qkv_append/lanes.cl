/* qkv_append/lanes.cl - qkv_append/plain for CPUs: all heads of a token, 16 elements at a time.
 *
 *   grid    (T, B), work-groups of one work-item: a token
 *   adds    over qkv_append/plain: cosines and sines are made once for all heads of a token. For
 *           states in blocks a head is rotated in private memory, and quantised from there
 *   needs   float16 in registers (a CPU)
 *   build   as qkv_append/plain
 *   paid    Llama of 110 M parameters, pocl on 2 cores, a layer: 512 tokens 0.79 ms, one token 6.8
 *           us
 *   source  Su et al. 2021, arXiv:2104.09864 */
#include "qkv_append/names.clh"
#include "kv_append/keep.clh"
#ifndef QKV_APPEND_LANES
#define QKV_APPEND_LANES /* once in a program */
typedef float16 __attribute__((aligned(4))) tsr_free_float16; /* pocl 3.1 compiles vload16 to four moves and extracts */
typedef float16 __attribute__((aligned(4))) tsr_own_float16;
typedef char16 __attribute__((aligned(2))) tsr_free_char16;
#define TSR_PUT16_1(p, i, x) (*(__global tsr_free_float16 *)((p) + (i)) = (x))
#define TSR_PUT16_2(p, i, x) vstore_half16_rte(x, 0, (p) + (i))
#define TSR_PUT16_3(p, i, x)                                  \
    {                                                         \
        const float16 all = x;                                \
        for (int lane = 0; lane < 16; lane++)                 \
            (p)[(i) + lane] = tsr_bf16(((const float *)&all)[lane]); \
    }
/* A row of floats in private memory, which becomes one of keys or values. */
#define PRIVATE_FLOATS 0
#define TSR_PUT16_0(p, i, x) (*(tsr_own_float16 *)((p) + (i)) = (x))
#define TSR_STORE_0(p, i, v) ((p)[i] = (v))

void tsr_keep_lanes_q8_0(__global uchar *block, const float *x)
{
    const float16 low = *(const tsr_own_float16 *)x, high = *(const tsr_own_float16 *)(x + 16);
    const int16 most = max(as_int16(low) & 0x7fffffff, as_int16(high) & 0x7fffffff);
    const int8 eight = max(most.lo, most.hi);
    const int4 four = max(eight.lo, eight.hi);
    const float d = tsr_keep_scale_q8_0(block, max(max(four.x, four.y), max(four.z, four.w)));
    __global tsr_free_char16 *to = (__global tsr_free_char16 *)(block + 2);
    to[0] = d > 0.0f ? convert_char16(clamp(rint(low / d), -127.0f, 127.0f)) : (char16)0;
    to[1] = d > 0.0f ? convert_char16(clamp(rint(high / d), -127.0f, 127.0f)) : (char16)0;
}
#endif
#define PUT16(dtype, p, i, x) TSR_PASTE(TSR_PUT16_, dtype)(p, i, x)
#define GET16(p, i) (*(__global const tsr_free_float16 *)((p) + (i)))

/* Copies elements first .. end - 1 of a head. */
#define COPY(dtype, to, from, first, end)                 \
    {                                                     \
        int d = first;                                    \
        for (; d + 16 <= (end); d += 16)                  \
            PUT16(dtype, to, d, GET16(from, d));          \
        for (; d < (end); d++)                            \
            STORE(dtype, to, d, (from)[d]);               \
    }

#if ROPE
#define ROTATE(dtype, to, from)                                                  \
    {                                                                            \
        int p = 0;                                                               \
        if (!INTERLEAVED)                                                        \
            for (; p + 16 <= ROTARY / 2; p += 16) {                              \
                const float16 c = *(tsr_own_float16 *)(cosine + p), d = *(tsr_own_float16 *)(sine + p); \
                const float16 left = GET16(from, LEFT(p)), right = GET16(from, RIGHT(p)); \
                PUT16(dtype, to, LEFT(p), left * c - right * d);                 \
                PUT16(dtype, to, RIGHT(p), right * c + left * d);                \
            }                                                                    \
        for (; p < ROTARY / 2; p++) {                                            \
            const float left = (from)[LEFT(p)], right = (from)[RIGHT(p)];        \
            STORE(dtype, to, LEFT(p), left * cosine[p] - right * sine[p]);       \
            STORE(dtype, to, RIGHT(p), right * cosine[p] + left * sine[p]);      \
        }                                                                        \
        COPY(dtype, to, from, ROTARY, HEAD)                                      \
    }
#else
#define ROTATE(dtype, to, from) COPY(dtype, to, from, 0, HEAD)
#endif

/* What `write(dtype, to)` makes of a head becomes keys or values of `size` numbers at `to`. */
#define KEEP_FLOATS(dtype, to, size, write) write(dtype, to)
#define KEEP_BLOCKS(dtype, to, size, write)                     \
    {                                                           \
        float row[size];                                        \
        write(PRIVATE_FLOATS, row)                                     \
        for (int d = 0; d < (size); d += 32)                    \
            tsr_keep_lanes_q8_0((to) + DISTANCE(dtype, d), row + d); \
    }
#define TSR_KEEP_HEAD_1 KEEP_FLOATS
#define TSR_KEEP_HEAD_2 KEEP_FLOATS
#define TSR_KEEP_HEAD_3 KEEP_FLOATS
#define TSR_KEEP_HEAD_36 KEEP_BLOCKS
#define KEEP_HEAD(dtype, to, size, write) TSR_PASTE(TSR_KEEP_HEAD_, dtype)(dtype, to, size, write)
#define ROTATED_KEY(dtype, to) ROTATE(dtype, to, from)
#define COPIED_VALUE(dtype, to) COPY(dtype, to, value, 0, VALUE)

ENTRY_OF_ONE KERNEL(PLACE
#include "qkv_append/body.clh"
)
{
    const int t = ITEM(0), b = ITEM(1);
    if (t >= QUERIES || b >= SIZE_AT(0))
        return;
#if ROPE
    float cosine[ROTARY / 2 + 1], sine[ROTARY / 2 + 1];
    for (int p = 0; p < ROTARY / 2; p++) {
        const float angle = (float)POSITION(b, t) * inv_freq[inv_freq0 + p];
        cosine[p] = cos(angle) * magnitude;
        sine[p] = sin(angle) * magnitude;
    }
    for (int h = 0; h < H; h++) {
        __global const float *from = q + Q_AT(b, t, h);
        __global float *to = y + Y_AT(b, t, h);
        ROTATE(TSR_DTYPE_F32, to, from)
    }
#endif
    const int s = past[past0 + b] + t;
    if (s < 0 || s >= min(len[len0 + b], CAPACITY))
        return;
    for (int g = 0; g < G; g++) {
        __global const float *from = k + K_AT(b, t, g), *value = v + V_AT(b, t, g);
        __global ELEMENT(KEYS_DTYPE) *to = keys + DISTANCE(KEYS_DTYPE, KEYS_AT(b, g, s));
        __global ELEMENT(VALUES_DTYPE) *to_value = values + DISTANCE(VALUES_DTYPE, VALUES_AT(b, g, s));
        KEEP_HEAD(KEYS_DTYPE, to, HEAD, ROTATED_KEY)
        KEEP_HEAD(VALUES_DTYPE, to_value, VALUE, COPIED_VALUE)
    }
}

#undef PUT16
#undef GET16
#undef COPY
#undef ROTATE
#undef KEEP_FLOATS
#undef KEEP_BLOCKS
#undef TSR_KEEP_HEAD_1
#undef TSR_KEEP_HEAD_2
#undef TSR_KEEP_HEAD_3
#undef TSR_KEEP_HEAD_36
#undef KEEP_HEAD
#undef ROTATED_KEY
#undef COPIED_VALUE
#include "qkv_append/forget.clh"
