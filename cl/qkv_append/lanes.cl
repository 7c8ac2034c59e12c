/* qkv_append/lanes.cl - qkv_append/plain for CPUs: all heads of a token, 16 elements at a time.
 *
 *   grid    (T, B), work-groups of one work-item: a token
 *   adds    over qkv_append/plain: cosines and sines are made once for all heads of a token
 *   needs   float16 in registers (a CPU)
 *   build   as qkv_append/plain
 *   paid    Llama of 110 M parameters, pocl on 2 cores, a layer: 512 tokens 0.79 ms, one token 6.8
 *           us
 *   source  Su et al. 2021, arXiv:2104.09864 */
#include "qkv_append/names.clh"
#ifndef QKV_APPEND_LANES
#define QKV_APPEND_LANES /* once in a program */
typedef float16 __attribute__((aligned(4))) tsr_free_float16; /* pocl 3.1 compiles vload16 to four moves and extracts */
#define TSR_PUT16_1(p, i, x) (*(__global tsr_free_float16 *)((p) + (i)) = (x))
#define TSR_PUT16_2(p, i, x) vstore_half16_rte(x, 0, (p) + (i))
#define TSR_PUT16_3(p, i, x)                                  \
    {                                                         \
        const float16 all = x;                                \
        for (int lane = 0; lane < 16; lane++)                 \
            (p)[(i) + lane] = tsr_bf16(((const float *)&all)[lane]); \
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
typedef float16 __attribute__((aligned(4))) tsr_own_float16;
#else
#define ROTATE(dtype, to, from) COPY(dtype, to, from, 0, HEAD)
#endif

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
        __global ELEMENT(KEYS_DTYPE) *to = keys + KEYS_AT(HOME(b), g, s);
        __global ELEMENT(VALUES_DTYPE) *to_value = values + VALUES_AT(HOME(b), g, s);
        ROTATE(KEYS_DTYPE, to, from)
        COPY(VALUES_DTYPE, to_value, value, 0, VALUE)
    }
}

#undef PUT16
#undef GET16
#undef COPY
#undef ROTATE
#include "qkv_append/forget.clh"
