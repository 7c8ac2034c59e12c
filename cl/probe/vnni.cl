/* probe/vnni.cl - every function of weighted/vnni.clh on two blocks and three rows, compared with
 * plain loops. Run in a process of its own (helper/probe.c): out[0] becomes 0x600d if all agree.
 *
 *   grid    (1)
 *   paid    not a kernel of an op: it is run once, before a variant of weighted/vnni.clh is offered */
#include "weighted/vnni.clh"

#define PROBE_K 64

/* sum[lane] of a row, by the definition. */
#define PROBE_EXPECT(dtype)                                                                                           \
    static void probe_expect_##dtype(const uchar *panel, const uchar *row, float *sum)                                \
    {                                                                                                                 \
        const int groups = SMALL_GROUPS(dtype), bytes = groups * 256;                                                 \
        for (int lane = 0; lane < 64; lane++) {                                                                       \
            sum[lane] = 1.0f;                                                                                         \
            for (int b = 0; b < PROBE_K / 32; b++) {                                                                  \
                const uchar *w = panel + b * SMALL_BLOCK(dtype);                                                      \
                int part = 0;                                                                                         \
                for (int k = 0; k < 32; k++) {                                                                        \
                    const int byte = w[(k / 4 % groups * 64 + lane) * 4 + k % 4];                                     \
                    part += SMALL_WHOLE(dtype, byte >> k / 4 / groups * 4) * (char)row[b * VNNI_ROW_BLOCK + 12 + k];  \
                }                                                                                                     \
                sum[lane] = fma((float)part * *(const float *)(row + b * VNNI_ROW_BLOCK + 4),                         \
                                PROBE_SCALE_##dtype(w + bytes, lane), sum[lane]);                                     \
            }                                                                                                         \
        }                                                                                                             \
    }
#define PROBE_SCALE_36(p, n) vload_half(n, (const half *)(p))
#define PROBE_SCALE_32(p, n) vload_half(n, (const half *)(p))
#define PROBE_SCALE_44(p, n) SMALL_SCALE(44, p, n)
PROBE_EXPECT(36)
PROBE_EXPECT(32)
PROBE_EXPECT(44)

static int probe_differs(const float *a, const float *b, int n)
{
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += as_uint(a[i]) != as_uint(b[i]);
    return wrong;
}

static void probe_reset(float *sum)
{
    for (int i = 0; i < 192; i++)
        sum[i] = 1.0f;
}

#define PROBE_TILES(dtype)                                                                                         \
    {                                                                                                              \
        const ulong w = (ulong)panel, to = (ulong)got, a = (ulong)rows[0], b = (ulong)rows[1], c = (ulong)rows[2]; \
        for (int r = 0; r < 3; r++)                                                                                \
            probe_expect_##dtype(panel, rows[r], want + r * 64);                                                   \
        probe_reset(got);                                                                                          \
        tsr_vnni_one_##dtype(w, to, 2, a);                                                                         \
        wrong += probe_differs(got, want, 64);                                                                     \
        probe_reset(got);                                                                                          \
        tsr_vnni_two_##dtype(w, to, 2, w, a, b);                                                                   \
        wrong += probe_differs(got, want, 128);                                                                    \
        probe_reset(got);                                                                                          \
        tsr_vnni_two_ahead_##dtype(w, to, 2, w, a, b);                                                             \
        wrong += probe_differs(got, want, 128);                                                                    \
        probe_reset(got);                                                                                          \
        tsr_vnni_three_##dtype(w, to, 2, w, a, b, c);                                                              \
        wrong += probe_differs(got, want, 192);                                                                    \
        probe_reset(got);                                                                                          \
        tsr_vnni_three_ahead_##dtype(w, to, 2, w, a, b, c);                                                        \
        wrong += probe_differs(got, want, 192);                                                                    \
    }

/* Compares the quantising of a row with plain loops. */
static int probe_row(__global const float *x, int offset, uchar *row)
{
    int wrong = 0;
    tsr_vnni_quantise(x, PROBE_K / 32, (ulong)row, offset);
    for (int b = 0; b < PROBE_K / 32; b++) {
        float down, up = tsr_int8_scale(x + b * 32, &down);
        int sum = 0;
        for (int k = 0; k < 32; k++) {
            const int whole = convert_int_rte(x[b * 32 + k] * up);
            wrong += (char)row[b * VNNI_ROW_BLOCK + 12 + k] != whole;
            sum += whole;
        }
        wrong += *(const int *)(row + b * VNNI_ROW_BLOCK) != offset * sum + VNNI_BIAS || *(const float *)(row + b * VNNI_ROW_BLOCK + 4) != down;
    }
    return wrong;
}

__kernel void KERNEL(__global int *out)
{
    const int dtypes[3] = {36, 32, 44}, sizes[3] = {SMALL_BLOCK(36), SMALL_BLOCK(32), SMALL_BLOCK(44)},
              offsets[3] = {VNNI_OFFSET(36), VNNI_OFFSET(32), VNNI_OFFSET(44)};
    uchar panel[2 * SMALL_BLOCK(36)] __attribute__((aligned(64))), rows[3][128] __attribute__((aligned(64)));
    float got[192] __attribute__((aligned(64))), want[192];
    __global float *x = (__global float *)(out + 16);
    uint seed = 1;
    int wrong = 0;
    for (int i = 0; i < 3 * PROBE_K; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(int)seed * 0x1p-31f;
    }
    for (int t = 0; t < 3; t++) {
        const int size = sizes[t], scales = size - size % 256; /* where they begin */
        for (int i = 0; i < 2 * size; i++) {
            seed = seed * 1664525u + 1013904223u;
            panel[i] = (uchar)(seed >> 24);
        }
        for (int i = 0; i < 128; i++) /* about 2^-7; and the first exponents, whose scales are subnormal */
            if (dtypes[t] == 44)
                panel[i / 64 * size + scales + i % 64] = (uchar)(i % 64 < 4 ? i % 64 : 118 + (i & 3));
            else
                panel[i / 64 * size + scales + i % 64 * 2 + 1] = (uchar)(0x20 | (i & 3));
        for (int r = 0; r < 3; r++)
            wrong += probe_row(x + r * PROBE_K, offsets[t], rows[r]);
        if (dtypes[t] == 36)
            PROBE_TILES(36)
        else if (dtypes[t] == 32)
            PROBE_TILES(32)
        else
            PROBE_TILES(44)
    }
    tsr_vnni_expect((ulong)out);
    out[0] = wrong ? wrong : 0x600d;
}
